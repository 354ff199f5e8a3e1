/**
 * Answers that come again byte by byte are not parsed again. The subgraph is asked every time; only what its bytes mean is
 * remembered, so nothing can be stale and nobody sees another's data: who gets a remembered tree was sent the same bytes.
 * Comparing 80 KB takes 5 µs, parsing them 190, and the texts in a parsed tree are most of a gateway's garbage; those of a
 * remembered one are shared by all its copies.
 *
 * Answers that never repeat must not pay. Of the first answer to a call only the length is kept; a second one of that
 * length is kept as bytes and tree; from the third on equal bytes are worth a copy of the tree. Each time that such a tree
 * was kept for nothing, twice as many of the answers that follow are not looked at.
 *
 * What is kept is bounded by what it weighs: the call's text, the answer's bytes, and the tree, which is up to eight times
 * them. What was not asked for the longest time goes first.
 */
import { makeLru } from '../lru.ts'
import { copyOf } from './copy.ts'
import type { Body } from './http-call.ts'
import type { FetchResult } from './transport.ts'

/** Calls whose answers are looked at. */
const CALLS_MAX = 1_000
/** Characters of a call, and bytes of an answer, that is looked at. */
const CALL_LENGTH_MAX = 65_536
const BYTES_MAX = 131_072
/** What all that one subgraph has here may weigh, in bytes. */
const WEIGHT_MAX = 8_388_608
/** A tree weighs this many times the bytes it was parsed from. */
const TREE_WEIGHT = 8
/** Answers in a row that are not looked at, at most. */
const PAUSE_MAX = 1_000

/** Stands for the bytes of one answer to one call: whoever gets it again was sent the same ones. */
export type Kept = object

/** `kept`: the tree is remembered, and nobody may write into it. */
export type Read = { readonly result: FetchResult; readonly kept: Kept | undefined }

type Tree = { readonly bytes: Buffer; readonly read: Read }
/** `misses`: how often in a row a tree was kept for nothing; `pause`: answers that are not looked at yet. */
type Memory = { readonly length: number; readonly tree?: Tree | undefined; misses: number; pause: number }

export type Remembered = {
  read(call: string, body: Body, parse: () => FetchResult): Read
  /** What all that is kept weighs, in bytes, roughly. */
  weight(): number
}

export function makeRemembered(): Remembered {
  let weight = 0
  const memories = makeLru<Memory>(CALLS_MAX, (call, memory) => (weight -= weightOf(call, memory)))

  function keep(call: string, memory: Memory): void {
    memories.set(call, memory)
    weight += weightOf(call, memory)
    while (weight > WEIGHT_MAX) memories.forgetOldest()
  }

  return {
    read(call, body, parse) {
      const { length } = body
      if (length > BYTES_MAX || call.length > CALL_LENGTH_MAX) return { result: parse(), kept: undefined }
      const known = memories.get(call)
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
      // A copy: what came from the network is a part of a larger buffer.
      keep(call, { length, tree: { bytes: Buffer.concat(body.chunks), read }, misses, pause: 0 })
      return read
    },
    weight: () => weight,
  }
}

/** Characters of a call are counted as two bytes each. */
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

/** A result that belongs to who asked. */
export function ownResult({ result, kept }: Read): FetchResult {
  return kept !== undefined && result.data != null ? { ...result, data: copyOf(result.data) } : result
}
