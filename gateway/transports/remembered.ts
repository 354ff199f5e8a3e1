/**
 * Answers that come again byte by byte are not parsed again. The subgraph is asked every time; only what its bytes mean is
 * remembered, so nothing can be stale and nobody sees another's data: who gets a remembered tree was sent the same bytes.
 * Comparing 80 KB takes 5 µs, parsing them 190, and the texts in a parsed tree are most of a gateway's garbage; those of a
 * remembered one are shared by all its copies.
 *
 * Answers that never repeat must not pay. Of the first answer to a call only the length is kept; a second one of that
 * length is kept as bytes and tree; from the third on equal bytes are worth a copy of the tree.
 *
 * What is kept is bounded by what it weighs: the call's text, the answer's bytes, and the tree, which is up to eight times
 * them. What was not asked for the longest time goes first.
 */
import { makeLru } from '../lru.ts'
import { copyOf } from './copy.ts'
import type { Body } from './http-call.ts'
import type { FetchResult } from './transport.ts'

/** Calls whose answers are looked at. */
const CALLS_MAX = 32
/** Characters of a call, and bytes of an answer, that is looked at. */
const CALL_LENGTH_MAX = 65_536
const BYTES_MAX = 131_072
/** What all that one subgraph has here may weigh, in bytes. */
const WEIGHT_MAX = 8_388_608
/** A tree weighs this many times the bytes it was parsed from. */
const TREE_WEIGHT = 8

/** `kept`: the tree is remembered, and nobody may write into it. */
export type Read = { readonly result: FetchResult; readonly kept: boolean }

type Memory = { readonly length: number; readonly bytes?: Buffer; readonly result?: FetchResult }

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
      if (length > BYTES_MAX || call.length > CALL_LENGTH_MAX) return { result: parse(), kept: false }
      const known = memories.get(call)
      if (known?.bytes !== undefined && known.result !== undefined && known.length === length && isSame(known.bytes, body))
        return { result: known.result, kept: true }
      const result = parse()
      if (result.errors !== undefined) return { result, kept: false }
      const isSecond = known?.length === length
      // A copy: what came from the network is a part of a larger buffer.
      keep(call, isSecond ? { length, bytes: Buffer.concat(body.chunks), result } : { length })
      return { result, kept: isSecond }
    },
    weight: () => weight,
  }
}

/** Characters of a call are counted as two bytes each. */
function weightOf(call: string, { bytes }: Memory): number {
  return call.length * 2 + (bytes === undefined ? 0 : bytes.length * (1 + TREE_WEIGHT))
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
  return kept && result.data != null ? { ...result, data: copyOf(result.data) } : result
}
