/**
 * Actors of the feed world. Writers publish, delete, follow and set filter words. The ledger knows when each change began and was
 * acknowledged, as positions in one sequence of events. Readers scroll, and compare each page with the ledger.
 */
import { expect } from 'vitest'
import type { ViewerId } from '../../../../core/domain.ts'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { isTidemarkError } from '../../../../core/errors.ts'
import { randomBelow } from '../../../../core/random.ts'
import type { Post, PostDraft } from '../../../../subgraphs/feed/model/post.ts'
import { KEEP_MS, type FeedWorld } from './feed-world.ts'

/** `id` is unknown if the answer of the store was lost. */
type PostFacts = { id?: string; draft: PostDraft; publishedAt: number; deletionBegan: number; deletedAt: number }
/** A value from `began` on, in effect for readers who start at or after `done`. */
type Change<T> = { value: T; began: number; done: number }

export type FeedLedger = {
  at(): number
  /** By client key. */
  posts: Map<string, PostFacts>
  follows: Map<string, Change<boolean>[]>
  words: Map<ViewerId, Change<string>[]>
}

export function makeFeedLedger(): FeedLedger {
  let events = 0
  return { at: () => ++events, posts: new Map(), follows: new Map(), words: new Map() }
}

const WORDS = ['red', 'green', 'blue', 'none of these']

export function makeWriter(world: FeedWorld, ledger: FeedLedger, viewers: readonly ViewerId[], stepMaxMs: () => number) {
  const { random, hot, options, turns } = world
  const anyOf = <T>(all: readonly T[]): T => all[randomBelow(random, all.length)] as T
  let keys = 0

  async function publish(): Promise<void> {
    const isRestricted = random() < 0.3
    const author = anyOf(viewers)
    const audience = isRestricted ? viewers.filter(() => random() < 0.5) : undefined
    const draft = { author, text: `${anyOf(WORDS)} ${anyOf(WORDS)}`, media: [], source: undefined, audience, clientKey: String(keys++) }
    const facts: PostFacts = { draft, publishedAt: Infinity, deletionBegan: Infinity, deletedAt: Infinity }
    ledger.posts.set(draft.clientKey, facts)
    const outcome = await hot.publish(draft, options())
    expect.assert(outcome.status === 'published')
    if (audience !== undefined) await hot.addToInboxes(outcome.post.id, others(draft), options())
    facts.id = outcome.post.id
    facts.publishedAt = ledger.at()
  }

  async function deletePost(): Promise<void> {
    const living = [...ledger.posts.values()].filter(
      ({ deletionBegan, publishedAt }) => deletionBegan === Infinity && publishedAt < Infinity,
    )
    if (living.length === 0) return
    const facts = anyOf(living)
    const { draft, id = '' } = facts
    facts.deletionBegan = ledger.at()
    await hot.delete({ ...draft, id, version: 0, deleted: false }, options())
    facts.deletedAt = ledger.at()
    if (draft.audience !== undefined) await hot.removeFromInboxes(id, others(draft), options())
  }

  async function follow(): Promise<void> {
    const [viewer, author] = [anyOf(viewers), anyOf(viewers)]
    if (viewer === author) return
    const follows = random() < 0.7
    const change: Change<boolean> = { value: follows, began: ledger.at(), done: Infinity }
    const key = `${viewer} ${author}`
    // One change of a pair at a time.
    if ((ledger.follows.get(key)?.at(-1)?.done ?? 0) === Infinity) return
    ledger.follows.set(key, [...(ledger.follows.get(key) ?? []), change])
    await turns()
    const list = world.follows.get(viewer) ?? new Set()
    world.follows.set(viewer, list)
    if (follows) list.add(author)
    else list.delete(author)
    change.done = ledger.at()
  }

  async function setWords(): Promise<void> {
    const viewer = anyOf(viewers)
    if ((ledger.words.get(viewer)?.at(-1)?.done ?? 0) === Infinity) return
    const change: Change<string> = { value: anyOf([...WORDS, '', '']), began: ledger.at(), done: Infinity }
    ledger.words.set(viewer, [...(ledger.words.get(viewer) ?? []), change])
    await hot.setWords(viewer, change.value === '' ? [] : [change.value], options())
    change.done = ledger.at()
  }

  const acts = [publish, publish, publish, publish, deletePost, follow, setWords, world.persist, world.purge]
  let persistedAt = world.clock.now()
  return async (): Promise<void> => {
    // `purge` forgets nothing while something old waits to be persisted.
    if (world.clock.now() - persistedAt > KEEP_MS / 3) {
      await world.persist()
      persistedAt = world.clock.now()
    }
    await anyOf(acts)()
    world.clock.advance(randomBelow(random, stepMaxMs()))
  }
}

/** The viewers whose inboxes have the post. */
function others({ author, audience = [] }: PostDraft): ViewerId[] {
  return audience.filter((viewer) => viewer !== author)
}

/** The value that was in effect from `began` to `ended`; undefined if it changed in between. */
function steady<T>(changes: readonly Change<T>[] | undefined, first: T, began: number, ended: number): T | undefined {
  const all = changes ?? []
  if (all.some((change) => change.began < ended && change.done > began)) return undefined
  return all.findLast(({ done }) => done <= began)?.value ?? first
}

export type Scroll = { pages: number; posts: Post[]; degraded: Degraded; isComplete: boolean }

/** Scrolls from the newest post on, and checks each page. */
export async function scroll(
  process: ReturnType<FeedWorld['openProcess']>,
  ledger: FeedLedger,
  viewer: ViewerId,
  first: number,
): Promise<Scroll> {
  const began = ledger.at()
  const done: Scroll = { pages: 0, posts: [], degraded: new Set(), isComplete: false }
  for (let after: string | undefined; done.pages < 40;) {
    const pageBegan = ledger.at()
    const degraded: Degraded = new Set()
    const page = await process.homeFeed(viewer, { first, after }, degraded)
    for (const store of degraded) done.degraded.add(store)
    if (page === null) return done
    done.pages++
    for (const { post } of page.edges) checkShown(ledger, viewer, post, pageBegan, degraded)
    if (page.hasNextPage && degraded.size === 0) expect(page.edges, 'a page with a next one is full').toHaveLength(first)
    done.posts.push(...page.edges.map(({ post }) => post))
    after = page.endCursor
    if (!page.hasNextPage || after === undefined) {
      done.isComplete = true
      break
    }
  }
  checkScroll(ledger, viewer, done, began, ledger.at())
  return done
}

function checkShown(ledger: FeedLedger, viewer: ViewerId, post: Post, pageBegan: number, degraded: Degraded): void {
  const facts = ledger.posts.get(post.clientKey) as PostFacts
  const ended = ledger.at()
  expect(post.text, 'the text is the published one').toBe(facts.draft.text)
  if (facts.draft.audience !== undefined) expect(facts.draft.audience, `restricted post ${post.id} is shown to ${viewer}`).toContain(viewer)
  if (!degraded.has('hotStore')) expect(facts.deletedAt, `post ${post.id} was deleted before the page`).toBeGreaterThan(pageBegan)
  const word = steady(ledger.words.get(viewer), '', pageBegan, ended)
  if (word && degraded.size === 0) expect(post.text, 'a filter word hides the post').not.toContain(word)
  if (facts.draft.audience === undefined) {
    const follows = steady(ledger.follows.get(`${viewer} ${post.author}`), false, pageBegan, ended)
    expect(follows, `${viewer} does not follow ${post.author}`).not.toBe(false)
  }
}

function checkScroll(ledger: FeedLedger, viewer: ViewerId, { posts, degraded, isComplete }: Scroll, began: number, ended: number): void {
  const ids = posts.map(({ id }) => BigInt(id))
  for (let at = 1; at < ids.length; at++) expect(ids[at], 'ids descend').toBeLessThan(ids[at - 1] as bigint)
  if (degraded.size > 0 || !isComplete) return
  const word = steady(ledger.words.get(viewer), '', began, ended)
  if (word === undefined) return
  const shown = new Set(posts.map(({ id }) => id))
  for (const { id, draft, publishedAt, deletionBegan } of ledger.posts.values()) {
    if (publishedAt >= began || deletionBegan < ended || (word !== '' && draft.text.includes(word))) continue
    const isTheirs =
      draft.audience === undefined
        ? steady(ledger.follows.get(`${viewer} ${draft.author}`), false, began, ended) === true
        : draft.audience.includes(viewer) && draft.author !== viewer
    if (isTheirs) expect(shown, `the scroll of ${viewer} skips ${JSON.stringify({ id, ...draft })}`).toContain(id)
  }
}

/** Runs a task again and again. A store that is down is part of the test. */
export async function repeat(times: number, task: () => Promise<unknown>): Promise<void> {
  for (let left = times; left > 0; left--) {
    try {
      await task()
    } catch (error) {
      if (!isTidemarkError(error)) throw error
    }
  }
}
