/** The thumbup subgraph on real embedded stores. Each store can be switched off, and calls are counted. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { graphql } from 'graphql'
import { systemClock, type Clock } from '../../../core/clock.ts'
import { makeConfig, type Config } from '../../../config/config.ts'
import { UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import { TidemarkError, type ErrorCode } from '../../../core/errors.ts'
import { seededRandom } from '../../../core/random.ts'
import type { CountCache, CountFollowing } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import type { Journals } from '../../../writeback/journal.ts'
import { openLmdbCountCache } from '../../../subgraphs/thumbup/stores/lmdb/count-cache.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import { openLmdbLog } from '../../../writeback/stores/lmdb/log.ts'
import { openLmdbMarkEvents } from '../../../subgraphs/thumbup/stores/lmdb/events.ts'
import { openLmdbMarkRecords } from '../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { openLmdbMarkStore } from '../../../subgraphs/thumbup/stores/lmdb/hot-store.ts'
import { makeThumbupSubgraph, type ThumbupSubgraph } from '../../../subgraphs/thumbup/index.ts'
import type { ThumbupOptions } from '../../../subgraphs/thumbup/parts.ts'
import { openModelMarkRecords } from '../../../harness/models/thumbup/record-store-model.ts'
import { makeMarkRecordsState } from '../../../harness/models/thumbup/record-rows.ts'

export const REGIONS = 4
export type Switch = 'up' | 'down'
type Name = 'hot' | 'cache' | 'log' | 'records' | 'events'
const CODES: Record<Name, ErrorCode> = {
  hot: UNAVAILABLE.hotStore,
  cache: UNAVAILABLE.hotStore,
  log: UNAVAILABLE.log,
  records: UNAVAILABLE.recordStore,
  events: UNAVAILABLE.log,
}

export type MarkedStores = ReturnType<typeof openMarkedStores>

/**
 * `records`: the model of the contract, whose state a test can read, or the real store. `readsAtOnceMax`: the number of connections of a
 * simulated server for it.
 */
export function openMarkedStores(options: { records?: 'model' | 'lmdb'; readsAtOnceMax?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-marks-'))
  const environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 1 })
  const switches: Record<Name, Switch> = { hot: 'up', cache: 'up', log: 'up', records: 'up', events: 'up' }
  const calls: string[] = []
  const refused = new Map<string, ErrorCode>()
  const held = new Map<string, () => Promise<void>>()
  const whenCacheIsBack: (() => void)[] = []

  function switched<T extends object>(name: Name, store: T): T {
    const entries = Object.entries(store).map(([method, value]: [string, unknown]) => {
      if (method === 'followCounts')
        return [
          method,
          (...given: Parameters<CountCache['followCounts']>) => switchedFollowing(value as CountCache['followCounts'], ...given),
        ]
      if (typeof value !== 'function' || method === 'close' || method === 'partOf' || method.startsWith('consume')) return [method, value]
      return [
        method,
        async (...args: unknown[]): Promise<unknown> => {
          calls.push(`${name}.${method}`)
          const code = switches[name] === 'down' ? CODES[name] : refused.get(`${name}.${method}`)
          if (code !== undefined) throw new TidemarkError(code, `the ${name} of the test is down`)
          await held.get(`${name}.${method}`)?.()
          return (value as (...args: unknown[]) => unknown)(...args)
        },
      ]
    })
    return Object.fromEntries(entries) as T
  }

  /** As the port requires: subjects added while a cache is down are followed when it is back, with a gap. */
  function switchedFollowing(
    follow: CountCache['followCounts'],
    ...[listener, onGap]: Parameters<CountCache['followCounts']>
  ): CountFollowing {
    const following = follow(listener, onGap)
    return {
      ...following,
      async add(subjects) {
        calls.push('cache.followCounts')
        await following.add(subjects)
        if (switches.cache === 'up') return
        whenCacheIsBack.push(() => onGap?.())
        throw new TidemarkError(CODES.cache, 'the cache of the test is down')
      },
    }
  }

  const rows = makeMarkRecordsState()
  const log = openLmdbLog(environment, systemClock, { stream: 'marks', pollMs: 20, retryMinMs: 10, retryMaxMs: 20 })
  const events = openLmdbMarkEvents(environment, systemClock, { pollMs: 20 })
  const plain = {
    hot: openLmdbMarkStore(environment),
    cache: openLmdbCountCache(environment),
    log,
    records: options.records === 'lmdb' ? openLmdbMarkRecords(environment) : openModelMarkRecords(rows),
    events,
  }
  const stores = {
    hot: switched('hot', plain.hot),
    cache: switched('cache', plain.cache),
    log: switched('log', plain.log),
    records: { ...switched('records', plain.records), ...(options.readsAtOnceMax && { readsAtOnceMax: options.readsAtOnceMax }) },
    events: switched('events', plain.events),
  }
  return {
    folder,
    environment,
    plain,
    stores,
    rows,
    calls,
    set(name: Name | 'redis', to: Switch): void {
      if (name === 'redis') switches.hot = switches.cache = to
      else switches[name] = to
      if (switches.cache === 'up') for (const tell of whenCacheIsBack.splice(0)) tell()
    },
    /** A single call such as `cache.putCounts` fails until the code is undefined again. */
    refuse(call: string, code: ErrorCode | undefined): void {
      if (code === undefined) refused.delete(call)
      else refused.set(call, code)
    },
    /** Runs before a single call, which waits for it. */
    before(call: string, task: (() => Promise<void>) | undefined): void {
      if (task === undefined) held.delete(call)
      else held.set(call, task)
    },
    count: (call: string): number => calls.filter((each) => each === call).length,
    async close() {
      await Promise.all([log.close(), events.close()])
      await environment.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Each viewer likes the subject `a`. Only the record store knows it. */
export async function storeLikes({ plain }: MarkedStores, viewers: readonly string[]): Promise<void> {
  const record = { mark: 'LIKE', markedAt: 1_000, version: 1 } as const
  const rows = viewers.map((viewer) => ({ key: { viewer, business: 1, oid: 'a' }, record }))
  await plain.records.applyMarks(rows, [])
}

export const thumbupConfig = (over: { thumbup?: object; businesses?: object[] } = {}): Config =>
  makeConfig([
    {
      name: 'test',
      values: {
        stores: { regions: REGIONS },
        businesses: [
          { number: 1, name: 'video', entity: 'Video', thumbup: { likesCap: 10 } },
          { number: 2, name: 'article', entity: 'Article', thumbup: { dislikes: false } },
          { number: 3, name: 'gone', entity: 'Gone', thumbup: { deleted: true } },
          { number: 4, name: 'plain', entity: 'Plain', thumbup: { enabled: false } },
        ],
        thumbup: {
          flushAgeMaxMs: 5,
          windowMs: 20,
          sweepAfterMs: 200,
          sweepEveryMs: 50,
          publishEveryMs: 30,
          countsWindowMs: 20,
          hotTtlMs: 50,
          reconcileEveryMs: 60_000,
        },
        ...over,
      },
    },
  ])

export const viewerOf = (id: string, ...scopes: string[]) => ({ id, scopes })

export type Answer = { data: any; errors: { code: unknown; path: unknown; message: string }[]; degraded: string[] }

/** A process on these stores with its own journal; `abandoned`: folders of other processes that it replays. */
export function serveThumbup(
  opened: MarkedStores,
  config: Config = thumbupConfig(),
  options: ThumbupOptions & { journal?: boolean; abandoned?: readonly string[]; clock?: Clock } = {},
) {
  const errors: unknown[] = []
  const { abandoned = [] } = options
  const journals: Journals | undefined = options.journal === false ? undefined : openLmdbJournals(opened.folder, { abandoned })
  const subgraph: ThumbupSubgraph = makeThumbupSubgraph(
    options.clock ?? systemClock,
    { ...opened.stores, journals },
    config,
    (error) => errors.push(error),
    // On a busy machine a commit to disk can take long.
    { guard: { checkEveryMs: 10, recordPatienceMs: 10_000, logPatienceMs: 10_000 }, random: seededRandom(1), ...options },
  )
  return {
    subgraph,
    errors,
    async ask(source: string, viewer?: ReturnType<typeof viewerOf>, variables: Record<string, unknown> = {}): Promise<Answer> {
      const degraded: Degraded = new Set()
      const result = await graphql({
        schema: subgraph.schema,
        source,
        variableValues: variables,
        contextValue: { viewer, degraded, loaders: subgraph.makeLoaders(degraded) },
      })
      return {
        data: result.data,
        errors: (result.errors ?? []).map(({ message, path, extensions }) => ({ code: extensions['code'], path, message })),
        degraded: [...degraded].sort(),
      }
    },
    async stop() {
      await subgraph.drain()
      await journals?.close()
    },
  }
}

export type ServedThumbup = ReturnType<typeof serveThumbup>
