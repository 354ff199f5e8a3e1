/** A feed whose clients and persist steps may die between any two calls of a store, and the check that nothing is lost or counted twice. */
import { expect } from 'vitest'
import { TidemarkError } from '../../../../core/errors.ts'
import type { CountEvent } from '../../../../subgraphs/feed/model/counts.ts'
import { flushedKeyOf, type DirtyKey } from '../../../../subgraphs/feed/model/dirty-keys.ts'
import { eventsOfPost } from '../../../../subgraphs/feed/model/post-events.ts'
import { recipientsOf, type Post, type PostDraft } from '../../../../subgraphs/feed/model/post.ts'
import { unpackIds } from '../../../../subgraphs/feed/packed/vector.ts'
import { countedEvents } from '../../../../subgraphs/feed/persist/counted-events.ts'
import { persistFeed, type FeedPersistReport } from '../../../../subgraphs/feed/persist/persist.ts'
import type { FeedHotStore } from '../../../../subgraphs/feed/stores/hot-store.ts'
import type { FeedRecords } from '../../../../subgraphs/feed/stores/record-store.ts'

export const NOW = Date.UTC(2026, 0, 5, 12)
export const KEEP_MS = 7 * 86_400_000
export const POSTS = 4
export const REGIONS = 100

export type Adjust = (events: readonly CountEvent[]) => Promise<readonly unknown[]>
export type Stores = { hot: FeedHotStore; records: FeedRecords; adjust: Adjust }

/** Counts each event once, by its id. Like the counters of the stores, it refuses an event that would take a counter below zero. */
export function makeCounted() {
  const totals = new Map<string, number>()
  const seen = new Set<string>()
  return {
    total: (business: number, oid: string, counter: string) => totals.get(`${business}:${oid}:${counter}`) ?? 0,
    adjust: (events: readonly CountEvent[]): Promise<string[]> => {
      const outcomes = events.map(({ id, subject, counter, delta }) => {
        if (seen.has(id)) return 'repeated'
        const key = `${subject.business}:${subject.oid}:${counter}`
        const total = (totals.get(key) ?? 0) + delta
        if (total < 0) return 'invalid'
        seen.add(id)
        totals.set(key, total)
        return 'counted'
      })
      return Promise.resolve(outcomes)
    },
    seen,
  }
}

export type Counted = ReturnType<typeof makeCounted>

/** The store behind `around`, which decides when and whether a call happens. */
export function around<S extends object>(store: S, run: <T>(name: string, call: () => Promise<T>) => Promise<T>): S {
  return new Proxy(store, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => run(String(name), () => Reflect.apply(method, target, args) as Promise<unknown>)
    },
  })
}

export const lost = (name: string) => new TidemarkError('HOT_STORE_UNAVAILABLE', `${name}: the answer was lost`)

/** Publishes as the service does, and stops after so many steps. */
export async function publish({ hot, adjust }: Stores, draft: PostDraft, steps = 3, now = NOW): Promise<Post | undefined> {
  const options = { now, keepMs: KEEP_MS }
  const outcome = await hot.publish(draft, options)
  if (!('post' in outcome)) return undefined
  const { post } = outcome
  if (steps > 1 && post.audience !== undefined) await hot.addToInboxes(post.id, recipientsOf(post), options)
  if (steps > 2) await adjust(eventsOfPost(post, POSTS))
  return post
}

export async function remove({ hot, adjust }: Stores, post: Post, steps = 3, now = NOW): Promise<void> {
  const options = { now, keepMs: KEEP_MS }
  const tombstone = await hot.delete(post, options)
  if (steps > 1 && post.audience !== undefined) await hot.removeFromInboxes(post.id, recipientsOf(post), options)
  if (steps > 2) await adjust(countedEvents(tombstone, POSTS, now))
}

export function persist(stores: Stores, keys: readonly DirtyKey[], now = NOW, late: unknown[] = []): Promise<FeedPersistReport> {
  return persistFeed(stores, keys.map(flushedKeyOf), { now, keepMs: KEEP_MS, business: POSTS }, (error) => late.push(error))
}

export async function persistAll(stores: Stores): Promise<void> {
  const all = Array.from({ length: REGIONS }, (_, region) => region)
  for (;;) {
    const dirty = await stores.hot.listDirty(all, NOW, 100)
    if (dirty.length === 0) return
    await persist(stores, dirty)
  }
}

/** Nothing is dirty, and record store, inboxes and counters have what the posts in the hot store say. */
export async function expectPersisted(
  { hot, records }: Pick<Stores, 'hot' | 'records'>,
  { total }: Pick<Counted, 'total'>,
  ids: readonly string[],
  people: readonly string[],
) {
  expect(await hot.countDirty()).toBe(0)
  const posts = await hot.getPostMany(ids)
  expect(await records.getPostMany(ids)).toEqual(posts)
  const live = posts.flatMap((post) => (post === undefined || post.deleted ? [] : [post]))
  const outboxes = people.map((author) => live.filter((post) => post.author === author && post.audience === undefined).map(({ id }) => id))
  const inboxes = people.map((viewer) => live.filter((post) => recipientsOf(post).includes(viewer)).map(({ id }) => id))
  const sorted = (lists: string[][]) => lists.map((list) => list.toSorted())
  expect(sorted((await records.listOutboxMany(people, undefined, 10_000)).map((part) => unpackIds(part.ids)))).toEqual(sorted(outboxes))
  expect(sorted((await records.listInboxMany(people, undefined, 10_000)).map((part) => unpackIds(part.ids)))).toEqual(sorted(inboxes))
  expect(sorted((await hot.getInboxMany(people)).map((list) => unpackIds(list.added)))).toEqual(sorted(inboxes))
  people.forEach((author, place) => expect(total(65_535, author, 'post')).toBe(outboxes[place]?.length))
  for (const id of ids) {
    const shares = live.filter(({ source, audience }) => source === id && audience === undefined)
    expect(total(POSTS, id, 'repost')).toBe(shares.length)
  }
  const words = await hot.getWords(people[0] as string)
  expect(await records.getWordsMany([people[0] as string])).toEqual([words])
}
