import fc from 'fast-check'
import { parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { Piece, escapeTree, textOf, unescapeTree } from '../../../gateway/execution/escaped.ts'
import { readAnswer, readEscaped } from '../../../gateway/transports/answer.ts'
import { compileScanner } from '../../../gateway/transports/answer-scanner.ts'
import { graphSchema, jsonOf, makeContext, openGraph, type SubgraphName } from '../engine-graph.ts'
import type { FetchResult, Transport } from '../../../gateway/transports/transport.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { FOREIGN, bodyOf, change, changed, chunkLength, type Change } from './generated-answers.ts'

const DOCUMENT = parse(`{
  list { __typename id ... on Video { title tags extra owner { __typename name } } ...A }
  one: node { id __proto__: title matrix }
  count
}
fragment A on Article { words owner { id } similar { id words } }`)
const scanBody = compileScanner(DOCUMENT)
const scan = (bytes: Buffer, length?: number) => scanBody(bodyOf(bytes, length))

const ANSWER = {
  data: {
    list: [
      {
        __typename: 'Video',
        id: '1',
        title: 'one',
        tags: ['a', 'b'],
        extra: { any: ['"', { a: 1 }] },
        owner: { __typename: 'Owner', name: 'o1' },
      },
      { __typename: 'Article', id: '2', words: 12, owner: { id: 'o2' }, similar: [{ id: '3', words: null }] },
      null,
    ],
    one: JSON.parse('{"id":"4","__proto__":"a prototype","matrix":[[1,2],[3.5]]}') as unknown,
    count: 3,
  },
}

/** With texts instead of pieces, and without undefined fields. */
function plain(value: unknown): unknown {
  if (value instanceof Piece) return textOf(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries.map(([key, inner]) => [key, plain(inner)]))
}

function slowly(bytes: Buffer): unknown {
  try {
    const answer = JSON.parse(bytes.toString()) as { data?: unknown; errors?: unknown }
    return answer.errors === undefined ? escapeTree(answer.data) : undefined
  } catch {
    return undefined
  }
}

describe('the scanner', () => {
  test('the scanner reads what JSON.parse reads, or leaves the answer to it', () => {
    let scanned = 0
    let left = 0
    fc.assert(
      fc.property(change, chunkLength, (how, length) => {
        const bytes = changed(ANSWER, how)
        const found = scan(bytes, length)
        if (found === undefined) left += 1
        else {
          scanned += 1
          expect(plain(found)).toEqual(slowly(bytes))
        }
      }),
      { numRuns: 3_000 },
    )
    // A scanner that always gives up would prove nothing, and so would answers that it always reads.
    expect(scanned).toBeGreaterThan(400)
    expect(left).toBeGreaterThan(400)
  })

  test('the scanner itself reads an answer in the form that servers usually send', () => {
    for (const text of [JSON.stringify(ANSWER), `${JSON.stringify(ANSWER)}\n`, JSON.stringify({ ...ANSWER, extensions: { a: 1 } })]) {
      const data = scan(Buffer.from(text))
      expect(data).toBeDefined()
      expect(unescapeTree(data)).toEqual(ANSWER.data)
    }
  })

  test('the scanner leaves a control character at any place of an answer to JSON.parse', () => {
    const text = Buffer.from(JSON.stringify({ data: { count: 'a text of some length' } }))
    for (let at = 18; at < 38; at += 1) {
      for (let spaces = 0; spaces < 4; spaces += 1) {
        const bytes = Buffer.from(`${text.toString()}${' '.repeat(spaces)}`)
        expect(scan(bytes)).toBeDefined()
        bytes[at] = 0x1f
        expect(scan(bytes)).toBeUndefined()
      }
    }
  })

  test('the scanner leaves an answer with another control character than whitespace at its end to JSON.parse', () => {
    const text = JSON.stringify({ data: { count: 1 } })
    for (let byte = 0; byte < 0x21; byte += 1) {
      const isSpace = [' ', '\t', '\n', '\r'].includes(String.fromCharCode(byte))
      expect(scan(Buffer.from(`${text}${String.fromCharCode(byte)}`)) !== undefined, String(byte)).toBe(isSpace)
    }
  })

  test('a text keeps its value after the next answer, wherever the network cuts the answer', () => {
    const texts = ['a text '.repeat(20), 'ü'.repeat(50), 'short', 'x'.repeat(64)]
    const bytes = Buffer.from(JSON.stringify({ data: { count: texts } }))
    for (const filler of [0, 300_000]) {
      for (let length = 1; length <= bytes.length; length += 1) {
        const data = scan(Buffer.concat([bytes, Buffer.alloc(filler, ' ')]), filler === 0 ? length : length + 1_000)
        scan(Buffer.from(JSON.stringify({ data: { count: 'y'.repeat(bytes.length) } })))
        expect(unescapeTree(data)?.['count']).toEqual(texts)
      }
    }
  })

  test('the scanner leaves answers with errors, other text behind the data, or deeply nested lists to JSON.parse', () => {
    const good = '{"data":{"count":1}'
    expect(scan(Buffer.from(`${good}}`))).toBeDefined()
    for (const end of ['', ',}', '}}', '} x', ',"errors":[]}', ',"data":null}', ',"extensions":{}', ',"extensions":{,}}'])
      expect(scan(Buffer.from(good + end)), end).toBeUndefined()
    expect(scan(Buffer.from(`{"data":{"count":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`))).toBeUndefined()
  })
})

/** Subgraphs whose answers are changed on their way. Both kinds of trees are read from the same bytes. */
function changedGraph(how: () => Change, lengthOfChunks: () => number) {
  const transportOf = (name: SubgraphName): Transport => {
    const local = localTransport(graphSchema(name))
    return {
      remote: true,
      compile(operation) {
        const fetch = local.compile(operation)
        const read = readEscaped(compileScanner(operation.document))
        const answer = async (variables: Readonly<Record<string, unknown>>, context: object) => {
          const bytes = changed(JSON.parse(JSON.stringify(await fetch.run(variables, context))), how())
          return { status: 200, contentType: 'application/json', body: bodyOf(bytes, lengthOfChunks()) }
        }
        return {
          run: async (variables, context): Promise<FetchResult> => readAnswer(name, await answer(variables, context)),
          runEscaped: async (variables, context) => read(name, await answer(variables, context)),
          subscribe: fetch.subscribe,
        }
      },
    }
  }
  return openGraph(transportOf)
}

const QUERIES = [
  '{ topScore looseFeed { id title subtitle tags likeCount viewerProgress { position } owner { name likes } } numbers }',
  '{ any { __typename ... on Video { id: title score owner { __typename name } } ... on Article { headline wordCount title n: likeCount } } }',
  '{ feed { similar { id who: owner { likes best { viewerMark } } } } kind }',
  '{ media { __typename name plays } echo(input: { text: "\\"ü\\"" }) node(id: "1") { id ... on Video { cost } } }',
]

/** The first value of each answer is an object that no operator can convert. */
const UNCONVERTIBLE: Change = {
  values: [[0, { toString: 1, valueOf: 1 }]],
  style: { space: '', escapes: 'few', numbers: 'plain', order: 'kept' },
  extra: 'none',
  damages: [],
}

describe('an answer made of pieces', () => {
  test('an answer made of pieces is byte for byte the answer made of decoded values, whatever the subgraphs send', async () => {
    let current: Change | undefined
    let currentLength = 1
    const engine = changedGraph(
      () => current as Change,
      () => currentLength,
    )
    let [complete, failed] = [0, 0]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...QUERIES), change, chunkLength, async (query, how, length) => {
        current = how
        currentLength = length
        const operation = engine.prepare(query)
        if ('errors' in operation) throw new Error(operation.errors.join())
        const expected = JSON.stringify(await operation.execute(undefined, makeContext()))
        const json = await jsonOf(operation, undefined, makeContext())
        expect(json).toBe(expected)
        expect(json).not.toContain('"INTERNAL"')
        // The subgraph of the field gives it a foreign value too, if the change removed its own.
        if (how.damages.length === 0 && how.values.length === 0) expect(json).not.toContain(String(FOREIGN))
        if (json.includes('"errors":')) failed += 1
        else complete += 1
      }),
      { numRuns: 2_000, examples: QUERIES.map((query) => [query, UNCONVERTIBLE, 100]) },
    )
    expect(complete).toBeGreaterThan(300)
    expect(failed).toBeGreaterThan(300)
  })
})
