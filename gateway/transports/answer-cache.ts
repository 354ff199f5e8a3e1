/**
 * Parses equal answers only once. The subgraph is still asked every time; only the parsed form of its bytes is kept. Data can therefore
 * not be stale, and no viewer sees another viewer's data: a cached tree is used only for the same bytes. To compare 80 KB takes 5 µs,
 * to parse them 190 µs. The strings of parsed trees are most of a gateway's garbage, and copies of a cached tree share them.
 *
 * Answers that never repeat must not pay. The first answer to a call leaves only its length. A second answer of that length is kept as
 * bytes and tree. From the third answer on, equal bytes get a copy of the tree. Each tree that was never used doubles the number of
 * following answers that are not compared.
 *
 * The weight of a kept answer is the call's text, the answer's bytes, and the tree, up to eight times the bytes. It counts in the
 * memory of clients, which decides on eviction.
 */
import type { ClientMemory, Holding } from '../memory/client-memory.ts'
import { NOTHING_HELD } from '../memory/family.ts'
import { copyOf } from './tree-copy.ts'
import type { Body } from './http-call.ts'
import type { FetchResult, Read } from './transport.ts'

/** Longer calls, in characters, and longer answers, in bytes, are not cached. */
const CALL_LENGTH_MAX = 65_536
const BYTES_MAX = 131_072
/** A tree weighs this many times its bytes. */
const TREE_WEIGHT = 8
/** The time to parse an answer, per byte of its weight. */
const COST_MS_PER_BYTE = 2.5e-7
/** Maximum number of consecutive answers that are not compared. */
const PAUSE_MAX = 1_000

type Tree = { readonly bytes: Buffer; readonly read: Read }
/** `misses`: consecutive trees that were never used. `pause`: following answers that are not compared. */
type Memory = { readonly length: number; readonly tree?: Tree | undefined; misses: number; pause: number }

export type AnswerCache = {
  read(call: string, body: Body, parse: () => FetchResult): Read
  /** The weight of all kept answers in bytes, an estimate. */
  weight(): number
  clear(): void
}

export function makeAnswerCache(clientMemory: ClientMemory): AnswerCache {
  let weight = 0
  const memories = new Map<string, Memory & { holding: Holding }>()

  function forget(call: string): void {
    const known = memories.get(call)
    if (known === undefined) return
    known.holding.release()
    memories.delete(call)
    weight -= weightOf(call, known)
  }

  function keep(call: string, memory: Memory): void {
    forget(call)
    const bytes = weightOf(call, memory)
    const kept = { ...memory, holding: NOTHING_HELD }
    memories.set(call, kept)
    weight += bytes
    kept.holding = clientMemory.hold('answer', bytes, bytes * COST_MS_PER_BYTE, () => forget(call))
  }

  return {
    read(call, body, parse) {
      const { length } = body
      if (length > BYTES_MAX || call.length > CALL_LENGTH_MAX) return { result: parse(), kept: undefined }
      const known = memories.get(call)
      known?.holding.touch()
      if (known?.tree !== undefined && known.length === length && isSame(known.tree.bytes, body)) {
        known.misses = 0
        return known.tree.read
      }
      const result = parse()
      if (result.errors !== undefined) return { result, kept: undefined }
      if (known !== undefined && known.pause > 0) {
        known.pause -= 1
        return { result, kept: undefined }
      }
      const misses = (known?.misses ?? 0) + (known?.tree === undefined ? 0 : 1)
      const pause = known?.tree === undefined ? 0 : Math.min(PAUSE_MAX, 2 ** misses - 2)
      if (pause > 0 || known?.length !== length) {
        keep(call, { length, misses, pause })
        return { result, kept: undefined }
      }
      const read = { result, kept: {} }
      // A copy, because the network's chunk is a part of a larger buffer.
      keep(call, { length, tree: { bytes: Buffer.concat(body.chunks), read }, misses, pause: 0 })
      return read
    },
    weight: () => weight,
    clear() {
      for (const call of memories.keys()) forget(call)
    },
  }
}

/** A character of a call counts as two bytes. */
function weightOf(call: string, { tree }: Memory): number {
  return call.length * 2 + (tree === undefined ? 0 : tree.bytes.length * (1 + TREE_WEIGHT))
}

function isSame(bytes: Buffer, { chunks }: Body): boolean {
  let at = 0
  for (const chunk of chunks) {
    if (bytes.compare(chunk, 0, chunk.length, at, at + chunk.length) !== 0) return false
    at += chunk.length
  }
  return true
}

/** A result that the caller may change. */
export function ownResult({ result, kept }: Read): FetchResult {
  return kept !== undefined && result.data != null ? { ...result, data: copyOf(result.data) } : result
}
