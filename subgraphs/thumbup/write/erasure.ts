/**
 * Erases the marks of a viewer from the stores. The hot store forgets them first, so that no later flush has their contents. In the record
 * store each live mark becomes NONE in the transaction that changes the counts, so counts stay the number of rows. Caches and consumers of
 * events learn of it as of any undone mark. Then the tombstones go, with the archived marks that they cover.
 *
 * A persist step that read a mark before the hot store forgot it may write the mark again. The next pass finds it.
 */
import type { BusinessNumber, MarkKey, Subject, ViewerId } from '../../../core/domain.ts'
import type { Traces } from '../../../core/erasure/traces.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import { publish, refreshCaches, type MarkPersistStores } from '../persist/persist.ts'
import { pagesOfOutbox, publishOutbox } from '../persist/outbox.ts'
import type { MarkTraces } from '../stores/traces.ts'

/** A version is milliseconds times this number, plus a count. */
const VERSION_UNIT = 1_024
const MARKS_PER_STEP = 500

export type MarkErasureOptions = {
  /** The businesses with marks in these stores. */
  businesses: readonly BusinessNumber[]
  /** Of these, the business whose subjects are viewers. Undefined: there is none. */
  follows: BusinessNumber | undefined
}

export type MarkErasure = {
  hot: Traces
  records: Traces
  /** Changes that wait to be published. They have the viewer until the log has taken them. */
  outbox: Traces
}

export function makeMarkErasure(stores: MarkPersistStores, traces: MarkTraces, { businesses, follows }: MarkErasureOptions): MarkErasure {
  const { records } = stores
  const hasViewer = (transitions: readonly { key: MarkKey }[], viewer: ViewerId) =>
    transitions.some(({ key }) => isOf(key, viewer, follows))
  const userOf = (viewer: ViewerId): Subject[] => (follows === undefined ? [] : [{ business: follows, oid: viewer }])

  async function undoMarks(viewer: ViewerId, business: BusinessNumber, upToVersion: number): Promise<number> {
    let undone = 0
    for (let before: { markedAt: number; id: string } | undefined; ;) {
      const page = await records.listMarks(viewer, business, ['LIKE', 'DISLIKE'], before, MARKS_PER_STEP)
      const last = page.at(-1)
      if (last === undefined) return undone
      before = { markedAt: last.markedAt, id: last.oid }
      const rows = page
        .filter(({ version }) => version <= upToVersion)
        .map(({ oid, markedAt, version }) => ({
          key: { viewer, business, oid },
          record: { mark: 'NONE' as const, markedAt, version: Math.max(version + 1, upToVersion) },
        }))
      if (rows.length === 0) continue
      const { changes } = await records.applyMarks(rows, [])
      await traces.cache.forgetLikers(rows.map(({ key }) => key))
      if (changes === undefined) continue
      undone += changes.transitions.length
      await refreshCaches(stores.cache, [changes])
      await publishUnlessDown(async () => publish(stores, [changes]))
    }
  }

  /** Returns the number of removed tombstones. */
  async function eraseUndone(of: Parameters<typeof traces.records.eraseUndone>[0], upToVersion: number): Promise<number> {
    let erased = 0
    for (let keys: MarkKey[] | undefined; keys === undefined || keys.length > 0; erased += keys.length) {
      keys = await traces.records.eraseUndone(of, upToVersion + 1, MARKS_PER_STEP)
      // Those of the viewer are gone from the hot store. Those of others are not.
      if ('oid' in of) await traces.hot.dropUndone(keys, Math.ceil(upToVersion / VERSION_UNIT))
    }
    return erased
  }

  return {
    hot: {
      async erase(viewer) {
        let removed = 0
        for (const business of businesses) {
          removed += await traces.hot.forget(viewer, business)
          removed += await traces.cache.forgetOwner(business, viewer)
        }
        return removed
      },
      async count(viewer) {
        let found = 0
        for (const business of businesses)
          found += (await traces.hot.count(viewer, business)) + (await traces.cache.count(viewer, business))
        return found
      },
    },
    records: {
      async erase(viewer, upTo) {
        const upToVersion = upTo * VERSION_UNIT
        let removed = 0
        for (const business of businesses) {
          await undoMarks(viewer, business, upToVersion)
          removed += await eraseUndone({ business, viewer }, upToVersion)
          removed += await traces.records.eraseOwner(business, viewer)
        }
        for (const user of userOf(viewer)) {
          removed += await eraseUndone(user, upToVersion)
          const erased = await traces.records.eraseCounts(user)
          if (erased > 0) await traces.cache.forgetSubject(user)
          removed += erased
        }
        return removed
      },
      async count(viewer) {
        let found = 0
        for (const business of businesses) found += await traces.records.count(viewer, business)
        for (const user of userOf(viewer)) found += await traces.records.countSubject(user)
        return found
      },
    },
    outbox: {
      erase: (viewer) => publishOutbox(stores, ({ transitions }) => hasViewer(transitions, viewer)),
      async count(viewer) {
        let found = 0
        for await (const page of pagesOfOutbox(records)) found += page.filter(({ transitions }) => hasViewer(transitions, viewer)).length
        return found
      },
    },
  }
}

/** In the business of follows, the viewer may also be the subject. */
function isOf({ viewer, business, oid }: MarkKey, wanted: ViewerId, follows: BusinessNumber | undefined): boolean {
  return viewer === wanted || (business === follows && oid === wanted)
}

/** The outbox keeps what the log does not take. */
async function publishUnlessDown(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!saysDown(error, 'log')) throw error
  }
}
