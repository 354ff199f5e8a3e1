import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PartOutage } from '../../../../core/outage/part-outage.ts'
import { regionOf } from '../../../../core/regions.ts'
import { makeFeedStoreModel } from '../../../../harness/models/feed/hot-store-model.ts'
import { makeFeedRecordsState, openModelFeedRecords } from '../../../../harness/models/feed/record-store-model.ts'
import { openEnvironment, type Environment } from '../../../../stores/lmdb/environment.ts'
import type { DirtyKey } from '../../../../subgraphs/feed/model/dirty-keys.ts'
import type { Post, PostDraft } from '../../../../subgraphs/feed/model/post.ts'
import { openLmdbFeedStore } from '../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { openLmdbFeedRecords } from '../../../../subgraphs/feed/stores/lmdb/record-store.ts'
import {
  KEEP_MS,
  NOW,
  POSTS,
  REGIONS,
  around,
  expectPersisted,
  lost,
  makeCounted,
  persist,
  persistAll,
  publish,
  remove,
  type Counted,
  type Stores,
} from './persisted-feed.ts'

const PEOPLE = ['7', 'ann', '107', '8', '9']

function draft(author: string, fields: Partial<PostDraft> = {}): PostDraft {
  return { author, text: 'hello', media: [], source: undefined, audience: undefined, clientKey: `${author}-${++drafts}`, ...fields }
}
let drafts = 0

const keyOf = ({ author, id }: Post): DirtyKey => ({ viewer: author, post: id })

function modelStores(counted: Counted): Stores {
  return { hot: makeFeedStoreModel(REGIONS), records: openModelFeedRecords(makeFeedRecordsState()), adjust: counted.adjust }
}

describe('the persist step of the feed, on the real embedded stores', () => {
  let folder: string
  let environment: Environment
  let stores: Stores
  let counted: Counted
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-feed-persist-'))
    environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 1 })
    counted = makeCounted()
    stores = { hot: openLmdbFeedStore(environment), records: openLmdbFeedRecords(environment), adjust: counted.adjust }
  })
  afterEach(async () => {
    await environment.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Posts of all kinds, whose processes died after their first step. */
  async function someDeaths(): Promise<{ ids: string[]; keys: DirtyKey[] }> {
    const source = (await publish(stores, draft('7'))) as Post
    const posts = [
      source,
      await publish(stores, draft('ann', { source: source.id }), 1),
      await publish(stores, draft('8', { audience: ['7', '9', '8'] }), 1),
      await publish(stores, draft('8', { audience: ['9', 'ann'] })),
      await publish(stores, draft('9', { source: source.id })),
      await publish(stores, draft('9', { source: source.id }), 1),
    ] as Post[]
    await remove(stores, posts[3] as Post, 1)
    await remove(stores, posts[4] as Post, 1)
    await remove(stores, posts[5] as Post, 1)
    await stores.hot.setWords('7', ['spoiler'], { now: NOW, keepMs: KEEP_MS })
    return { ids: posts.map(({ id }) => id), keys: [...posts.map(keyOf), { viewer: '7', post: undefined }] }
  }

  it('the deletion of a share that no process counted takes nothing from another share', async () => {
    const source = (await publish(stores, draft('7'))) as Post
    const uncounted = (await publish(stores, draft('8', { source: source.id }), 1)) as Post
    const other = (await publish(stores, draft('9', { source: source.id }))) as Post
    await remove(stores, uncounted)
    expect(counted.total(POSTS, source.id, 'repost')).toBe(1)
    await remove(stores, other)
    await persistAll(stores)
    await expectPersisted(stores, counted, [source.id, uncounted.id, other.id], PEOPLE)
  })

  it('completes what the dead processes left out, and clears all marks', async () => {
    const { ids, keys } = await someDeaths()
    expect(await persist(stores, [...keys, ...keys])).toEqual({ keys: 7, posts: 6, words: 1, missing: 0, left: 0 })
    await expectPersisted(stores, counted, ids, PEOPLE)
  })

  it.each(['before', 'after'] as const)('ends in the same rows, counts and inboxes if it dies %s any of its calls', async (when) => {
    const all: string[] = []
    for (let fatal = 0; ; fatal++) {
      const { ids, keys } = await someDeaths()
      let calls = 0
      const dying = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
        const isFatal = calls++ === fatal
        if (isFatal && when === 'before') throw lost(name)
        const answer = await call()
        if (isFatal) throw lost(name)
        return answer
      }
      const faulty: Stores = {
        hot: around(stores.hot, dying),
        records: around(stores.records, dying),
        adjust: (events) => dying('adjust', () => stores.adjust(events)),
      }
      const died = await persist(faulty, keys).then(
        () => false,
        () => true,
      )
      await persistAll(stores)
      all.push(...ids)
      await expectPersisted(stores, counted, all, PEOPLE)
      if (died) continue
      expect(fatal).toBeGreaterThan(5)
      return
    }
  })

  it('leaves a post dirty that changes between its read and its clearing, and persists the change next time', async () => {
    const post = (await publish(stores, draft('7', { audience: ['9'] }))) as Post
    const hot = around(stores.hot, async (name, call) => {
      if (name === 'clearDirty') await remove(stores, post)
      return call()
    })
    await persist({ ...stores, hot }, [keyOf(post)])
    expect([await stores.hot.countDirty(), (await stores.records.getPostMany([post.id]))[0]?.deleted]).toEqual([1, false])
    await persistAll(stores)
    expect((await stores.records.getPostMany([post.id]))[0]?.deleted).toBe(true)
    await expectPersisted(stores, counted, [post.id], PEOPLE)
  })

  it('an older step that ends late brings neither a deleted post nor its places in inboxes back', async () => {
    const post = (await publish(stores, draft('7', { audience: ['9', '8'] }))) as Post
    let isFirst = true
    const hot = around(stores.hot, async (name, call) => {
      if (name === 'addToInboxes' && isFirst) {
        isFirst = false
        await remove(stores, post)
        await persistAll(stores)
      }
      return call()
    })
    await persist({ ...stores, hot }, [keyOf(post)])
    await expectPersisted(stores, counted, [post.id], PEOPLE)
  })

  it('drops keys without contents', async () => {
    expect(
      await persist(stores, [
        { viewer: '7', post: '99999999999999' },
        { viewer: '8', post: undefined },
      ]),
    ).toMatchObject({ posts: 0, missing: 2 })
  })

  it('counts nothing again an hour later, because counters have forgotten the events by then', async () => {
    const [kept, gone] = [(await publish(stores, draft('7'))) as Post, (await publish(stores, draft('7'))) as Post]
    await remove(stores, gone)
    counted.seen.clear()
    await persist(stores, [keyOf(kept), keyOf(gone)], NOW + 3_600_000)
    await expectPersisted(stores, counted, [kept.id, gone.id], PEOPLE)
  })

  it('takes back an old post once, without counting its publication again', async () => {
    const post = (await publish(stores, draft('7'))) as Post
    await persistAll(stores)
    counted.seen.clear()
    const later = NOW + 5 * 3_600_000
    const tombstone = await stores.hot.delete(post, { now: later, keepMs: KEEP_MS })
    await persist(stores, [keyOf(tombstone)], later)
    await persist(stores, [keyOf(tombstone)], later + 60_000)
    await expectPersisted(stores, counted, [post.id], PEOPLE)
  })

  it('writes posts for a thousand viewers each in transactions of bounded size', async () => {
    const audience = Array.from({ length: 1_000 }, (_, viewer) => String(viewer + 1_000))
    const posts: Post[] = []
    for (let at = 0; at < 12; at++) posts.push((await publish(stores, draft('7', { audience }))) as Post)
    for (let at = 0; at < 50; at++) posts.push((await publish(stores, draft('7'))) as Post)
    const sizes: number[] = []
    const records = {
      ...stores.records,
      putPosts: (some: readonly Post[]) => {
        sizes.push(some.reduce((sum, { audience: viewers = [] }) => sum + 1 + viewers.length, 0))
        return stores.records.putPosts(some)
      },
    }
    await persist({ ...stores, records }, posts.map(keyOf))
    expect(sizes).toHaveLength(3)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000)
    await expectPersisted(
      stores,
      counted,
      posts.map(({ id }) => id),
      [...PEOPLE, '1500'],
    )
  })

  it('while a part of the hot store is out, posts that need it stay dirty, and the others are persisted', async () => {
    const [source, plain, sent] = [
      (await publish(stores, draft('7'))) as Post,
      (await publish(stores, draft('8'))) as Post,
      (await publish(stores, draft('8', { audience: ['7', '9'] }))) as Post,
    ]
    const share = (await publish(stores, draft('8', { source: source.id }), 1)) as Post
    await stores.hot.setWords('8', ['spoiler'], { now: NOW, keepMs: KEEP_MS })
    const keys: DirtyKey[] = [...[source, plain, sent, share].map(keyOf), { viewer: '8', post: undefined }]
    const isOut = (viewer: string): boolean => regionOf(viewer, REGIONS) === 7 || viewer === source.id
    const refusing = (viewers: readonly string[]) => {
      if (viewers.some(isOut)) throw new PartOutage(new Error('a part is out'), isOut)
    }
    const hot = {
      ...stores.hot,
      readDirty: async (some: readonly DirtyKey[]) => {
        refusing(some.map(({ viewer }) => viewer))
        return stores.hot.readDirty(some)
      },
      addToInboxes: async (...[id, viewers, options]: Parameters<typeof stores.hot.addToInboxes>) => {
        refusing(viewers)
        return stores.hot.addToInboxes(id, viewers, options)
      },
    }
    const adjust: Stores['adjust'] = async (events) => {
      const outcomes = await stores.adjust(events.filter(({ subject }) => !isOut(subject.oid)))
      return events.map(({ subject }) => (isOut(subject.oid) ? lost('adjust') : outcomes.at(0)))
    }
    const late: unknown[] = []
    expect(await persist({ ...stores, hot, adjust }, keys, NOW, late)).toEqual({ keys: 5, posts: 1, words: 1, missing: 0, left: 3 })
    expect(late).toHaveLength(3)
    expect(await stores.records.getPostMany([source, plain, sent, share].map(({ id }) => id))).toEqual([
      undefined,
      plain,
      undefined,
      undefined,
    ])
    expect(await stores.hot.countDirty()).toBe(3)
    await persistAll(stores)
    await expectPersisted(
      stores,
      counted,
      [source, plain, sent, share].map(({ id }) => id),
      PEOPLE,
    )
  })
})

describe('the persist step of the feed, in any order', () => {
  const person = fc.constantFrom(...PEOPLE)
  const steps = fc.integer({ min: 1, max: 3 })
  const action = fc.oneof(
    fc.record({
      kind: fc.constant('publish' as const),
      author: person,
      steps,
      to: fc.option(fc.subarray(PEOPLE, { minLength: 1 })),
      share: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('delete' as const), which: fc.nat({ max: 5 }), steps }),
    fc.record({ kind: fc.constant('words' as const) }),
  )

  it('ends in the same rows, counts and inboxes, with clients and steps that overlap and die', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.array(action, { maxLength: 5 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.constantFrom('fine', 'fine', 'fine', 'before', 'after'), { maxLength: 40 }),
        async (scheduler, clients, fates) => {
          const counted = makeCounted()
          const stores = modelStores(counted)
          const published: Post[] = []
          const keys = (): DirtyKey[] => [...published.map(keyOf), { viewer: PEOPLE[0] as string, post: undefined }]
          const source = (await publish(stores, draft('7'))) as Post
          published.push(source)
          const inTurn = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
            await scheduler.schedule(Promise.resolve(), name)
            return call()
          }
          const dying = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
            await scheduler.schedule(Promise.resolve(), name)
            const fate = fates.shift()
            if (fate === 'before') throw lost(name)
            const answer = await call()
            if (fate === 'after') throw lost(name)
            return answer
          }
          const through = (run: typeof inTurn): Stores => ({
            hot: around(stores.hot, run),
            records: around(stores.records, run),
            adjust: (events) => run('adjust', () => stores.adjust(events)),
          })
          const [calm, faulty] = [through(inTurn), through(dying)]

          async function live(actions: (typeof clients)[number]): Promise<void> {
            for (const one of actions) {
              if (one.kind === 'words')
                await calm.hot.setWords(PEOPLE[0] as string, [`word ${fates.length}`], { now: NOW, keepMs: KEEP_MS })
              else if (one.kind === 'delete') {
                const post = published[one.which]
                if (post !== undefined) await remove(calm, post, one.steps)
              } else {
                const audience = one.to ?? undefined
                const post = await publish(calm, draft(one.author, { audience, source: one.share ? source.id : undefined }), one.steps)
                if (post !== undefined) published.push(post)
              }
            }
          }
          async function work(): Promise<void> {
            for (let round = 0; round < 3; round++) await persist(faulty, keys()).catch(() => undefined)
          }
          await scheduler.waitFor(Promise.all([...clients.map(live), work(), work()]))
          await persistAll(stores)
          await expectPersisted(
            stores,
            counted,
            published.map(({ id }) => id),
            PEOPLE,
          )
        },
      ),
      { numRuns: 300 },
    )
  }, 120_000)
})
