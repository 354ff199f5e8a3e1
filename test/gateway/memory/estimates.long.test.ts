/** Compares the estimates of the memory with the heap of a separate process after a collection. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { countNodes, dropTokens } from '../../../gateway/memory/estimates.ts'

const CHILD = join(import.meta.dirname, 'heap-child.ts')
const LEAST = 0.7
const MOST = 2

const CASES = [
  { kind: 'small', count: 60, what: 'a small operation' },
  { kind: 'page', count: 40, what: 'an operation on three subgraphs' },
  { kind: 'large', count: 6, what: 'an operation of 988 fields' },
  { kind: 'entities', count: 5, what: 'an operation of 1,000 fields below entities' },
  { kind: 'variants', count: 2, what: '16 variants of a large operation' },
  { kind: 'fetches', count: 3, what: 'a large operation whose fetch is compiled' },
  { kind: 'calls', count: 200, what: 'a compiled fetch of entities' },
  { kind: 'lists', count: 200, what: 'a compiled list of three types' },
]

describe('estimated bytes', () => {
  it.each(CASES)('of $what are between 0.7 and 2 times those of the heap', { timeout: 120_000 }, async ({ kind, count }) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', CHILD, kind, String(count)])
    const { measured, estimated } = JSON.parse(stdout) as { measured: number; estimated: number }
    console.log(`${kind}: ${Math.round(measured)} bytes measured, estimated ${(estimated / measured).toFixed(2)} times that`)
    expect(estimated / measured).toBeGreaterThan(LEAST)
    expect(estimated / measured).toBeLessThan(MOST)
  })

  it('count each node once, and keep locations for variables only', () => {
    const document = parse('query Q($a: Int = 1) { b(c: $a) { d } }')
    const nodes = countNodes(document)
    expect(nodes).toBe(countNodes(parse('query Q($a: Int = 1) { b(c: $a) { d } }', { noLocation: true })))
    expect(dropTokens(document)).toBe(nodes)
    const [operation] = document.definitions
    if (operation?.kind !== 'OperationDefinition') throw new Error('no operation')
    expect(operation.variableDefinitions?.[0]?.loc).toMatchObject({ start: 8, end: 19 })
    expect(operation.variableDefinitions?.[0]?.loc?.startToken).toBeUndefined()
    expect(operation.selectionSet.selections[0]?.loc).toBeUndefined()
  })
})
