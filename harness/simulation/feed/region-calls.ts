/** Calls to a store in parts: each region acts by itself, and some may be lost. */
import { PartOutage } from '../../../core/outage/part-outage.ts'
import { regionOf } from '../../../core/regions.ts'
import type { Gate } from '../gate.ts'

/** `lost`: regions that do not answer. Undefined: the store has no parts. */
export function makeRegionCalls(gate: Gate, regions: number, lost: ReadonlySet<number> | undefined) {
  /** A lost region does nothing, and the call fails for its viewers. */
  async function inRegions<T>(name: string, args: readonly unknown[], acts: ReadonlyMap<number, () => void>, answer: () => T): Promise<T> {
    const out = new Set<number>()
    const parts = Array.from(acts, ([region, act]) => () => {
      if (lost?.has(region) === true) out.add(region)
      else act()
    })
    const result = await gate.call('hot', name, args, parts, () => (out.size > 0 ? undefined : answer()))
    if (out.size > 0)
      throw new PartOutage(`regions ${[...out].join(', ')} of the model are lost`, (viewer) => out.has(regionOf(viewer, regions)))
    return result as T
  }

  function once<T>(name: string, region: number, args: readonly unknown[], act: () => T): Promise<T> {
    let result: T
    return inRegions(name, args, new Map([[region, () => void (result = act())]]), () => result)
  }

  /** A call for several regions that happens at one instant, that of the first one. */
  function together<T>(name: string, some: readonly number[], act: () => T): Promise<T> {
    let result: T
    const [first = 0, ...others] = some
    const acts = new Map(others.map((region): [number, () => void] => [region, () => undefined]))
    return inRegions(name, [some], new Map([[first, () => void (result = act())], ...acts]), () => result)
  }

  function perRegion<T, R>(name: string, items: readonly T[], of: (item: T) => number, act: (items: readonly T[]) => readonly R[]) {
    const results: R[] = []
    const acts = new Map(
      Array.from(
        Map.groupBy(items.keys(), (place) => of(items[place] as T)),
        ([region, places]) => [
          region,
          () => {
            const done = act(places.map((place) => items[place] as T))
            places.forEach((place, index) => (results[place] = done[index] as R))
          },
        ],
      ),
    )
    return inRegions(name, [items], acts, () => results)
  }

  return { inRegions, once, together, perRegion }
}
