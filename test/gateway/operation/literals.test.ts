/** Literals in the text of an operation reach the subgraphs with the same value as a variable. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import fc from 'fast-check'
import { parse, parseValue } from 'graphql'
import { describe, expect, test } from 'vitest'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'

const HEAD = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])\n'
const said = (_: unknown, args: object) => JSON.stringify(args)
const SUBGRAPHS = [
  {
    name: 'words',
    sdl: `${HEAD} scalar Any
      input Said { text: String texts: [String!] inner: Said }
      type Query { say(text: String, texts: [String], input: Said, any: Any, id: ID, ids: [ID!], float: Float, floats: [Float]): String word: Word }
      type Mutation { write(input: Said): String }
      type Word @key(fields: "id") { id: ID! }`,
    resolvers: { Query: { say: said, word: () => ({ id: '1' }) }, Mutation: { write: said } },
  },
  {
    name: 'notes',
    sdl: `${HEAD} type Word @key(fields: "id") { id: ID! note(text: String): String }`,
    resolvers: { Word: { __resolveReference: (word: object) => word, note: said } },
  },
]

const engine = makeEngine(
  composeSupergraph(SUBGRAPHS),
  SUBGRAPHS.map(({ name, sdl, resolvers }) => ({
    name,
    transport: localTransport(buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: resolvers as never }])),
  })),
  { tokensMax: 1_000 },
)

async function ask(query: string, variables?: Record<string, unknown>): Promise<unknown> {
  const prepared = engine.prepare(query)
  return JSON.parse(JSON.stringify('errors' in prepared ? prepared : await prepared.execute(variables, {})))
}

/** Each place of a query that can hold a string. */
const queryWith = (variables: string, literal: string) => `
  query ${variables} {
    argument: say(text: ${literal})
    list: say(texts: ["", ${literal}, "b"])
    input: say(input: { text: ${literal}, inner: { texts: [${literal}] } })
    scalar: say(any: ${literal})
    id: say(id: ${literal})
    ids: say(ids: [${literal}])
    word { note(text: ${literal}) ...Words }
    again: word { ... @include(if: true) { moved: note(text: ${literal}) } }
  }
  fragment Words on Word { spread: note(text: ${literal}) }`
const mutationWith = (variables: string, literal: string) => `mutation ${variables} { write(input: { text: ${literal} }) }`

async function expectSameAsVariable(literal: string): Promise<void> {
  const node = parseValue(literal)
  const text = node.kind === 'StringValue' ? node.value : undefined
  // One type cannot fit all places of a variable, so each place has a variable of its own.
  const types = '($text: String = null, $item: String!, $any: Any, $id: ID!)'
  const typed = queryWith(types, '$text')
    .replaceAll('texts: [$text]', 'texts: [$item]')
    .replace('any: $text', 'any: $any')
    .replace('id: $text', 'id: $id')
    .replace('ids: [$text]', 'ids: [$id]')
  const answered = await ask(typed, { text, item: text, any: text, id: text })
  expect(answered).not.toHaveProperty('errors')
  expect(await ask(queryWith('', literal))).toEqual(answered)
  const written = await ask(mutationWith('($text: String)', '$text'), { text })
  expect(written).toEqual({ data: { write: JSON.stringify({ input: { text } }) } })
  expect(await ask(mutationWith('', literal))).toEqual(written)
  expect(await ask(mutationWith(`($text: String = ${literal})`, '$text'))).toEqual(written)
}

/** Characters that parsers treat differently: escapes, control characters, white space, line ends, punctuation, and two of 4 bytes. */
const CHARACTER = fc.oneof(
  fc.constantFrom(...' \t\n\r\b\f"\\/$#{}a\u0000\u001F\u007F\u0085\u00A0\u2028\u2029\u3000\uFEFF\uFFFD第'.split(''), '😀', '\u{10FFFF}'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
)
const isRaw = (character: string) => character >= ' ' && character !== '"' && character !== '\\'
const SHORT: Record<string, string> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
}
const unitsOf = (character: string) => character.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A string with each character as itself or as one of its escapes. */
const PLAIN = fc
  .array(
    CHARACTER.chain((character) => {
      const spellings = [unitsOf(character).join(''), `\\u{${character.codePointAt(0)?.toString(16)}}`]
      return fc.constantFrom(...spellings, ...[SHORT[character] ?? []].flat(), ...(isRaw(character) ? [character] : []))
    }),
    { maxLength: 12 },
  )
  .map((spelled) => `"${spelled.join('')}"`)

const INDENT = fc.string({ unit: fc.constantFrom(' ', ' ', '\t', '\u3000', '\u00A0', '\u0085', '\u2028'), maxLength: 4 })
const LINE = fc.tuple(INDENT, fc.array(CHARACTER, { maxLength: 4 })).map(([indent, rest]) => indent + rest.join(''))
const BLOCK = fc
  .tuple(fc.array(LINE, { maxLength: 5 }), fc.constantFrom('\n', '\r', '\r\n'))
  // In a block string, only three quotes can be escaped.
  .map(([lines, end]) => `"""${lines.join(end).replaceAll(/"+/g, '\\"""')}\n"""`)

describe('a string in the text has the value that it has as a variable', () => {
  test.each([
    ['the escape \\b', '"a\\bb"'],
    ['the escape \\u0008', '"a\\u0008b"'],
    ['a backslash before the letter b', '"\\\\b \\\\\\b"'],
    ['every short escape', '"\\b\\t\\n\\f\\r\\"\\\\\\/"'],
    ['ideographic spaces at line starts', '"""\u3000第一\n\u3000第二"""'],
    ['lines of other white space', '"""\n\u00A0\n\u0085a\n\u2028\n"""'],
    ['an ideographic space at the end of the common indentation', '"""\n\u3000a\n  \u3000b\n"""'],
    ['a quote as the last character', '"""a\\""""""'],
    ['nothing', '""'],
    ['nothing in a block', '""""""'],
    ['names of variables, braces and comments', '"$text {a} #b"'],
    ['an emoji and its surrogates', '"😀\\uD83D\\uDE00\\u{1F600}"'],
  ])('%s', (_, literal) => expectSameAsVariable(literal))

  test('any plain string', () => fc.assert(fc.asyncProperty(PLAIN, expectSameAsVariable), { numRuns: 100 }))

  test('any block string', () => fc.assert(fc.asyncProperty(BLOCK, expectSameAsVariable), { numRuns: 100 }))
})

describe('a number in the text', () => {
  const floats = (literal: string) => `{ one: say(float: ${literal}) many: say(floats: [${literal}]) }`

  test.each(['1e999', '-1e999', '1.8e308', '1.7976931348623159e308', '9'.repeat(400), `-${'9'.repeat(400)}.5`])(
    '%s is refused by validation, because it is no double',
    async (literal) => {
      for (const query of [
        floats(literal),
        `{ say(any: ${literal}) }`,
        `{ say(any: { list: [${literal}] }) }`,
        `query ($float: Float = ${literal}) { say(float: $float) }`,
        `{ word { id } ...F } fragment F on Query { say(floats: [1, ${literal}]) }`,
      ]) {
        const { errors } = (await ask(query)) as { errors: { message: string; locations: unknown; extensions: object }[] }
        expect(errors[0]).toMatchObject({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })
        expect(errors[0]?.message).toContain(literal.slice(0, 40))
        expect(errors[0]?.message).toMatch(/ is out of range: send a number between /)
        expect(errors).toHaveLength(query.includes('many') ? 2 : 1)
        expect(errors[0]?.locations).toEqual([{ line: 1, column: query.indexOf(literal) + 1 }])
      }
    },
  )

  test('gives only one error where a String is expected', async () => {
    expect(await ask('{ say(text: 1e999) }')).toMatchObject({ errors: [{ message: expect.stringContaining('String cannot') as string }] })
  })

  test.each([
    '0',
    '-0',
    '-0.0',
    '1E5',
    '1e+5',
    '1e-999',
    '5e-324',
    '1.7976931348623157e308',
    '0.1',
    '1e21',
    '123456789012345678.5',
    '9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(300),
  ])('%s reaches a subgraph as the same double', async (literal) => {
    const answered = { data: { one: JSON.stringify({ float: Number(literal) }), many: JSON.stringify({ floats: [Number(literal)] }) } }
    expect(await ask(floats(literal))).toEqual(answered)
    const typed = 'query ($float: Float) { one: say(float: $float) many: say(floats: [$float]) }'
    expect(await ask(typed, { float: Number(literal) })).toEqual(answered)
  })

  test('keeps its digits as an ID', async () => {
    for (const id of ['-0', '0', '9'.repeat(400)]) expect(await ask(`{ say(id: ${id}) }`)).toEqual({ data: { say: `{"id":"${id}"}` } })
  })
})

describe('an operation that the planner cannot parse', () => {
  const object = (levels: number) => `${'{ inner: '.repeat(levels)}{}${' }'.repeat(levels)}`

  test.each([
    ['in selections', `{ ${'... { '.repeat(60)} say ${'}'.repeat(60)} }`],
    ['in a literal', `{ say(input: ${object(60)}) }`],
    ['in a default value', `query ($input: Said = ${object(60)}) { say(input: $input) }`],
    ['in both together', `{ ${'... { '.repeat(30)} say(input: ${object(30)}) ${'}'.repeat(30)} }`],
  ])('is refused as too deep %s', async (_, query) => {
    expect(await ask(query)).toMatchObject({
      errors: [
        { message: expect.stringMatching(/nests .* too deeply: use fewer levels/) as string, extensions: { code: 'OPERATION_TOO_LARGE' } },
      ],
    })
  })
})
