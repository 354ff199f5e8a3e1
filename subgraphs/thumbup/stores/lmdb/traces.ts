/** The traces of a viewer in the tables of marks on LMDB. */
import { FOLLOW_BUSINESS } from '../../../../config/feed.ts'
import type { BusinessNumber, MarkKey, Subject, ViewerId } from '../../../../core/domain.ts'
import type { Traces } from '../../../../core/erasure/traces.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { visitAll } from '../../../../stores/lmdb/scan.ts'
import { makeLmdbTraces, rangeOf } from '../../../../stores/lmdb/traces.ts'
import { STATS, plainKey } from '../../../../stores/lmdb/viewer-keys.ts'
import { decodeCountEvent, decodeMarkEvent } from '../event-codec.ts'
import type { MarkRecordTraces, MarkTraces, UndoneMarks } from '../traces.ts'
import { COUNTS, LIKERS, OWNERS, cacheKey, decodeLikers } from './count-values.ts'
import { dropUndone } from './persist.ts'
import { removeShelf } from './purge.ts'
import { archiveRows, purgeRows } from './records/archive.ts'
import { COVERED, ROW, kindOfKey, kindRange, makeMarkShelf, otherIdOf, otherKey, plainMarkKey, readRowKey } from './records/keys.ts'
import { openMarkTables as openRecordTables, readCounts, readRow, type MarkTables } from './records/tables.ts'
import { decodeRow, encodeCounts } from './records/values.ts'
import { beginMarks, markShelf, openMarkTables, settleMarks } from './work.ts'

const ALL_AGES = Number.POSITIVE_INFINITY

export function openMarkTraces(environment: Environment): MarkTraces {
  return {
    hot: hotTraces(environment),
    cache: cacheTraces(environment),
    records: recordTraces(environment),
  }
}

/** The outgoing events of the viewer. In the business of follows, a subject is a viewer too. */
export function openMarkEventTraces(environment: Environment): Traces {
  const isUser = ({ business, oid }: Subject, viewer: ViewerId): boolean => business === FOLLOW_BUSINESS && oid === viewer
  return makeLmdbTraces(
    environment,
    (task) => failingAs('LOG_UNAVAILABLE', environment.folder, task),
    [],
    [
      {
        table: environment.table('mark-events'),
        isOf({ value }, viewer) {
          const event = decodeMarkEvent(value)
          return event.viewer === viewer || isUser(event, viewer)
        },
      },
      { table: environment.table('count-events'), isOf: ({ value }, viewer) => isUser(decodeCountEvent(value), viewer) },
    ],
  )
}

function hotTraces(environment: Environment): MarkTraces['hot'] {
  const tables = openMarkTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)
  return {
    forget: (viewer, business) =>
      calling(() =>
        environment.writeToFree(() => {
          const work = beginMarks(tables, environment.regions)
          const removed = removeShelf(work, markShelf(work, { viewer, business }))
          settleMarks(work)
          return removed
        }),
      ),
    count: (viewer, business) =>
      calling(() =>
        environment.read(() => {
          const shelf = markShelf(beginMarks(tables, environment.regions), { viewer, business })
          return shelf.stored ? [...tables.marks.getKeys(rangeOf(Buffer.from(plainKey(shelf, STATS).subarray(0, shelf.kindAt))))].length : 0
        }),
      ),
    async dropUndone(keys, undoneBefore) {
      await calling(() =>
        environment.writeToFree(() => {
          const work = beginMarks(tables, environment.regions)
          dropUndone(work, keys, undoneBefore)
          settleMarks(work)
        }),
      )
    },
  }
}

function cacheTraces(environment: Environment): MarkTraces['cache'] {
  const table = environment.table('count-cache')
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)
  const removeAll = (keys: readonly Buffer[]): Promise<number> =>
    calling(() =>
      environment.writeToFree(() => {
        const held = keys.filter((key) => table.doesExist(key))
        for (const key of held) void table.remove(key)
        return held.length
      }),
    )

  /** Cached lists of likers that have the viewer, of any subject. */
  async function listsWith(viewer: ViewerId, business: BusinessNumber): Promise<Buffer[]> {
    const found: Buffer[] = []
    await visitAll(environment, table, ({ key, value }) => {
      if (key[2] !== LIKERS || key.readUInt16BE(0) !== business) return
      if (decodeLikers(value, value.length).entries.some(({ id }) => id === viewer)) found.push(Buffer.from(key))
    })
    return found
  }

  return {
    async forgetLikers(subjects) {
      await removeAll(subjects.map(({ business, oid }) => cacheKey(LIKERS, business, oid)))
    },
    forgetOwner: async (business, owner) => removeAll([cacheKey(OWNERS, business, owner), ...(await listsWith(owner, business))]),
    forgetSubject: ({ business, oid }) => removeAll([COUNTS, LIKERS].map((kind) => cacheKey(kind, business, oid))),
    async count(viewer, business) {
      const isOwner = environment.read(() => table.doesExist(cacheKey(OWNERS, business, viewer)))
      return Number(isOwner) + (await listsWith(viewer, business)).length
    },
  }
}

function recordTraces(environment: Environment): MarkRecordTraces {
  const tables = openRecordTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)
  const ownedRange = (business: BusinessNumber, owner: ViewerId) => rangeOf(plainMarkKey(business, owner))

  return {
    eraseUndone: (of, upToVersion, limit) =>
      calling(async () => {
        const found = await findUndone(environment, tables, of, upToVersion, limit)
        if (found.length > 0) await environment.writeToFree(() => eraseRows(tables, found))
        return found
      }),
    eraseOwner: (business, owner) =>
      calling(() =>
        environment.writeToFree(() => {
          const owned = Array.from(tables.owned.getKeys(ownedRange(business, owner)), (key) => Buffer.from(key))
          for (const key of owned) {
            const oid = otherIdOf(makeMarkShelf(business, owner), key)
            const { counts } = readCounts(tables, { business, oid })
            void tables.counts.put(plainMarkKey(business, oid), encodeCounts({ counts, owner: undefined }))
            void tables.owned.remove(key)
          }
          return owned.length + removeIfThere(tables.owners, plainMarkKey(business, owner))
        }),
      ),
    eraseCounts: (subject) =>
      calling(() =>
        environment.writeToFree(() => {
          const { counts } = readCounts(tables, subject)
          return counts.likes + counts.dislikes > 0 ? 0 : removeIfThere(tables.counts, plainMarkKey(subject.business, subject.oid))
        }),
      ),
    count: (viewer, business) =>
      calling(() =>
        environment.read(
          () =>
            keysIn(tables.likes, rangeOf(plainMarkKey(business, viewer))) +
            keysIn(tables.owned, ownedRange(business, viewer)) +
            Number(tables.owners.doesExist(plainMarkKey(business, viewer))),
        ),
      ),
    countSubject: ({ business, oid }) =>
      calling(async () => {
        const undone = await findUndone(environment, tables, { business, oid }, ALL_AGES, ALL_AGES)
        return environment.read(
          () =>
            keysIn(tables.likers, rangeOf(plainMarkKey(business, oid))) +
            Number(tables.counts.doesExist(plainMarkKey(business, oid))) +
            undone.length,
        )
      }),
  }
}

function keysIn(table: Bytes, range: { start: Buffer; end: Buffer }): number {
  return [...table.getKeys(range)].length
}

function removeIfThere(table: Bytes, key: Buffer): number {
  if (!table.doesExist(key)) return 0
  void table.remove(key)
  return 1
}

/** Tombstones are in no list of their subject. To find those of a subject, all rows are visited. */
async function findUndone(
  environment: Environment,
  tables: MarkTables,
  of: UndoneMarks,
  upToVersion: number,
  limit: number,
): Promise<MarkKey[]> {
  const { business } = of
  const isUndone = (value: Buffer): boolean => {
    const { record } = decodeRow(value)
    return record.mark === 'NONE' && record.version <= upToVersion
  }
  if ('viewer' in of) {
    const { viewer } = of
    const shelf = makeMarkShelf(business, viewer)
    return environment.read(() =>
      Array.from(tables.likes.getRange(kindRange(shelf, ROW)), ({ key, value }) => (isUndone(value) ? otherIdOf(shelf, key) : undefined))
        .filter((oid) => oid !== undefined)
        .slice(0, limit)
        .map((oid) => ({ viewer, business, oid })),
    )
  }
  const found: MarkKey[] = []
  await visitAll(environment, tables.likes, ({ key, value }) => {
    if (key.readUInt16BE(0) !== business || kindOfKey(key) !== ROW || found.length >= limit) return
    const row = readRowKey(key)
    if (row.oid === of.oid && isUndone(value)) found.push(row)
  })
  return found
}

/** First the archived marks that the tombstones cover leave their blocks, then the tombstones go. */
function eraseRows(tables: MarkTables, keys: readonly MarkKey[]): void {
  const covering = keys.filter((key) => readRow(tables, makeMarkShelf(key.business, key.viewer), key.oid)?.covers !== 'NONE')
  const covered = covering.map(({ viewer, business, oid }) => Buffer.from(otherKey(makeMarkShelf(business, oid), COVERED, viewer)))
  archiveRows(tables, covered, ALL_AGES)
  purgeRows(
    tables,
    keys.map(({ viewer, business, oid }) => Buffer.from(otherKey(makeMarkShelf(business, viewer), ROW, oid))),
    ALL_AGES,
  )
}
