/**
 * `npm run check:prose`: measures the English of comments, documents and schema descriptions, one line per folder and document, and
 * fails if one of them exceeds a limit, or if a given path has no English.
 *
 *   node scripts/prose.ts                       the whole repository
 *   node scripts/prose.ts core README.md        these paths
 *   node scripts/prose.ts --over                 only folders and documents above a limit
 *   node scripts/prose.ts --worst 20 core       also the 20 sentences to rewrite first, with file and line
 */
import { parseArgs } from 'node:util'
import { makeComplain, parsedOr } from './arguments.ts'
import { blocksOf, isMeasured } from './prose/blocks.ts'
import { makeTally, type Tally } from './prose/figures.ts'
import { hardness, sentencesOf } from './prose/sentences.ts'
import { openRepository } from './repository.ts'

const complain = makeComplain('usage: node scripts/prose.ts [--over] [--worst N] [PATH…]')
const { values, positionals } = parsedOr(complain, () =>
  parseArgs({ options: { over: { type: 'boolean', default: false }, worst: { type: 'string', default: '0' } }, allowPositionals: true }),
)

const { files, read } = openRepository()
const measured = [...files].filter(isMeasured)
for (const asked of positionals) {
  if (measured.some((path) => isIn(path, asked))) continue
  console.error(`"${asked}" is no file or folder with English: give paths from the top of the repository, such as core or README.md`)
  process.exitCode = 1
}
const tallies = new Map<string, Tally>()
const hard: { hardness: number; line: string }[] = []

for (const path of measured) {
  if (positionals.length > 0 && !positionals.some((asked) => isIn(path, asked))) continue
  const group = path.endsWith('.md') ? path : (path.split('/')[0] as string)
  const tally = tallies.get(group) ?? makeTally()
  tallies.set(group, tally)
  for (const { line, text } of blocksOf(path, read(path))) {
    for (const sentence of sentencesOf(text)) {
      tally.add(sentence)
      hard.push({ hardness: hardness(sentence), line: `${path}:${line}: ${sentence.slice(0, 240)}` })
    }
  }
}

if (!values.over) print('where', ['sentences', 'words each', '>30 words', 'what…/100', 'What…', 'he/1000'])
for (const [group, tally] of [...tallies].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
  const over = tally.over()
  if (tally.sentences() === 0 || (values.over && over.length === 0)) continue
  print(group, tally.columns(), over)
  if (over.length > 0) process.exitCode = 1
}
for (const { line } of hard.toSorted((one, other) => other.hardness - one.hardness).slice(0, Number(values.worst))) console.log(line)

/** `asked`: a file or a folder. */
function isIn(path: string, asked: string): boolean {
  return path === asked || path.startsWith(`${asked.replace(/\/$/, '')}/`)
}

function print(where: string, columns: readonly string[], over: readonly string[] = []): void {
  console.log(
    `${where.padEnd(48)} ${columns.map((column) => column.padStart(10)).join(' ')}${over.length > 0 ? `  over: ${over.join(', ')}` : ''}`,
  )
}
