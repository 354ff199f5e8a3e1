/**
 * The mark store on LMDB. Each port call is one transaction over all its viewers, more than the port's atomicity per region. Calls of one
 * event turn share a commit. environment.ts describes durability, keys.ts the layout, and work.ts the states of the port.
 *
 * A file never evicts marks: a viewer's marks become unknown again only when their business is forgotten.
 */
import type { BusinessNumber, MarkPlace, ViewerId } from '../../../../core/domain.ts'
import type { HotLikes, HotMark, MarkStore } from '../hot-store.ts'
import { listMarks } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { clearDirtyMarks, dropUndone } from './persist.ts'
import { countViewers, makeMarkForgetting } from './purge.ts'
import { LIKES, listRange, placeOfListKey } from './keys.ts'
import { fillMarks, putMarks } from './put.ts'
import { lastVersion } from '../../../../stores/lmdb/version-counter.ts'
import { beginMarks, markShelf, openMarkTables, readMark, settleMarks, type MarkWork } from './work.ts'
import { countEntries } from '../../../../stores/lmdb/scan.ts'

/** The environment stays open when the store is closed: others may use it. */
export function openLmdbMarkStore(environment: Environment): MarkStore {
  const tables = openMarkTables(environment)
  const forget = makeMarkForgetting(environment, tables)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)

  const inWork =
    <T>(action: (work: MarkWork) => T) =>
    (): T => {
      const work = beginMarks(tables, environment.regions)
      const result = action(work)
      settleMarks(work)
      return result
    }
  const writing = <T>(action: (work: MarkWork) => T): Promise<T> => calling(() => environment.write(inWork(action)))
  const freeing = <T>(action: (work: MarkWork) => T): Promise<T> => calling(() => environment.writeToFree(inWork(action)))
  const reading = <T>(action: (work: MarkWork) => T): Promise<T> =>
    calling(() => environment.read(() => action(beginMarks(tables, environment.regions))))

  return {
    putMarks: async (writes, options) => (writes.length === 0 ? [] : writing((work) => putMarks(work, writes, options))),
    getMarkMany: (keys) => reading((work) => keys.map((key) => lookUp(work, key))),
    listLikes: (viewer, business, before, limit) => reading((work) => listLikes(work, { viewer, business }, before, limit)),

    beginReads: (owners) =>
      reading((work) => owners.map((owner) => ({ unknown: !markShelf(work, owner).state.known, asOf: lastVersion(work.versions) }))),
    fillMarks: (viewer, business, rows, options) => writing((work) => fillMarks(work, { viewer, business }, rows, options)),

    readDirtyMarks: (keys) =>
      reading((work) => keys.map((key) => ({ key, record: readMark(work, markShelf(work, key), key.oid)?.record }))),
    async clearDirtyMarks(persisted, cap) {
      if (persisted.length > 0) await freeing((work) => clearDirtyMarks(work, persisted, cap))
    },
    /** One transaction writes and removes a dirty mark together with its mark, so no dirty mark here has lost its mark. */
    dropDirtyMarks: () => Promise.resolve(),
    listDirtyMarks: (regions, dirtyBefore, limit, walk) => reading(() => listMarks(tables.dirty, regions, dirtyBefore, limit, walk)),
    countDirtyMarks: () => reading(() => countEntries(tables.dirty)),

    async purgeUndone(regions, undoneBefore, limit) {
      for (;;) {
        const found = await reading(() => listMarks(tables.undone, regions, undoneBefore, limit))
        if (found.length === 0) return 0
        const gone = await freeing((work) => dropUndone(work, found, undoneBefore))
        if (gone > 0) return gone
      }
    },
    forgetBusiness: (business, limit) => calling(() => forget(business, limit)),
    countViewers: (business) => calling(() => countViewers(environment, tables, business)),

    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}

function lookUp(work: MarkWork, key: { viewer: ViewerId; business: BusinessNumber; oid: string }): HotMark {
  const shelf = markShelf(work, key)
  const held = readMark(work, shelf, key.oid)
  if (held !== undefined) {
    const { record, counted, dirtySince } = held
    const mark: HotMark = { mark: record.mark, counted, pending: dirtySince > 0 }
    return record.mark === 'NONE' ? { ...mark, undone: true } : mark
  }
  if (!shelf.state.known) return { mark: 'NONE', counted: 'NONE', pending: false, older: 'unknown' }
  const miss: HotMark = { mark: 'NONE', counted: 'NONE', pending: false }
  return shelf.state.floor === undefined ? miss : { ...miss, older: 'truncated' }
}

function listLikes(
  work: MarkWork,
  owner: { viewer: ViewerId; business: BusinessNumber },
  before: MarkPlace | undefined,
  limit: number,
): HotLikes {
  const shelf = markShelf(work, owner)
  const { known, floor } = shelf.state
  const keys = limit > 0 ? work.tables.marks.getKeys({ ...listRange(shelf, LIKES, before), limit }) : []
  return { entries: Array.from(keys, (key) => placeOfListKey(shelf, key)), floor: known ? floor : null }
}
