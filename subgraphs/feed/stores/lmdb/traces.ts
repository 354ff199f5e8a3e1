/** The traces of a viewer in the tables of the feed and of counters on LMDB. */
import type { ViewerId } from '../../../../core/domain.ts'
import { packedIdOf, unpackId } from '../../../../core/keys.ts'
import { keyOfMark } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { visitAll } from '../../../../stores/lmdb/scan.ts'
import { makeLmdbTraces, rangeOf } from '../../../../stores/lmdb/traces.ts'
import { dirtyKeyOf } from '../../model/dirty-keys.ts'
import type { CounterSchemas } from '../../model/counts.ts'
import { decodePost } from '../../model/post-codec.ts'
import { USERS } from '../../model/post-events.ts'
import type { PostId } from '../../packed/post-id.ts'
import type { FeedHotTraces, FeedRecordTraces, FeedTraces } from '../traces.ts'
import { subjectKey } from './counters/counter-records.ts'
import { openTotals } from './counters/totals.ts'
import { plainKey, postKey as hotPostKey, WORDS } from './keys.ts'
import { deletedKey, openFeedRecordTables, postKey } from './records/keys.ts'
import { decodeHeldPost } from './values.ts'
import { beginFeed, openFeedTables, readPost, replacePost } from './work.ts'

const byViewer = (viewer: string) => [rangeOf(packedIdOf(viewer))]

export function openFeedTraces(environment: Environment, schemas: CounterSchemas): FeedTraces {
  return {
    hot: hotTraces(environment),
    records: recordTraces(environment),
    counters: counterTraces(environment, schemas),
  }
}

function hotTraces(environment: Environment): FeedHotTraces {
  const tables = openFeedTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)

  /** A mark whose contents are there is that of a newer write. */
  function isLost(mark: Buffer): boolean {
    const { viewer, post } = dirtyKeyOf(keyOfMark(mark))
    return post === undefined ? !tables.viewers.doesExist(plainKey(WORDS, viewer)) : !tables.posts.doesExist(hotPostKey(post))
  }

  const lists = makeLmdbTraces(
    environment,
    calling,
    [
      { table: tables.viewers, rangesOf: byViewer },
      { table: environment.table('longsets'), rangesOf: byViewer },
    ],
    [{ table: tables.dirty, isOf: ({ key }, viewer) => keyOfMark(key).viewer === viewer, mayRemove: isLost }],
  )

  async function postsOf(author: ViewerId): Promise<PostId[]> {
    const found: PostId[] = []
    await visitAll(environment, tables.posts, ({ key, value }) => {
      const id = unpackId(key, 0)
      if (decodeHeldPost(id, value, value.length).content.author === author) found.push(id)
    })
    return found
  }

  return {
    async erase(viewer) {
      const found = await postsOf(viewer)
      const removed = await calling(() =>
        environment.writeToFree(() => {
          const work = beginFeed(tables, environment.regions)
          const deleted = found.flatMap((id) => {
            const held = readPost(work, id)
            return held?.content.deleted === true ? [{ id, held }] : []
          })
          for (const { id, held } of deleted) replacePost(work, id, held, undefined)
          return deleted.length
        }),
      )
      // Otherwise the lists have newer posts.
      return removed === found.length ? removed + (await lists.erase(viewer, 0)) : removed
    },
    count: async (viewer) => (await postsOf(viewer)).length + (await lists.count(viewer)),
  }
}

function recordTraces(environment: Environment): FeedRecordTraces {
  const tables = openFeedRecordTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)
  const words = makeLmdbTraces(environment, calling, [{ table: tables.words, rangesOf: byViewer }])
  const lists = makeLmdbTraces(environment, calling, [
    { table: tables.outboxes, rangesOf: byViewer },
    { table: tables.inboxes, rangesOf: byViewer },
  ])

  const listPostIds = (author: ViewerId): Promise<PostId[]> =>
    calling(async () => {
      const found: PostId[] = []
      await visitAll(environment, tables.posts, ({ key, value }) => {
        const id = unpackId(key, 0)
        if (decodePost(id, value).author === author) found.push(id)
      })
      return found
    })

  return {
    listPostIds,
    async erase(viewer) {
      const ids = await listPostIds(viewer)
      const removed = await calling(() =>
        environment.writeToFree(() => {
          const deleted = ids.flatMap((id) => {
            const value = tables.posts.getBinary(postKey(id))
            const post = value && decodePost(id, value)
            return post?.deleted === true ? [post] : []
          })
          for (const { id, version } of deleted) {
            void tables.posts.remove(postKey(id))
            void tables.deleted.remove(deletedKey(version, id))
          }
          return deleted.length
        }),
      )
      return removed + (await words.erase(viewer, 0))
    },
    count: async (viewer) => (await listPostIds(viewer)).length + (await words.count(viewer)) + (await lists.count(viewer)),
  }
}

function counterTraces(environment: Environment, schemas: CounterSchemas): FeedTraces['counters'] {
  const totals = openTotals(environment, schemas)
  const [counts, records] = [environment.table('feed-counts'), environment.table('feed-count-records')]
  const keyOf = (viewer: ViewerId): Buffer => subjectKey({ business: USERS, oid: viewer })
  const isUser = (key: Buffer, viewer: ViewerId): boolean => {
    const mark = keyOfMark(key)
    return mark.viewer === viewer && mark.business === USERS
  }
  const callingHot = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)
  const dirty = makeLmdbTraces(
    environment,
    callingHot,
    [],
    [
      {
        table: totals.dirty,
        isOf: ({ key }, viewer) => isUser(key, viewer),
        mayRemove: (key) => !counts.doesExist(keyOf(keyOfMark(key).viewer)),
      },
    ],
  )

  function isZero(viewer: ViewerId): boolean {
    const subject = { business: USERS, oid: viewer }
    const held = totals.read(subject)
    return held !== undefined && Object.values(totals.schemaOf(subject).unpack(held.packed)).every((count) => count === 0)
  }

  return {
    hot: {
      async erase(viewer) {
        const removed = await callingHot(() =>
          environment.writeToFree(() => {
            if (!isZero(viewer)) return 0
            void counts.remove(keyOf(viewer))
            return 1
          }),
        )
        return removed + (await dirty.erase(viewer, 0))
      },
      count: async (viewer) => Number(environment.read(() => counts.doesExist(keyOf(viewer)))) + (await dirty.count(viewer)),
    },
    records: {
      erase: (viewer) =>
        failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, () =>
          environment.writeToFree((): number => {
            const value = records.getBinary(keyOf(viewer))
            // The version (8 bytes), and the counts that are not 0 as JSON.
            if (value === undefined || value.toString('utf8', 8) !== '{}') return 0
            void records.remove(keyOf(viewer))
            return 1
          }),
        ),
      count: (viewer) =>
        failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, () => environment.read(() => Number(records.doesExist(keyOf(viewer))))),
    },
  }
}
