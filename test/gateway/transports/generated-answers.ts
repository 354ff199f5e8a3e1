/** Answers of subgraphs in every form that JSON allows, and answers that are not JSON. */
import fc from 'fast-check'
import type { Body } from '../../../gateway/transports/http-call.ts'

/** Values that no subgraph should send, and texts that servers escape in different ways. */
const VALUES: unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  1e21,
  2 ** 31,
  2 ** 70,
  '',
  'a',
  'plain text of more than thirteen characters',
  'long '.repeat(30),
  `quotes " and backslashes \\ ${'in a long text '.repeat(10)}`,
  'line\nbreak\u0000\u001f',
  'Grüße 你好 🎈',
  '你好 '.repeat(40),
  'half \ud800 of a pair',
  '\u2028',
  [],
  [1, 'a', null, [2]],
  {},
  { __typename: 'Video', id: '2' },
  { id: { deep: ['"'] }, é: 1 },
]

/** The number in all foreign keys: fields of other subgraphs, which no fetch asked for. */
export const FOREIGN = 666_666

/** How a server writes JSON. */
type Style = {
  readonly space: string
  readonly escapes: 'few' | 'all'
  readonly numbers: 'plain' | 'odd'
  readonly order: 'kept' | 'reversed'
}

/** Changes `data` at a few places, and writes the answer in some style. Then it may damage some bytes. */
export type Change = {
  readonly values: readonly (readonly [place: number, value: unknown])[]
  readonly style: Style
  readonly extra: 'none' | 'extensions' | 'key' | 'foreign' | 'repeated' | 'line'
  readonly damages: readonly (readonly [place: number, bytes: Uint8Array])[]
}

const place = fc.double({ min: 0, max: 1, noNaN: true })
const DAMAGES = ['"', '\\', '\n', '\u0007', '{', '}', '[', ']', ',', ':', '01', '.', '-', 'nul', ' ', '\ufeff', '"id":1,'].map((text) =>
  Buffer.from(text),
)
const style = fc.record<Style>({
  space: fc.constantFrom('', '', '', '', '', ' ', ' ', '\n\t'),
  escapes: fc.constantFrom('few', 'few', 'all'),
  numbers: fc.constantFrom('plain', 'plain', 'odd'),
  order: fc.constantFrom('kept', 'kept', 'kept', 'reversed'),
})

export const change: fc.Arbitrary<Change> = fc.record({
  values: fc.array(fc.tuple(place, fc.oneof(fc.constantFrom(...VALUES), fc.string({ unit: 'binary' }), fc.jsonValue())), { maxLength: 2 }),
  style,
  extra: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'extensions', 'key', 'foreign', 'repeated', 'line', 'line'),
  damages: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.tuple(place, fc.oneof(fc.constantFrom(...DAMAGES), fc.uint8Array({ maxLength: 2 }))), { maxLength: 2 }),
    },
  ),
})

export function changed(answer: unknown, { values, style: how, extra, damages }: Change): Buffer {
  let tree = answer
  for (const [at, value] of values) tree = replaced(tree, at, value)
  let bytes = Buffer.from(written(tree, how, extra))
  for (const [at, damage] of damages) {
    const index = Math.floor(at * bytes.length)
    bytes = Buffer.concat([bytes.subarray(0, index), damage, bytes.subarray(index + (damage.length % 2))])
  }
  return bytes
}

/** The bytes in chunks of this length, as the network delivers them. */
export function bodyOf(bytes: Buffer, chunkLength = bytes.length): Body {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += chunkLength) chunks.push(bytes.subarray(at, at + chunkLength))
  return { chunks, length: bytes.length }
}

/** Shorter than many texts of the answers, or longer than a whole answer. */
export const chunkLength = fc.integer({ min: 1, max: 600 })

/** Replaces one value below `data`. `at` chooses it. */
function replaced(tree: unknown, at: number, value: unknown): unknown {
  const places: [Record<string, unknown>, string][] = []
  const copy: unknown = structuredClone(tree)
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [key, inner] of Object.entries(node)) {
      places.push([node as Record<string, unknown>, key])
      visit(inner)
    }
  }
  visit((copy as { data?: unknown }).data)
  const [parent, key] = places[Math.floor(at * (places.length - 1))] ?? []
  if (parent !== undefined && key !== undefined) parent[key] = structuredClone(value)
  return copy
}

function written(tree: unknown, how: Style, extra: Change['extra']): string {
  const write = (value: unknown, depth: number): string => {
    if (Array.isArray(value)) return `[${value.map((item) => how.space + write(item, depth + 1)).join(',')}${how.space}]`
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).map(
        ([key, inner]) => `${how.space}${JSON.stringify(key)}${how.space}:${how.space}${write(inner, depth + 1)}`,
      )
      if (how.order === 'reversed') entries.reverse()
      if (depth === 1 && extra === 'key') entries.push('"unknown":{"a":[1]}')
      if (extra === 'foreign' && !('topScore' in value) && !('viewerProgress' in value))
        entries.push(`"topScore":${FOREIGN}`, `"viewerProgress":{"position":${FOREIGN}}`)
      if (depth === 2 && extra === 'repeated' && entries[0] !== undefined) entries.push(entries[0].replace(/:.*$/s, ':"again"'))
      if (depth === 0 && extra === 'extensions') entries.push('"extensions":{"data":"x","n":[{}]}')
      return `{${entries.join(',')}${how.space}}`
    }
    if (typeof value === 'string' && how.escapes === 'all') return JSON.stringify(value).replace(/[/o\u0080-\uffff]/g, escaped)
    if (Object.is(value, -0)) return '-0'
    if (typeof value === 'number' && how.numbers === 'odd' && Number.isInteger(value))
      return Math.abs(value) < 1e15 ? `${value}.0` : '1E+20'
    return JSON.stringify(value)
  }
  return write(tree, 0) + (extra === 'line' ? '\n' : '')
}

/** Some servers escape slashes and everything outside of ASCII. */
function escaped(unit: string): string {
  return unit === '/' ? '\\/' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
