import { describe, expect, it } from 'vitest'
import { readManifest } from '../../../gateway/persisted/manifest.ts'
import { apollo, sha } from '../../../harness/samples/manifests.ts'

const read = (text: string) => readManifest(text, 'm.json', 1_000)
const HELLO = 'query Hello { hello }'

describe('a manifest', () => {
  it("a manifest in Apollo's format and one in Relay's give the same operations", () => {
    const expected = [{ id: sha(HELLO), body: HELLO, names: ['Hello'], client: undefined, file: 'm.json' }]
    expect(read(apollo({ name: 'Hello', type: 'query', body: HELLO }))).toEqual({ operations: expected, mistakes: [] })
    expect(read(JSON.stringify({ [sha(HELLO)]: HELLO }))).toEqual({ operations: expected, mistakes: [] })
    expect(read(JSON.stringify({ [`sha256:${sha(HELLO).toUpperCase()}`]: HELLO }))).toEqual({ operations: expected, mistakes: [] })
  })

  it('a manifest may have ids that are not SHA-256, and no operations at all', () => {
    expect(read(JSON.stringify({ '7': HELLO })).operations.map(({ id }) => id)).toEqual(['7'])
    expect(read('{}')).toEqual({ operations: [], mistakes: [] })
  })

  it('two clients of a manifest may have one id for different texts', () => {
    const { operations, mistakes } = read(
      apollo({ id: '1', body: HELLO, clientName: 'ios' }, { id: '1', body: '{ viewer }', clientName: 'web' }),
    )
    expect([operations.length, mistakes]).toEqual([2, []])
  })

  it('an operation that occurs twice is read once', () => {
    expect(read(apollo({ body: HELLO }, { body: HELLO })).operations).toHaveLength(1)
  })

  const BROKEN: [string, string, RegExp][] = [
    ['is not JSON', '{"a": ', /^m\.json is not JSON/],
    ['is a list', '[]', /not a JSON object/],
    ['has another format', '{"format": "other", "version": 1, "operations": []}', /format "other" and version 1: only/],
    ['has another version', JSON.stringify({ ...JSON.parse(apollo()), version: 2 }), /version 2: only/],
    ['has no list of operations', '{"format": "apollo-persisted-query-manifest", "version": 1, "operations": {}}', /not a list/],
    [
      'has an operation that is text',
      '{"format": "apollo-persisted-query-manifest", "version": 1, "operations": ["x"]}',
      /operations\[0\] is not an object/,
    ],
    ['has an operation without an id', apollo({ id: '', body: HELLO }), /operations\[0\] has no id/],
    ['has an id with a line break', apollo({ id: 'ios\n1', body: HELLO }), /operations\[0\] has no id/],
    ['has an operation without a text', '{"1": 7}', /"1" has no text/],
    ['has a text that is not GraphQL', apollo({ id: '1', body: '{ hello' }), /\(id 1\) is not GraphQL/],
    ['has a text that is too long', apollo({ id: '1', body: `{ ${'hello '.repeat(1_001)} }` }), /tokens/],
    ['has a text without an operation', apollo({ id: '1', body: 'fragment F on Query { hello }' }), /has no operation/],
    [
      'has an id that is the SHA-256 of another text',
      apollo({ id: sha('x'), body: HELLO }),
      /looks like a SHA-256, but the SHA-256 of its text is/,
    ],
    ['has an id that only claims to be a SHA-256', apollo({ id: 'sha256:abc', body: HELLO }), /64 hexadecimal digits/],
    ['gives one id to two texts', apollo({ id: '1', body: HELLO }, { id: '1', body: '{ viewer }' }), /id 1 occurs twice/],
    ['names an operation wrongly', apollo({ name: 'Bye', body: HELLO }), /has the name Bye, but its text has Hello/],
    ['calls a query a mutation', apollo({ type: 'mutation', body: HELLO }), /has the type mutation, but is a query/],
  ]
  it.each(BROKEN)('a manifest that %s is refused with a message', (_name, text, sentence) => {
    const { mistakes } = read(text)
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toMatch(sentence)
  })

  it('a manifest with a thousand mistakes reports twenty of them', () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => ({ id: String(index), body: '{' }))
    expect(read(apollo(...lines)).mistakes).toHaveLength(21)
  })
})
