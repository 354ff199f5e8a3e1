/**
 * Pages of a viewer's likes. Redis orders members of one score by their text, the API by packed ids: so a page reads the last moment as a
 * whole, and sorts it.
 */
import type { BusinessNumber, MarkEntry, MarkPlace, ViewerId } from '../../../../core/domain.ts'
import type { Argument, Connection } from '../../../../stores/redis/connection.ts'
import { compareMarkPlaces } from '../../model/places.ts'
import type { HotLikes } from '../hot-store.ts'
import type { MarkLayout } from './keys.ts'
import { STATE_FIELD, floorOf } from './values.ts'

/** What a page reads beyond its end, so that the ties there are mostly among it. */
const MORE = 16

export function makeMarkLists(connection: Connection, layout: MarkLayout) {
  return {
    async listLikes(viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number): Promise<HotLikes> {
      const region = layout.regionOf(viewer)
      const list = layout.likes(region, viewer, business)
      const marks = layout.marks(region, viewer, business)
      const entries: MarkEntry[] = []
      let floor: HotLikes['floor'] = null
      /** Behind `upTo` and everything of its moment lies what was not read yet. */
      let upTo: Argument = before?.markedAt ?? '+inf'
      for (;;) {
        const count = limit - entries.length + MORE
        const [values, state] = (
          await connection.sendInOrder([
            [
              { name: 'zrevrangebyscore', args: [list, upTo, '-inf', 'WITHSCORES', 'LIMIT', 0, count] },
              { name: 'hget', args: [marks, STATE_FIELD] },
            ],
          ])
        ).flat() as [Buffer[], Buffer | null]
        const read = entriesOf(values)
        floor = floorOf(state)
        const last = read.at(-1)
        const isEnd = last === undefined || read.length < count
        // Of one moment Redis may have given any: they are read as a whole.
        const ties = isEnd ? [] : await readTies(list, last.markedAt)
        const whole = isEnd ? read : [...read.filter(({ markedAt }) => markedAt > last.markedAt), ...ties]
        const after = before === undefined ? whole : whole.filter((entry) => compareMarkPlaces(before, entry) < 0)
        entries.push(...after.sort(compareMarkPlaces))
        if (isEnd || entries.length >= limit) return { entries: entries.slice(0, limit), floor }
        upTo = `(${last.markedAt}`
      }
    },
  }

  async function readTies(list: string, markedAt: number): Promise<MarkEntry[]> {
    const [ids] = (await connection.send([{ name: 'zrangebyscore', args: [list, markedAt, markedAt] }])) as [Buffer[]]
    return ids.map((id) => ({ id: String(id), markedAt }))
  }
}

/** Members and scores in turn. */
export function entriesOf(values: readonly Buffer[]): MarkEntry[] {
  const entries: MarkEntry[] = []
  for (let at = 0; at + 1 < values.length; at += 2) entries.push({ id: String(values[at]), markedAt: Number(String(values[at + 1])) })
  return entries
}
