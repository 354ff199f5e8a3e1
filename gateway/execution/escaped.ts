/**
 * Escaped text is text as it stands between the quotes of a JSON string: escaped as JSON.stringify does it, in the bytes of UTF-8, one
 * character per byte. In an escaped tree all strings are escaped texts. Such a tree is cheap to make from an answer, because no string is
 * decoded, and cheap to write, because no string is searched for characters to escape. A long text is not even a string, but a place in
 * the answer: most bytes of most answers then never enter the heap.
 *
 * Two strings are equal if and only if their escaped texts are equal. Names of GraphQL are their own escaped texts. The steps of a plan
 * therefore work on both kinds of trees. Keys of objects are never escaped.
 */
import { isRecord } from './run.ts'

/** A long escaped text, at its place in the bytes of an answer. */
export class Piece {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes
    this.start = start
    this.end = end
  }
}

/** The escaped text itself. */
export function textOf({ bytes, start, end }: Piece): string {
  return bytes.toString('latin1', start, end)
}

/** Printable ASCII without quote and backslash. */
const PLAIN = /^[ !#-[\]-~]*$/

export function escapeText(text: string): string {
  return PLAIN.test(text) ? text : escapedJson(text).slice(1, -1)
}

export function unescapeText(escaped: string): string {
  return PLAIN.test(escaped) ? escaped : (JSON.parse(Buffer.from(`"${escaped}"`, 'latin1').toString()) as string)
}

/** The JSON of an ordinary value, one character per byte of UTF-8. */
export function escapedJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1')
}

/** Changes a tree from JSON.parse into an escaped tree. It may be nested to any depth. */
export function escapeTree<Value>(tree: Value): Value {
  const whole: { tree: Value } = { tree }
  const open: Record<string, unknown>[] = [whole]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    // All keys are own properties, so that an assignment to `__proto__` is an ordinary one.
    for (const key of Object.keys(node)) {
      const value = node[key]
      if (typeof value === 'string') node[key] = escapeText(value)
      else if (typeof value === 'object' && value !== null) open.push(value as Record<string, unknown>)
    }
  }
  return whole.tree
}

/** The ordinary value of a part of an escaped tree, as a copy. */
export function unescapeTree<Value>(value: Value): Value
export function unescapeTree(value: unknown): unknown {
  if (typeof value === 'string') return unescapeText(value)
  if (value instanceof Piece) return unescapeText(textOf(value))
  if (Array.isArray(value)) return value.map(unescapeTree)
  if (!isRecord(value)) return value
  const copy = { ...value }
  for (const key of Object.keys(copy)) copy[key] = unescapeTree(copy[key])
  return copy
}
