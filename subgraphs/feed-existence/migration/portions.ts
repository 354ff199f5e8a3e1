/** Adds hashes to a filter in portions, between which the process yields to the event loop. */
import type { Month } from '../../../core/domain.ts'
import { RECORDS_MAX_DEFAULT, addToFilter, measureFilter } from '../filter/filter.ts'
import type { SeenHashes } from '../filter/hash.ts'

export type PortionRules = { rate: number; isOver(month: Month): boolean }

/** Keys added to a filter at a time, about 20 ms. */
const PORTION = 65_536

export async function addPortions(
  before: Buffer | undefined,
  month: Month,
  portions: readonly SeenHashes[],
  nextTurn: () => Promise<void>,
  { rate, isOver }: PortionRules,
): Promise<Buffer> {
  const records = portions.reduce((sum, { length }) => sum + length / 2, before === undefined ? 0 : measureFilter(before).records)
  // The first portion makes room for all: a record without room takes twice the bits. In a month that is over, the last portion closes the
  // filter.
  const room = isOver(month) ? records : before === undefined ? Math.max(records, RECORDS_MAX_DEFAULT) : undefined
  let filter = before
  for (const [at, portion] of portions.entries()) {
    await nextTurn()
    filter = addToFilter(filter, portion, { rate, recordsMax: isOver(month) && at === portions.length - 1 ? 0 : room })
  }
  return filter as Buffer
}

export function inPortions(chunks: readonly SeenHashes[]): SeenHashes[] {
  const portions: SeenHashes[] = []
  let open: SeenHashes[] = []
  let length = 0
  for (const [at, chunk] of chunks.entries()) {
    open.push(chunk)
    length += chunk.length
    if (length < PORTION * 2 && at < chunks.length - 1) continue
    portions.push(joined(open, length))
    open = []
    length = 0
  }
  return portions
}

function joined(chunks: readonly SeenHashes[], length: number): SeenHashes {
  const all = new Uint32Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}
