/** A world with good pools and one process, for tests of pages and of waiting posts. */
import { expect } from 'vitest'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { seededRandom } from '../../../../core/random.ts'
import type { Post } from '../../../../subgraphs/feed/model/post.ts'
import type { ReadStores, SectionSizes } from '../../../../subgraphs/feed/read/sections.ts'
import { makeFeedWorld } from './feed-world.ts'

const SIZES = { head: 32, outbox: 500, inbox: 500, rest: 100 }

/** `stepMs`: the time before each post. */
export function openFeed({ sizes = SIZES, stores, stepMs = 1_000 }: { sizes?: SectionSizes; stores?: ReadStores; stepMs?: number } = {}) {
  const world = makeFeedWorld({ random: seededRandom(1), turnsMax: 0, hasGoodPools: true, sizes, ...(stores && { stores }) })
  const process = world.openProcess()
  let keys = 0
  async function publish(author: string, text = 'text', audience?: string[]): Promise<Post> {
    world.clock.advance(stepMs)
    const draft = { author, text, media: [], source: undefined, audience, clientKey: String(keys++) }
    const outcome = await world.hot.publish(draft, world.options())
    expect.assert(outcome.status === 'published')
    if (audience !== undefined) await world.hot.addToInboxes(outcome.post.id, audience, world.options())
    return outcome.post
  }
  async function publishMany(author: string, count: number, text = 'text'): Promise<string[]> {
    const ids: string[] = []
    for (let left = count; left > 0; left--) ids.unshift((await publish(author, text)).id)
    return ids
  }
  /** Ids of a page, whether there is a next one, and the stores that were down. */
  async function page(viewer: string, first: number, after?: string) {
    const degraded: Degraded = new Set()
    const found = await process.homeFeed(viewer, { first, after }, degraded)
    if (found === null) return { ids: null, degraded: [...degraded] }
    const { edges, hasNextPage, endCursor } = found
    return { ids: edges.map(({ post }) => post.id), hasNextPage, endCursor, degraded: [...degraded] }
  }
  const follow = (viewer: string, ...authors: string[]): void => void world.follows.set(viewer, new Set(authors))
  /** Calls of the stores while the task runs, each name once per call. */
  async function callsOf(task: () => Promise<unknown>): Promise<string[]> {
    world.calls.length = 0
    await task()
    return [...world.calls].sort()
  }
  return { world, process, publish, publishMany, page, follow, callsOf }
}
