/**
 * Pages of a viewer's likes. Redis orders members of one score by their text, and the API by packed ids. A page therefore reads its last
 * moment completely, and sorts it.
 */
import type { BusinessNumber, MarkEntry, MarkPlace, ViewerId } from '../../../../core/domain.ts'
import type { Argument, Connection } from '../../../../stores/redis/connection.ts'
import { compareMarkPlaces } from '../../model/places.ts'
import type { HotLikes } from '../hot-store.ts'
import type { MarkLayout } from './keys.ts'
import { STATE_FIELD, floorOf, kindOf } from './values.ts'

/** Entries read beyond the end of a page, which mostly include the ties there. */
const MORE = 16

export function makeMarkLists(connection: Connection, layout: MarkLayout) {
  return {
    async listLikes(viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number): Promise<HotLikes> {
      const region = layout.regionOf(viewer)
      const list = layout.likes(region, viewer, business)
      const marks = layout.marks(region, viewer, business)
      const entries: MarkEntry[] = []
      /** False if the viewer was unknown before or after any read. A fill may then have changed the list in between; see `read.ts`. */
      let isKnown = true
      /** Everything after the moment of `upTo` has been read. */
      let upTo: Argument = before?.markedAt ?? '+inf'
      for (;;) {
        const count = limit - entries.length + MORE
        const [stateBefore, values, state] = (
          await connection.sendInOrder([
            [
              { name: 'hget', args: [marks, STATE_FIELD] },
              { name: 'zrevrangebyscore', args: [list, upTo, '-inf', 'WITHSCORES', 'LIMIT', 0, count] },
              { name: 'hget', args: [marks, STATE_FIELD] },
            ],
          ])
        ).flat() as [Buffer | null, Buffer[], Buffer | null]
        const read = entriesOf(values)
        isKnown &&= kindOf(stateBefore) !== 'unknown' && kindOf(state) !== 'unknown'
        const last = read.at(-1)
        const isEnd = last === undefined || read.length < count
        // Redis returned an arbitrary part of the last moment, so that moment is read completely.
        const ties = isEnd ? [] : await readTies(list, last.markedAt)
        const whole = isEnd ? read : [...read.filter(({ markedAt }) => markedAt > last.markedAt), ...ties]
        const after = before === undefined ? whole : whole.filter((entry) => compareMarkPlaces(before, entry) < 0)
        entries.push(...after.sort(compareMarkPlaces))
        if (isEnd || entries.length >= limit) {
          return { entries: entries.slice(0, limit), floor: isKnown ? floorOf(state) : null }
        }
        upTo = `(${last.markedAt}`
      }
    },
  }

  async function readTies(list: string, markedAt: number): Promise<MarkEntry[]> {
    const [ids] = (await connection.send([{ name: 'zrangebyscore', args: [list, markedAt, markedAt] }])) as [Buffer[]]
    return ids.map((id) => ({ id: String(id), markedAt }))
  }
}

/** Members and scores alternate. */
export function entriesOf(values: readonly Buffer[]): MarkEntry[] {
  const entries: MarkEntry[] = []
  for (let at = 0; at + 1 < values.length; at += 2) entries.push({ id: String(values[at]), markedAt: Number(String(values[at + 1])) })
  return entries
}
