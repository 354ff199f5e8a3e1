/**
 * A small world of authors and readers over the real tiered cache and model stores or those of an adapter. Each call of a store waits a random number of turns
 * before and after, so calls of concurrent actors mix. Nodes of the cache lose values and writes, apply writes late, and return values that
 * they had before, but none that is older than its time to live.
 */
import { MEMORY_LAYOUT, makeMemoryNode } from '../../../../cache/memory.ts'
import type { Held, NodeClient } from '../../../../cache/node-client.ts'
import { makeTieredCache } from '../../../../cache/tiers.ts'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { TidemarkError, type ErrorCode } from '../../../../core/errors.ts'
import { fixedValue } from '../../../../core/live-value.ts'
import { randomBelow, type Random } from '../../../../core/random.ts'
import type { ViewerId } from '../../../../core/domain.ts'
import { makeFeedStoreModel } from '../../../../harness/models/feed/hot-store-model.ts'
import { makeFeedRecordsState, openModelFeedRecords } from '../../../../harness/models/feed/record-store-model.ts'
import { makeSteppedClock, type SteppedClock } from '../../../../harness/stepped-clock.ts'
import type { Post } from '../../../../subgraphs/feed/model/post.ts'
import type { PostId } from '../../../../subgraphs/feed/packed/post-id.ts'
import { makeContents } from '../../../../subgraphs/feed/read/contents.ts'
import { makeFreshness } from '../../../../subgraphs/feed/read/freshness.ts'
import { makePages } from '../../../../subgraphs/feed/read/page.ts'
import { makeSections, type ReadStores, type SectionSizes } from '../../../../subgraphs/feed/read/sections.ts'
import { makeWaiting } from '../../../../subgraphs/feed/read/waiting.ts'
import type { FeedHotStore } from '../../../../subgraphs/feed/stores/hot-store.ts'
import type { FeedRecords } from '../../../../subgraphs/feed/stores/record-store.ts'

export const REGIONS = 4
const ALL_REGIONS = [0, 1, 2, 3]
export const KEEP_MS = 3_600_000
const TTL_MS = 600_000
/** With much time for slow writes: the clock jumps while they wait. */
const REMEMBER_MS = 4 * TTL_MS
/** Small, so that few posts are enough to read all sections. */
const SIZES: SectionSizes = { head: 2, outbox: 4, inbox: 3, rest: 2 }
const LAYOUT = { ...MEMORY_LAYOUT, main: ['main-1:1', 'main-2:1'], backup: ['backup:1'], l1: [['group-1:1'], ['group-2:1']] }

export type WorldOptions = {
  random: Random
  /** Turns that a call waits at most, each time. */
  turnsMax?: number
  /** Nodes of the cache do what they should. */
  hasGoodPools?: boolean
  sizes?: SectionSizes
  /** Default: models. */
  stores?: ReadStores
}

export type FeedWorld = ReturnType<typeof makeFeedWorld>

export function makeFeedWorld({ random, turnsMax = 6, hasGoodPools = false, sizes = SIZES, stores = openModels() }: WorldOptions) {
  const clock = makeSteppedClock()
  const down = { hotStore: false, recordStore: false }
  const calls: string[] = []
  /** Runs once after the next call of a method with one of these names, before its answer is there. */
  const between: { names: readonly string[]; act: () => Promise<unknown> }[] = []
  const failures: unknown[] = []
  const turns = async (): Promise<void> => {
    for (let left = turnsMax === 0 ? 0 : randomBelow(random, turnsMax); left > 0; left--) await Promise.resolve()
  }
  const hot: FeedHotStore = makeSlow(stores.hot, turns, { calls, between }, () => down.hotStore, 'HOT_STORE_UNAVAILABLE')
  const records: FeedRecords = makeSlow(stores.records, turns, { calls, between }, () => down.recordStore, 'RECORD_STORE_UNAVAILABLE')
  const follows = new Map<ViewerId, Set<ViewerId>>()
  const graph = {
    async following(viewer: ViewerId): Promise<ViewerId[] | null> {
      await turns()
      const list = [...(follows.get(viewer) ?? [])]
      await turns()
      return list
    },
  }
  const nodes = new Map<string, NodeClient>()
  const nodeOf = (address: string): NodeClient => {
    const found = nodes.get(address) ?? makeNode(clock, random, turns, hasGoodPools)
    nodes.set(address, found)
    return found
  }

  /** A process with its own freshness and its own view of the cache, whose nodes it shares. */
  function openProcess() {
    const cache = makeTieredCache(clock, random, fixedValue(LAYOUT), nodeOf, { ttlMs: TTL_MS })
    const onError = (error: unknown): void => void failures.push(error)
    const freshness = makeFreshness(hot, REGIONS, clock, { rememberMs: REMEMBER_MS }, onError)
    const sections = makeSections({ hot, records }, cache, clock, KEEP_MS, sizes)
    const contents = makeContents({ hot, records }, cache, clock)
    const pages = makePages(graph, freshness, sections, contents)
    const posts = async (ids: readonly PostId[]): Promise<(Post | undefined)[]> => {
      const degraded: Degraded = new Set()
      return contents.getMany(ids, await freshness.look(degraded), degraded)
    }
    const waiting = makeWaiting(graph, freshness, pages, clock, 1_000, onError)
    return { ...pages, posts, waiting, freshness, cache }
  }

  /** Persists what is dirty now, as the job does. */
  async function persist(): Promise<void> {
    const keys = await hot.listDirty(ALL_REGIONS, clock.now(), 1_000)
    const contents = await hot.readDirty(keys)
    const found = keys.flatMap((key, at) => {
      const content = contents[at]
      return content === undefined ? [] : [{ key, content }]
    })
    await records.putPosts(found.flatMap(({ content }) => ('id' in content ? [content] : [])))
    await records.putWords(found.flatMap(({ key, content }) => ('id' in content ? [] : [{ viewer: key.viewer, words: content }])))
    await hot.clearDirty(found.map(({ key, content }) => ({ key, version: content.version })))
  }

  /** Forgets the old changes that are persisted, as the job does. */
  async function purge(): Promise<void> {
    const before = clock.now() - KEEP_MS
    const dirty = await hot.listDirty(ALL_REGIONS, before, 1)
    if (dirty.length === 0) await hot.purgeOld(ALL_REGIONS, before, 1_000)
  }

  const options = () => ({ now: clock.now(), keepMs: KEEP_MS })
  return { clock, random, turns, hot, records, follows, down, calls, between, failures, options, openProcess, persist, purge }
}

function openModels(): ReadStores {
  return { hot: makeFeedStoreModel(REGIONS), records: openModelFeedRecords(makeFeedRecordsState()) }
}

type Observed = { calls: string[]; between: { names: readonly string[]; act: () => Promise<unknown> }[] }

function makeSlow<S extends object>(
  store: S,
  turns: () => Promise<void>,
  { calls, between }: Observed,
  isDown: () => boolean,
  code: ErrorCode,
): S {
  const check = (): void => {
    if (isDown()) throw new TidemarkError(code, 'down for the test')
  }
  return new Proxy(store, {
    get(target, name) {
      const method = (target as Record<string, unknown>)[name as string]
      if (typeof method !== 'function') return method
      return async (...args: unknown[]) => {
        calls.push(String(name))
        await turns()
        check()
        const answer: unknown = await method(...args)
        const due = between.findIndex(({ names }) => names.includes(String(name)))
        if (due >= 0) for (const { act } of between.splice(due, 1)) await act()
        await turns()
        check()
        return answer
      }
    },
  })
}

function makeNode(clock: SteppedClock, random: Random, turns: () => Promise<void>, isGood: boolean): NodeClient {
  const inner = makeMemoryNode(clock, { bytesMax: 10_000_000 })
  if (isGood) return inner
  const before = new Map<string, { held: Held; at: number }[]>()
  const happens = (share: number): boolean => random() < share
  /** Loses a write, does it later, or does it. */
  const badly = (key: string, write: () => void): void => {
    if (happens(0.1)) return
    const note = async (): Promise<void> => {
      write()
      const [held] = await inner.getMany([key])
      if (held !== undefined) before.set(key, [...(before.get(key) ?? []), { held, at: clock.now() }])
    }
    if (happens(0.2)) void turns().then(turns).then(note)
    else void note()
  }
  return {
    ...inner,
    async getMany(keys) {
      await turns()
      const held = await inner.getMany(keys)
      await turns()
      return held.map((each, at) => {
        if (happens(0.1)) return undefined
        const old = (before.get(keys[at] as string) ?? []).filter((one) => clock.now() - one.at < TTL_MS)
        return old.length > 0 && happens(0.3) ? old[randomBelow(random, old.length)]?.held : each
      })
    },
    setQuietly: (key, stamped, ttlMs) => badly(key, () => inner.setQuietly(key, stamped, ttlMs)),
    fillQuietly: (key, stamped, state, ttlMs) => badly(key, () => inner.fillQuietly(key, stamped, state, ttlMs)),
  }
}
