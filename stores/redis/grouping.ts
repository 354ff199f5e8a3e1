/**
 * Sorts a call's keys into groups that are processed together: regions (one script each), and in them the groups of one viewer and business
 * (one hash and one sorted set each). `index` is the item's position in the call, for the answers.
 */
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import { chunkedByWeight } from '../chunks.ts'

type Addressed = { viewer: ViewerId; business: BusinessNumber }

export type Group = { viewer: ViewerId; business: BusinessNumber }
export type Grouped<T> = { item: T; index: number; place: number }
export type RegionBatch<T> = { region: number; groups: Group[]; items: Grouped<T>[] }

/** A batch has at most `itemsMax` items. A region with more gets several batches, in order, which are not atomic together. */
export function groupByRegion<T>(
  items: readonly T[],
  addressOf: (item: T) => Addressed,
  regionOf: (viewer: ViewerId) => number,
  itemsMax = Infinity,
): RegionBatch<T>[] {
  const all: RegionBatch<T>[] = []
  const open = new Map<number, RegionBatch<T>>()
  /** The last group of each viewer and business. It may be in a batch that is full. */
  const last = new Map<string, { batch: RegionBatch<T>; place: number }>()
  for (let index = 0; index < items.length; index++) {
    const item = items[index] as T
    const { viewer, business } = addressOf(item)
    const region = regionOf(viewer)
    let batch = open.get(region)
    if (batch === undefined || batch.items.length >= itemsMax) {
      batch = { region, groups: [], items: [] }
      open.set(region, batch)
      all.push(batch)
    }
    const name = `${business}:${viewer}`
    let group = last.get(name)
    if (group?.batch !== batch) {
      group = { batch, place: batch.groups.push({ viewer, business }) - 1 }
      last.set(name, group)
    }
    batch.items.push({ item, index, place: group.place })
  }
  return all
}

/**
 * The batches of each script. A single server gets few scripts of several regions with at most `itemsMax` items in all, because a script
 * costs more than an item. On a Cluster each region may be on another node, so it gets a script of its own.
 */
export function scriptsOf<T>(batches: readonly RegionBatch<T>[], isCluster: boolean, itemsMax: number): RegionBatch<T>[][] {
  return isCluster ? batches.map((batch) => [batch]) : chunkedByWeight(batches, itemsMax, ({ items }) => items.length)
}

/** One decoded answer per item, in the order of the call. `answers` has a list per script. `at`: the place of the script. */
export function answersOf<T, A>(
  scripts: readonly (readonly RegionBatch<T>[])[],
  answers: readonly (readonly Buffer[])[],
  decode: (answer: Buffer, at: number) => A,
): A[] {
  const decoded: A[] = []
  for (const [at, batches] of scripts.entries()) {
    let place = 0
    for (const { items } of batches) for (const { index } of items) decoded[index] = decode(answers[at]?.[place++] as Buffer, at)
  }
  return decoded
}
