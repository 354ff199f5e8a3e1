/**
 * Finds the English in a file: paragraphs of a document, comments of code, descriptions of a schema. Tables, and headings and code
 * of documents, are not measured. A tag of a comment (`@param`) ends its block.
 */

export type Block = {
  /** The line of the file that the block begins at, from 1. */
  line: number
  text: string
}

const MEASURED = /\.(?:ts|mts|md|graphql|lua|sql|proto)$/
const GENERATED = /^schema\/records\./
const COMMENT: Record<string, RegExp> = {
  lua: /^--\s?(.*)/,
  sql: /^--\s?(.*)/,
}
const SLASHES = /^\/\/\s?(.*)/

export function isMeasured(path: string): boolean {
  return MEASURED.test(path) && !GENERATED.test(path)
}

export function blocksOf(path: string, text: string): Block[] {
  const lines = text.split('\n')
  const kind = path.slice(path.lastIndexOf('.') + 1)
  if (kind === 'md') return joined(documentLines(lines), (line) => /^\s*(?:[-*]|\d+\.)\s/.test(line))
  if (kind === 'graphql') return schemaBlocks(lines)
  return joined(commentLines(lines, COMMENT[kind] ?? SLASHES))
}

/** Joins neighbouring lines. An empty line ends a block, and a line that `begins` one starts the next. */
function joined(lines: readonly string[], begins: (line: string) => boolean = () => false): Block[] {
  const blocks: Block[] = []
  let open: Block | undefined
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') open = undefined
    else if (open === undefined || begins(line)) blocks.push((open = { line: at + 1, text: line }))
    else open.text += ` ${line}`
  }
  return blocks
}

/** Lines without English are empty. */
function documentLines(lines: readonly string[]): string[] {
  let isCode = false
  return lines.map((line) => {
    const isFence = /^\s*```/.test(line)
    if (isFence) isCode = !isCode
    return isFence || isCode || line.startsWith('|') || line.startsWith('#') ? '' : line
  })
}

function commentLines(lines: readonly string[], comment: RegExp): string[] {
  let isBlock = false
  return lines.map((line) => {
    const trimmed = line.trim()
    const isInside = isBlock || trimmed.startsWith('/*')
    isBlock = isInside && !trimmed.includes('*/')
    const text = isInside ? trimmed.replace(/^\/?\*+\/?\s?/, '').replace(/\*\/\s*$/, '') : (comment.exec(trimmed)?.[1] ?? '')
    return text.startsWith('@') || text.startsWith('|') ? '' : text.trim()
  })
}

function schemaBlocks(lines: readonly string[]): Block[] {
  const oneLine: Block[] = []
  let isBlock = false
  const rest = lines.map((line, at) => {
    const trimmed = line.trim()
    if (trimmed.startsWith('"""')) {
      if (trimmed.split('"""').length === 2) isBlock = !isBlock
      return trimmed.replaceAll(/^"+|"+$/g, '').trim()
    }
    if (isBlock) return trimmed.replace(/"+$/, '')
    if (/^".*"$/.test(trimmed)) oneLine.push({ line: at + 1, text: trimmed.slice(1, -1) })
    return trimmed.startsWith('#') ? trimmed.replace(/^#+\s*/, '') : ''
  })
  return [...joined(rest), ...oneLine]
}
