/**
 * Reads the answer to a fetch as an escaped tree (execution/escaped.ts). JSON.parse copies and decodes every string, and does not know
 * the keys. The scanner of a fetch expects the keys of its document, and cuts strings out of the answer.
 *
 * The scanner reads all that servers usually send. It gives up at everything else: unknown or repeated keys, errors,
 * invalid JSON or UTF-8, deeply nested lists. Then JSON.parse and `escapeTree` read the whole answer. If the scanner reads an answer, its
 * tree is that of the slow way, except that absent fields are present as undefined.
 */
import { isUtf8 } from 'node:buffer'
import { getOperationAST } from 'graphql'
import type { DocumentNode, SelectionSetNode } from 'graphql'
import { entry, makeFunction } from '../execution/codegen.ts'
import { Piece, escapeText, escapeTree, textOf } from '../execution/escaped.ts'
import { fieldsByKey, fragmentsOf, type Fragments } from '../operation/plan-document.ts'
import type { Body } from './http-call.ts'

/** The `data` of an answer without errors. Undefined if the answer needs the slow way. */
export type ScanAnswer = (answer: Body) => Record<string, unknown> | undefined

/**
 * `at`: the next byte to read. `escape`: the next backslash from some place before `at`. `chunk`: the chunk of the last piece, and
 * `chunkStart` its place in the answer.
 */
type Scan = {
  readonly bytes: Buffer
  readonly chunks: readonly Buffer[]
  readonly items: unknown[]
  at: number
  escape: number
  chunk: number
  chunkStart: number
}
type ScanObject = (scan: Scan) => Record<string, unknown>

const GIVE_UP = new Error('the answer needs the slow way')
const giveUp = (): never => {
  throw GIVE_UP
}

const [SPACE, QUOTE, BACKSLASH, COMMA, COLON] = [0x20, 0x22, 0x5c, 0x2c, 0x3a]
/** The whitespace of JSON (RFC 8259, section 2). */
const WHITESPACE = new Set([0x09, 0x0a, 0x0d, SPACE])
const [LEFT_BRACKET, RIGHT_BRACKET, LEFT_BRACE, RIGHT_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]
/** No type nests lists this deeply. */
const LISTS_MAX = 32
/** Shorter texts are strings: an id is then a key of a map. */
const PIECE_LENGTH_MIN = 64
/** Integers of more digits may not be exact. */
const DIGITS_MAX = 15

export function compileScanner(document: DocumentNode): ScanAnswer {
  const operation = getOperationAST(document)
  if (operation == null) return () => undefined
  const scanData = compileObject([operation.selectionSet], fragmentsOf(document), new Map())
  return (answer) => {
    const bytes = withoutEnd(joined(answer))
    if (!isUtf8(bytes) || hasControls(bytes)) return undefined
    const scan: Scan = { bytes, chunks: answer.chunks, items: [], at: 0, escape: -1, chunk: 0, chunkStart: 0 }
    try {
      expectText(scan, '{"data":')
      skipSpace(scan)
      if (bytes[scan.at] !== LEFT_BRACE) return undefined
      const data = scanData(scan)
      return endsWell(scan) ? data : undefined
    } catch (reason) {
      if (reason === GIVE_UP || reason instanceof SyntaxError) return undefined
      throw reason
    }
  }
}

/** Answers are joined here, one after the other. The pieces of an answer are places in its chunks. */
const shared = Buffer.allocUnsafeSlow(262_144)

function joined({ chunks, length }: Body): Buffer {
  const bytes = length > shared.length ? Buffer.allocUnsafeSlow(length) : shared.subarray(0, length)
  let end = 0
  for (const chunk of chunks) {
    bytes.set(chunk, end)
    end += chunk.length
  }
  return bytes
}

/** Some servers send a line break after the answer. */
function withoutEnd(answer: Buffer): Buffer {
  let end = answer.length
  while (end > 0 && WHITESPACE.has(answer[end - 1] as number)) end -= 1
  return end === answer.length ? answer : answer.subarray(0, end)
}

/**
 * Whether the text has control characters, which strings must escape. It looks at four bytes at a time: a byte below 0x20 borrows from
 * its highest bit, unless that is set already.
 */
function hasControls(bytes: Buffer): boolean {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2)
  let found = 0
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number
    found |= (word - 0x20202020) & ~word
  }
  for (let at = words.byteLength; at < bytes.length; at += 1) if ((bytes[at] as number) < SPACE) return true
  return (found & 0x80808080) !== 0
}

/** Whether the rest of the answer is valid, and has neither data nor errors. */
function endsWell(scan: Scan): boolean {
  if (!hasMore(scan, RIGHT_BRACE)) {
    skipSpace(scan)
    return scan.at === scan.bytes.length
  }
  const rest = JSON.parse(`{${utf8(scan, scan.at, scan.bytes.length)}`) as object
  const keys = Object.keys(rest)
  return keys.length > 0 && !keys.includes('data') && !keys.includes('errors')
}

/** `known`: a fragment may be spread in many places. */
function compileObject(
  sets: readonly SelectionSetNode[],
  fragments: Fragments,
  known: Map<SelectionSetNode | undefined, ScanObject>,
): ScanObject {
  const only = sets.length === 1 ? sets[0] : undefined
  const compiled = known.get(only)
  if (compiled !== undefined) return compiled
  const fields = fieldsByKey(sets, fragments)
  const bindings: Record<string, unknown> = { giveUp, skipSpace, hasMore, scanField, scanName }
  const steps = [...fields].map(([key, nodes], index) => {
    const inner = nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
    let source = key === '__typename' ? 'scanName(scan)' : 'scanField(scan, undefined)'
    if (inner.length > 0) {
      bindings[`o${index}`] = compileObject(inner, fragments, known)
      source = `scanField(scan, o${index})`
    }
    const bytes = Buffer.from(JSON.stringify(key))
    const isNext = [...bytes].map((byte, offset) => `bytes[at + ${offset}] === ${byte}`).join(' && ')
    const step = `scan.at = at + ${bytes.length}; v${index} = ${source}; if (!hasMore(scan, ${RIGHT_BRACE})) break read; at = scan.at;`
    return `if (${isNext}) { if (v${index} !== undefined) giveUp(); ${step} }`
  })
  const keys = [...fields.keys()]
  // The order of the document is usual. It is not the order of every type, if fragments select the same key.
  const body = `const bytes = scan.bytes; let ${keys.map((_, index) => `v${index}`).join(', ')};
    scan.at += 1; skipSpace(scan); let at = scan.at;
    if (bytes[at] === ${RIGHT_BRACE}) scan.at = at + 1;
    else read: for (;;) { const before = at; ${steps.join('\n')} if (at === before) giveUp(); }
    return { ${keys.map((key, index) => entry(key, `v${index}`)).join(', ')} };`
  const scanObject = makeFunction<ScanObject>(['scan'], body, bindings)
  if (only !== undefined) known.set(only, scanObject)
  return scanObject
}

/** Reads the colon and the value of a field. Without `object` the field is a leaf. */
function scanField(scan: Scan, object: ScanObject | undefined): unknown {
  if (scan.bytes[scan.at] === COLON) scan.at += 1
  else {
    skipSpace(scan)
    expectText(scan, ':')
  }
  skipSpace(scan)
  return scanValue(scan, object, 0)
}

/** The steps of a plan compare names of types, which must therefore be strings. */
function scanName(scan: Scan): unknown {
  const name = scanField(scan, undefined)
  return name instanceof Piece ? textOf(name) : name
}

function scanValue(scan: Scan, object: ScanObject | undefined, depth: number): unknown {
  const byte = scan.bytes[scan.at]
  switch (byte) {
    case LEFT_BRACE:
      return object === undefined ? scanScalarObject(scan) : object(scan)
    case LEFT_BRACKET:
      return scanList(scan, object, depth)
    case 0x6e:
      expectText(scan, 'null')
      return null
    default:
      return object === undefined ? scanLeaf(scan) : giveUp()
  }
}

function scanLeaf(scan: Scan): unknown {
  switch (scan.bytes[scan.at]) {
    case QUOTE:
      return scanString(scan)
    case 0x74:
      expectText(scan, 'true')
      return true
    case 0x66:
      expectText(scan, 'false')
      return false
    default:
      return scanNumber(scan)
  }
}

function scanString(scan: Scan): string | Piece {
  const { bytes } = scan
  const start = scan.at + 1
  const end = endOfString(bytes, start)
  if (scan.escape < start) scan.escape = indexOrEnd(bytes, BACKSLASH, start)
  if (end > scan.escape) return scanEscapes(scan)
  scan.at = end + 1
  if (end - start >= PIECE_LENGTH_MIN) return pieceOf(scan, start, end)
  return end === start + 1 ? String.fromCharCode(bytes[start] as number) : bytes.toString('latin1', start, end)
}

/** A text in two chunks gets bytes of its own. */
function pieceOf(scan: Scan, start: number, end: number): Piece {
  const { chunks } = scan
  let chunk = chunks[scan.chunk] as Buffer
  while (start >= scan.chunkStart + chunk.length) {
    scan.chunkStart += chunk.length
    scan.chunk += 1
    chunk = chunks[scan.chunk] as Buffer
  }
  const before = scan.chunkStart
  if (end - before <= chunk.length) return new Piece(chunk, start - before, end - before)
  return new Piece(Buffer.from(scan.bytes.subarray(start, end)), 0, end - start)
}

/** The next quote. A loop finds a near one faster than the engine does. */
function endOfString(bytes: Buffer, start: number): number {
  const near = Math.min(bytes.length, start + PIECE_LENGTH_MIN)
  for (let at = start; at < near; at += 1) if (bytes[at] === QUOTE) return at
  const end = bytes.indexOf(QUOTE, near)
  return end < 0 ? giveUp() : end
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from)
  return index < 0 ? bytes.length : index
}

/** The server may have escaped more characters than JSON.stringify does. */
function scanEscapes(scan: Scan): string {
  const { bytes, at: start } = scan
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  scan.at = at + 1
  return escapeText(JSON.parse(utf8(scan, start, scan.at)) as string)
}

function scanList(scan: Scan, object: ScanObject | undefined, depth: number): unknown[] {
  if (depth > LISTS_MAX) giveUp()
  scan.at += 1
  skipSpace(scan)
  if (scan.bytes[scan.at] === RIGHT_BRACKET) {
    scan.at += 1
    return []
  }
  // An array that grows has room for 17 items. Most lists are shorter.
  const { items } = scan
  const start = items.length
  do items.push(scanValue(scan, object, depth + 1))
  while (hasMore(scan, RIGHT_BRACKET))
  return items.splice(start)
}

/** An object that is the value of a scalar. */
function scanScalarObject(scan: Scan): unknown {
  const { bytes, at: start } = scan
  let depth = 0
  let at = start
  do {
    const byte = bytes[at]
    if (byte === undefined) giveUp()
    if (byte === QUOTE) for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1
    if (byte === LEFT_BRACE || byte === LEFT_BRACKET) depth += 1
    if (byte === RIGHT_BRACE || byte === RIGHT_BRACKET) depth -= 1
    at += 1
  } while (depth > 0)
  scan.at = at
  return escapeTree(JSON.parse(utf8(scan, start, at)) as unknown)
}

function scanNumber(scan: Scan): number {
  const { bytes, at: start } = scan
  let at = start
  let value = 0
  let digit = (bytes[at] ?? 0) - 0x30
  // All other numbers, with signs, fractions, exponents or many digits, are rare.
  while (digit >= 0 && digit <= 9) {
    value = value * 10 + digit
    at += 1
    digit = (bytes[at] ?? 0) - 0x30
  }
  const isPlain = at > start && at - start <= DIGITS_MAX && (bytes[start] !== 0x30 || at === start + 1)
  if (isPlain && (bytes[at] === COMMA || bytes[at] === RIGHT_BRACE || bytes[at] === RIGHT_BRACKET)) {
    scan.at = at
    return value
  }
  while (isNumeric(bytes[at])) at += 1
  scan.at = at
  return JSON.parse(utf8(scan, start, at)) as number
}

/** A character of a number: + - . 0 to 9 e E. JSON.parse checks their order. */
function isNumeric(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x2b && byte <= 0x39 && byte !== COMMA) || byte === 0x45 || byte === 0x65)
}

/** After a value: true at a comma, false at `end`. It skips them. */
function hasMore(scan: Scan, end: number): boolean {
  if (scan.bytes[scan.at] === SPACE) skipSpace(scan)
  const byte = scan.bytes[scan.at]
  scan.at += 1
  if (byte === COMMA) {
    if (scan.bytes[scan.at] === SPACE) skipSpace(scan)
    return true
  }
  return byte === end ? false : giveUp()
}

function expectText(scan: Scan, text: string): void {
  for (let index = 0; index < text.length; index += 1) if (scan.bytes[scan.at + index] !== text.charCodeAt(index)) giveUp()
  scan.at += text.length
}

function skipSpace(scan: Scan): void {
  while (scan.bytes[scan.at] === SPACE) scan.at += 1
}

function utf8({ bytes }: Scan, start: number, end: number): string {
  return bytes.toString('utf8', start, end)
}
