/**
 * A read of many keys: a random group of L1, then Main, then Backup, then the load. Each tier is asked for the keys that are still missing.
 * A tier that missed gets the value: a hit of Main fills the group of L1, a hit of Backup fills Main and the group, and a load fills all pools.
 * A node that failed gets no fill.
 */
import type { Clock } from '../core/clock.ts'
import { randomBelow, type Random } from '../core/random.ts'
import type { makeClassFigures } from './class-figures.ts'
import type { Pools } from './generations.ts'
import type { Loads } from './loads.ts'
import type { Held } from './node-client.ts'
import type { Pool } from './pool.ts'
import type { Found, IsIntact, Load, MinVersion, Stamped } from './tiered-cache.ts'

type Tier = {
  pool: Pool
  kind: 'l1' | 'main' | 'backup'
  /** By place: the stale or damaged value of the tier, or null if its node failed. Not for plain misses. */
  exceptions: Map<number, Held | null>
}

/** `places` are the positions of keys in the call. `floors` are their minimum versions at its start. */
type Reading = {
  keys: readonly string[]
  floors: readonly number[]
  isIntact: IsIntact
  tiers: readonly Tier[]
  values: (Found | undefined)[]
}

export function makeRead(clock: Clock, random: Random, ttlMs: number, loads: Loads, classes: ReturnType<typeof makeClassFigures>) {
  return async (
    pools: Pools,
    keys: readonly string[],
    load: Load,
    minVersion: MinVersion,
    isIntact: IsIntact,
  ): Promise<(Found | undefined)[]> => {
    const values = keys.map((): Found | undefined => undefined)
    const reading = { keys, floors: keys.map(minVersion), isIntact, tiers: tiersOf(pools), values }
    let places = findUnknown(reading)
    for (const tier of reading.tiers) {
      if (places.length === 0) return values
      places = await readTier(reading, tier, places)
    }
    if (places.length > 0) await loadPlaces(reading, pools, load, places)
    return values
  }

  function tiersOf({ main, backup, l1 }: Pools): Tier[] {
    const tiers: Tier[] = [{ pool: main, kind: 'main', exceptions: new Map() }]
    const group = l1[randomBelow(random, l1.length)]
    if (group !== undefined) tiers.unshift({ pool: group, kind: 'l1', exceptions: new Map() })
    if (backup !== undefined) tiers.push({ pool: backup, kind: 'backup', exceptions: new Map() })
    return tiers
  }

  /** The places of keys that are not known to be absent. */
  function findUnknown({ keys, floors }: Reading): number[] {
    const places: number[] = []
    for (let place = 0; place < keys.length; place++) {
      const key = keys[place] as string
      if (loads.isAbsent(key, floors[place] as number)) classes.of(key).absent++
      else places.push(place)
    }
    return places
  }

  /** Returns the places that need a further tier. */
  async function readTier({ keys, floors, isIntact, tiers, values }: Reading, tier: Tier, places: number[]): Promise<number[]> {
    const wanted = places.length === keys.length ? keys : places.map((place) => keys[place] as string)
    const answers = await tier.pool.getMany(wanted)
    const earlier = tiers.slice(0, tiers.indexOf(tier))
    const missing: number[] = []
    // A page has thousands of keys, so this loop has no closures.
    for (let index = 0; index < places.length; index++) {
      const place = places[index] as number
      const key = keys[place] as string
      const answer = answers[index]
      const figures = classes.of(key)
      const isStale = answer != null && answer.version < (floors[place] as number)
      if (answer != null && !isStale && isIntact(key, answer.value)) {
        values[place] = answer
        figures[tier.kind]++
        figures.bytes += answer.value.length
        for (const each of earlier) fill(each, key, place, answer, answer.endsAt)
        continue
      }
      missing.push(place)
      if (answer === undefined) continue
      if (isStale) figures.stale++
      else if (answer !== null) figures.damaged++
      tier.exceptions.set(place, answer)
    }
    return missing
  }

  async function loadPlaces({ keys, floors, tiers, values }: Reading, pools: Pools, load: Load, places: number[]): Promise<void> {
    const missing = places.map((place) => keys[place] as string)
    const missingFloors = places.map((place) => floors[place] as number)
    const otherGroups = pools.l1.filter((group) => tiers[0]?.pool !== group)
    const endsAt = clock.now() + ttlMs
    for (const key of missing) {
      const figures = classes.of(key)
      figures.misses++
      figures.joined++
    }
    const loaded = await loads.getMany(missing, missingFloors, load, (index, stamped) => {
      const [key, place] = [missing[index] as string, places[index] as number]
      const figures = classes.of(key)
      figures.joined--
      figures.loaded++
      // A value that is too old would be a miss in the pools, too.
      if (stamped === undefined || stamped.version < (floors[place] as number)) return
      for (const tier of tiers) fill(tier, key, place, stamped, endsAt)
      for (const group of otherGroups) group.fillQuietly(key, stamped, undefined, endsAt)
    })
    places.forEach((place, index) => (values[place] = loaded[index]))
  }
}

function fill({ pool, exceptions }: Tier, key: string, place: number, stamped: Stamped, endsAt: number): void {
  const seen = exceptions.get(place)
  if (seen !== null) pool.fillQuietly(key, stamped, seen, endsAt)
}
