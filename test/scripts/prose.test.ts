import { expect, test } from 'vitest'
import { plantedRepository } from './planted.ts'

const { plant, script } = plantedRepository()

const PLAIN = 'The worker folds every settled slot.'
const LONG = `The worker folds every settled slot ${'and the slot before it '.repeat(6)}again.`

/** A comment of twenty sentences: fewer are not judged. */
const comment = (...sentences: string[]) =>
  `/**\n${[...sentences, ...Array.from({ length: 20 - sentences.length }, () => PLAIN)].map((sentence) => ` * ${sentence}\n`).join('')} */\n`

test('plain sentences pass', () => {
  plant('core/worker.ts', comment())
  expect(script('prose').status).toBe(0)
})

test.each([
  ['freeRelatives', ['The worker folds what the last owner left, and it says who that was.']],
  ['starts', ['Of every slot the worker folds a part.']],
  ['he', ['A viewer sees his own marks at once.']],
  ['long', [LONG, LONG, LONG]],
])('sentences above the limit %s fail', (figure, sentences) => {
  plant('core/worker.ts', comment(...sentences))
  const { status, printed } = script('prose')
  expect(status).toBe(1)
  expect(printed.at(-1)).toMatch(new RegExp(`^core .*over: .*\\b${figure}\\b`))
})

test('each document is judged separately, and a folder as a whole', () => {
  plant('docs/good.md', Array.from({ length: 20 }, () => PLAIN).join(' '))
  plant('docs/bad.md', Array.from({ length: 20 }, () => 'What he knows is what he says.').join(' '))
  const { printed } = script('prose')
  expect(printed.slice(1).map((line) => /^\S+|over/g[Symbol.match](line))).toEqual([['docs/bad.md', 'over'], ['docs/good.md']])
})

test('--over prints only figures above a limit', () => {
  plant('core/worker.ts', comment())
  plant('stores/worker.ts', comment('Of every slot the worker folds a part.', 'Of every slot the worker folds a part.'))
  const { status, printed } = script('prose', '--over')
  expect(status).toBe(1)
  expect(printed.map((line) => line.split(/\s+/)[0])).toEqual(['stores'])
})

test('comments and descriptions of every language are measured', () => {
  const sentence = 'The planted sentence has seven plain words.'
  plant('a/planted.ts', `/**\n * ${sentence}\n *\n * | what who | whose whom |\n * |---|---|\n */\nconst text = 'what who whose whom'\n`)
  plant('b/planted.lua', `-- ${sentence}\nlocal text = 'what who whose whom'\n`)
  plant('c/planted.sql', `-- ${sentence}\nSELECT what, who, whose FROM whom;\n`)
  plant('d/planted.proto', `// ${sentence}\nmessage What {}\n`)
  plant('e/planted.graphql', `"""\n${sentence}\n"""\ntype What {\n  "${sentence}"\n  who: String\n}\n`)
  plant('f/planted.md', `# What who\n\n${sentence}\n\n| what | who |\n\n\`\`\`\nwhat who whose whom\n\`\`\`\n`)
  const sentences = script('prose')
    .printed.slice(1)
    .map((line) => line.split(/\s+/).slice(0, 3))
  expect(sentences).toEqual([
    ['a', '1', '7.0'],
    ['b', '1', '7.0'],
    ['c', '1', '7.0'],
    ['d', '1', '7.0'],
    ['e', '2', '7.0'],
    ['f/planted.md', '1', '7.0'],
  ])
})

test('--worst lists the hardest sentences first, with file and line', () => {
  plant('core/worker.ts', `// ${PLAIN}\n\n// What he left is what whoever comes next finds.\n`)
  expect(script('prose', '--worst', '1', 'core').printed.at(-1)).toBe('core/worker.ts:3: What he left is what whoever comes next finds.')
})

test('a path without a file to measure is an error, and the other paths are measured', () => {
  plant('core/worker.ts', comment())
  plant('package.json', '{}')
  const { status, findings, printed } = script('prose', 'core/worker.ts', 'core/wroker.ts', 'package.json')
  expect(status).toBe(1)
  expect(findings.map((finding) => /^".*?"/.exec(finding)?.[0])).toEqual(['"core/wroker.ts"', '"package.json"'])
  expect(printed.at(-1)).toMatch(/^core +20 /)
  expect(script('prose', 'core/')).toMatchObject({ status: 0, findings: [] })
})
