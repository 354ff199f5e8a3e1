/** Sorted sets of which each region has one, such as its dirty marks, read across regions. */
import type { Command, Connection } from './connection.ts'

/**
 * The lowest-scored members of each region's set, at most `limit` in all. Each region is asked for its share first, and
 * only if some had less, those that had all of theirs are asked for as much as is still missing.
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

/** How many members all regions' sets have. */
export async function countMembers(connection: Connection, setOf: (region: number) => string, regions: number): Promise<number> {
  const counts = await connection.send(Array.from({ length: regions }, (_, region) => ({ name: 'zcard', args: [setOf(region)] })))
  return counts.reduce<number>((sum, count) => sum + Number(count), 0)
}
