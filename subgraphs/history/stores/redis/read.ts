/**
 * The viewer's reads: progress of subjects, a page of the timeline, and settings. Point lookups are one HMGET per viewer and business, all
 * in one round trip. They are single-key commands, which a Cluster serves even while their slot moves. A page is one script, because the
 * range and its contents must be of one moment.
 */
import type {
  BusinessNumber,
  Place,
  ProgressKey,
  ProgressRecord,
  TimelineEntry,
  ViewerId,
  ViewerSettings,
} from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import { gatherDamage } from '../../model/damaged-progress.ts'
import { comparePlaces } from '../../model/places.ts'
import type { DirtyProgress, HotLookup, HotPage, KeyChange } from '../hot-store.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import type { Group } from '../../../../stores/redis/grouping.ts'
import { packOid } from './keys.ts'
import type { Layout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { decodeSettings } from './settings.ts'
import { STATE_FIELD, decodeRecord, decodeState, type TimelineState } from './values.ts'

export function makeReading(connection: Connection, layout: Layout) {
  /** In key order. Reads all keys. If records or states of timelines are damaged, throws one `DamagedProgress` for all their keys. */
  async function getContents<T>(
    keys: readonly ProgressKey[],
    read: (record: ProgressRecord | undefined, state: TimelineState, key: ProgressKey) => T,
  ): Promise<T[]> {
    const commands: Command[] = []
    const asked: { group: Group; indexes: number[] }[] = []
    for (const { region, groups, items } of groupByRegion(keys, (key) => key, layout.regionOf)) {
      const found = groups.map((group) => {
        const args: Argument[] = [layout.contents(region, group.viewer, group.business), STATE_FIELD]
        const indexes: number[] = []
        commands.push({ name: 'hmget', args })
        asked.push({ group, indexes })
        return { args, indexes }
      })
      for (const { item, index, place } of items) {
        found[place]?.args.push(packOid(item.oid))
        found[place]?.indexes.push(index)
      }
    }
    const answers = (await connection.send(commands)) as (Buffer | null)[][]
    const contents: T[] = Array.from({ length: keys.length })
    const damage = gatherDamage()
    asked.forEach(({ group, indexes }, at) => {
      const values = answers[at] as (Buffer | null)[]
      const state = stateOf(values[0], group.business)
      indexes.forEach((index, place) => {
        const key = keys[index] as ProgressKey
        try {
          if (state instanceof Error) throw state
          contents[index] = read(recordOf(values[place + 1]), state, key)
        } catch (error) {
          damage.note(key, error)
        }
      })
    })
    damage.throwIfAny()
    return contents
  }

  async function getSettingsMany(viewers: readonly ViewerId[]): Promise<ViewerSettings[]> {
    const commands = viewers.map((viewer) => ({ name: 'hgetall', args: [layout.settings(layout.regionOf(viewer), viewer)] }))
    return (await connection.send(commands)).map(decodeSettings)
  }

  return {
    getSettingsMany,

    getProgressMany: (keys: readonly ProgressKey[]): Promise<HotLookup[]> =>
      getContents(keys, (record, { clearedAt, floor }) => {
        const visible = record !== undefined && !record.deleted && record.viewedAt > clearedAt
        // A tombstone is final. The record store may know more only if nothing is stored here.
        const older = record === undefined && floor !== undefined ? { clearedAt } : undefined
        return { record: visible ? record : undefined, older }
      }),

    readDirtyProgress: (keys: readonly ProgressKey[]): Promise<DirtyProgress[]> => getContents(keys, (record, _, key) => ({ key, record })),

    async listTimeline(
      viewer: ViewerId,
      businesses: readonly BusinessNumber[],
      before: Place | undefined,
      limit: number,
    ): Promise<HotPage> {
      const asked = [...new Set(businesses)]
      if (asked.length === 0) return { entries: [], truncated: [] }
      const region = layout.regionOf(viewer)
      const keys = asked.flatMap((business) => [layout.timeline(region, viewer, business), layout.contents(region, viewer, business)])
      const after = before === undefined ? ['', ''] : [before.viewedAt, packOid(before.oid)]
      const sides = asked.map((business) => (before === undefined ? 0 : Math.sign(business - before.business)))
      const [answer] = await connection.send([scriptCommand(SCRIPTS.listTimeline, keys, [limit, ...after, ...sides])])
      return mergePages(asked, answer as Buffer[][], limit)
    },

    async listChanges(viewer: ViewerId, businesses: readonly BusinessNumber[], sinceVersion: number): Promise<KeyChange[]> {
      const asked = [...new Set(businesses)]
      if (asked.length === 0) return []
      const keys = asked.map((business) => layout.contents(layout.regionOf(viewer), viewer, business))
      const [pages] = (await connection.send([scriptCommand(SCRIPTS.listChanges, keys, [sinceVersion])])) as [Buffer[][]]
      const changes: KeyChange[] = []
      asked.forEach((business, at) => {
        const values = pages[at] as Buffer[]
        for (let place = 0; place + 1 < values.length; place += 2) {
          const record = decodeRecord(values[place + 1] as Buffer)
          const oid = unpackId(values[place] as Buffer, 0)
          changes.push({ kind: record.deleted ? 'deleted' : 'put', viewer, business, oid, record })
        }
      })
      return changes.sort((a, b) => a.record.version - b.record.version)
    },
  }
}

function recordOf(value: Buffer | null | undefined): ProgressRecord | undefined {
  return value === null || value === undefined ? undefined : decodeRecord(value)
}

/** The script that clears dirty marks reads the state too, and would fail for all keys of its region. */
function stateOf(value: Buffer | null | undefined, business: BusinessNumber): TimelineState | Error {
  try {
    return decodeState(value, business)
  } catch (error) {
    return error as Error
  }
}

function mergePages(businesses: readonly BusinessNumber[], pages: readonly Buffer[][], limit: number): HotPage {
  const entries: TimelineEntry[] = []
  const truncated: HotPage['truncated'] = []
  businesses.forEach((business, at) => {
    const [stateValue, ...values] = pages[at] as [Buffer, ...Buffer[]]
    const { clearedAt, floor } = decodeState(stateValue.length === 0 ? undefined : stateValue, business)
    if (floor !== undefined) truncated.push({ business, floor, clearedAt })
    for (let place = 0; place + 1 < values.length; place += 2) {
      const value = values[place + 1] as Buffer
      if (value.length > 0) entries.push({ business, oid: unpackId(values[place] as Buffer, 0), record: decodeRecord(value) })
    }
  })
  if (businesses.length > 1) entries.sort((a, b) => comparePlaces(placeOf(a), placeOf(b)))
  return { entries: entries.slice(0, limit), truncated }
}

function placeOf({ business, oid, record }: TimelineEntry): Place {
  return { viewedAt: record.viewedAt, business, oid }
}
