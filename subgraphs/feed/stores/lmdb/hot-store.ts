/**
 * The feed's hot store on LMDB. Each port call is one transaction over all its regions, more than the port's atomicity per region. Calls of
 * one turn of the event loop share a commit. environment.ts describes durability, keys.ts the layout.
 */
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { listMarks } from '../../../../stores/lmdb/dirty-marks.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { countEntries } from '../../../../stores/lmdb/scan.ts'
import { dirtyKeyOf } from '../../model/dirty-keys.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, isPostId } from '../../packed/post-id.ts'
import type { FeedHotStore } from '../hot-store.ts'
import { clearDirty, readDirty } from './persist.ts'
import { purgeOld } from './purge.ts'
import { changeInboxes, deletePost, noteChange, publish, removeFromAudience, setWords } from './put.ts'
import { listChanges, readInbox, readOutbox } from './read.ts'
import { beginFeed, openFeedTables, readPost, readWords, settleFeed, type FeedWork } from './work.ts'

/** The environment stays open when the store is closed: others may use it. */
export function openLmdbFeedStore(environment: Environment): FeedHotStore {
  const tables = openFeedTables(environment)
  const { regions } = environment
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)

  const inWork =
    <T>(action: (work: FeedWork) => T) =>
    (): T => {
      const work = beginFeed(tables, regions)
      const result = action(work)
      settleFeed(work)
      return result
    }
  const writing = <T>(action: (work: FeedWork) => T): Promise<T> => calling(() => environment.write(inWork(action)))
  const freeing = <T>(action: (work: FeedWork) => T): Promise<T> => calling(() => environment.writeToFree(inWork(action)))
  const reading = <T>(action: (work: FeedWork) => T): Promise<T> =>
    calling(() => environment.read(() => action(beginFeed(tables, regions))))

  return {
    publish: (draft, options) => writing((work) => publish(work, draft, options)),
    async addToInboxes(id, viewers, options) {
      if (viewers.length > 0) await writing((work) => changeInboxes(work, id, viewers, false, options))
    },
    async removeFromInboxes(id, viewers, options) {
      if (viewers.length > 0) await writing((work) => changeInboxes(work, id, viewers, true, options))
    },
    delete: (post, options) => writing((work) => deletePost(work, post, options)),
    removeFromAudience: (post, viewer, options) => writing((work) => removeFromAudience(work, post, viewer, options)),
    setWords: (viewer, words, options) => writing((work) => setWords(work, viewer, words, options)),
    noteChange: (viewer, key, options) => writing((work) => noteChange(work, viewer, key, options)),

    getWords: (viewer) => reading((work) => readWords(work, viewer)?.content),
    getPostMany: (ids) => reading((work) => ids.map((id) => (isPostId(id, regions) ? readPost(work, id)?.content : undefined))),
    getOutboxMany: (authors, part) => reading((work) => authors.map((author) => readOutbox(work, author, part))),
    getInboxMany: (viewers, part) => reading((work) => viewers.map((viewer) => readInbox(work, viewer, part))),
    listChanges: (since) => reading((work) => listChanges(work, since)),

    readDirty: (keys) => reading((work) => keys.map((key) => readDirty(work, key))),
    async clearDirty(keys) {
      if (keys.length > 0) await freeing((work) => clearDirty(work, keys))
    },
    /** One transaction writes and removes a dirty mark together with its contents, so no mark here lacks them. */
    dropDirty: () => Promise.resolve(),
    listDirty: (some, dirtyBefore, limit, walk) => reading(() => listMarks(tables.dirty, some, dirtyBefore, limit, walk).map(dirtyKeyOf)),
    countDirty: () => reading(() => countEntries(tables.dirty)),

    purgeOld: (some, changedBefore, limit) =>
      freeing((work) => purgeOld(work, some, (changedBefore - POST_EPOCH_MS) * TICKS_PER_MS, limit)),

    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}
