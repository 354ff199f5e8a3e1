/**
 * Forgets a deleted business. Viewers come first in keys, so a walk over the whole table finds those of the business. Each is removed
 * completely, with their lists and indexes. A viewer who gets marks behind the walk is found by the next walk.
 */
import type { BusinessNumber } from '../../../../core/domain.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { decodeHeldMark } from './values.ts'
import { beginMarks, markShelf, replaceMark, settleMarks, type MarkShelf, type MarkTables, type MarkWork } from './work.ts'
import { makeFinder, visitAll } from '../../../../stores/lmdb/scan.ts'
import { STATS, oidOfRecordKey, plainKey, readViewerKey, recordRange } from '../../../../stores/lmdb/viewer-keys.ts'

/** Makes `forgetBusiness` of the port. */
export function makeMarkForgetting(environment: Environment, tables: MarkTables) {
  const find = makeFinder(environment, tables.marks, ({ key }, business) => {
    const found = readViewerKey(key)
    return found.kind === STATS && found.business === business
  })

  return async (business: BusinessNumber, limit: number): Promise<number> => {
    for (;;) {
      const found = await find(business, limit)
      if (found.length === 0) return 0
      const gone = await environment.writeToFree(() => {
        const work = beginMarks(tables, environment.regions)
        const removed = found.reduce((sum, key) => sum + removeShelf(work, markShelf(work, readViewerKey(key))), 0)
        settleMarks(work)
        return removed
      })
      if (gone > 0) return gone
    }
  }
}

export async function countViewers(environment: Environment, tables: MarkTables, business: BusinessNumber): Promise<number> {
  let viewers = 0
  await visitAll(environment, tables.marks, ({ key }) => {
    const found = readViewerKey(key)
    if (found.kind === STATS && found.business === business) viewers += 1
  })
  return viewers
}

/** Returns the number of removed keys: the marks, and their common state. */
export function removeShelf(work: MarkWork, shelf: MarkShelf): number {
  if (!shelf.stored) return 0
  const held = Array.from(work.tables.marks.getRange(recordRange(shelf)), ({ key, value }) => ({
    oid: oidOfRecordKey(shelf, key),
    mark: decodeHeldMark(value, value.length),
  }))
  for (const { oid, mark } of held) replaceMark(work, shelf, oid, mark, undefined)
  void work.tables.marks.remove(plainKey(shelf, STATS))
  shelf.stateChanged = false
  return held.length + 1
}
