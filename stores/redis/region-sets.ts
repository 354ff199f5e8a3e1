/** Sorted sets of which each region has one, such as its dirty marks, read across regions. */
import type { Command, Connection } from './connection.ts'

/**
 * The lowest-scored members of each region's set, at most `limit` in all. Each region first gives its share. If some have less, those with
 * more give the rest.
 */
export async function listMembers(
  connection: Connection,
  setOf: (region: number) => string,
  regions: readonly number[],
  upTo: number,
  limit: number,
): Promise<Buffer[]> {
  if (regions.length === 0 || limit <= 0) return []
  const share = Math.ceil(limit / regions.length)
  const range = (region: number, from: number, count: number): Command => ({
    name: 'zrangebyscore',
    args: [setOf(region), '-inf', upTo, 'LIMIT', from, count],
  })
  const members = (await connection.send(regions.map((region) => range(region, 0, share)))) as Buffer[][]
  const missing = limit - members.reduce((sum, some) => sum + some.length, 0)
  if (missing > 0) {
    const full = regions.flatMap((region, at) => (members[at]?.length === share ? [{ region, at }] : []))
    const rest = (await connection.send(full.map(({ region }) => range(region, share, missing)))) as Buffer[][]
    full.forEach(({ at }, place) => members[at]?.push(...(rest[place] ?? [])))
  }
  return members.flat().slice(0, limit)
}

/** After this member, and after this many members of its score. */
type SetPlace = { score: string; member: Buffer; ties: number }
/** The position in each region's set, undefined at its beginning. A missing region has been read to its end. */
export type SetPlaces = ReadonlyMap<number, SetPlace | undefined>

type SetWalk = { region: number; place: SetPlace | undefined; members: Buffer[]; isDone: boolean }

/**
 * As `listMembers`, from these positions on, whatever has been removed since. Finds nothing only if nothing is left. Members with one score
 * are in the order of their bytes but cannot be sought, so passed ones are read again.
 */
export async function walkMembers(
  connection: Connection,
  setOf: (region: number) => string,
  places: SetPlaces,
  upTo: number,
  limit: number,
): Promise<{ members: Buffer[]; places: SetPlaces }> {
  const walks = Array.from(places, ([region, place]): SetWalk => ({ region, place, members: [], isDone: false }))
  let room = Math.max(0, limit)

  async function goOn(some: readonly SetWalk[], count: number): Promise<void> {
    const commands = some.map(({ region, place }): Command => ({
      name: 'zrangebyscore',
      args: [setOf(region), place?.score ?? '-inf', upTo, 'WITHSCORES', 'LIMIT', 0, count + (place?.ties ?? 0)],
    }))
    const replies = (await connection.send(commands)) as Buffer[][]
    some.forEach((walk, at) => (room -= take(walk, replies[at] ?? [], count, room)))
  }

  while (room > 0) {
    const open = walks.filter(({ isDone }) => !isDone)
    if (open.length === 0) break
    // Each region gives its share first, then those that have more give what is missing.
    await goOn(open, Math.ceil(room / open.length))
    const rest = open.filter(({ isDone }) => !isDone)
    if (room > 0 && rest.length > 0) await goOn(rest, room)
    if (room < limit) break
  }
  return {
    members: walks.flatMap(({ members }) => members),
    places: new Map(walks.flatMap(({ region, place, isDone }) => (isDone ? [] : [[region, place] as const]))),
  }
}

/** Moves the position over a reply to `count` members, up to `room`; returns the number taken. */
function take(walk: SetWalk, reply: readonly Buffer[], count: number, room: number): number {
  const { place } = walk
  const found = Array.from({ length: reply.length / 2 }, (_, at) => ({ member: reply[2 * at] as Buffer, score: String(reply[2 * at + 1]) }))
  const fresh = found.filter(
    ({ member, score }) => place === undefined || score !== place.score || Buffer.compare(member, place.member) > 0,
  )
  const passed = found.length - fresh.length
  const taken = fresh.slice(0, room)
  walk.isDone = found.length < count + (place?.ties ?? 0) && taken.length === fresh.length
  const last = taken.at(-1)
  if (last !== undefined) {
    const ties = taken.filter(({ score }) => score === last.score).length
    walk.place = { ...last, ties: ties + (last.score === place?.score ? passed : 0) }
  } else if (place !== undefined) {
    walk.place = { ...place, ties: passed }
  }
  walk.members.push(...taken.map(({ member }) => member))
  return taken.length
}

/** The number of members in all regions' sets. */
export async function countMembers(connection: Connection, setOf: (region: number) => string, regions: number): Promise<number> {
  const counts = await connection.send(Array.from({ length: regions }, (_, region) => ({ name: 'zcard', args: [setOf(region)] })))
  return counts.reduce<number>((sum, count) => sum + Number(count), 0)
}
