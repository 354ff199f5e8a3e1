/**
 * The feed-existence subgraph on stores that can be switched off, with a clock that only tests advance. Calls are counted, and any call can
 * be held.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { graphql } from 'graphql'
import { makeConfig, type Config } from '../../../config/config.ts'
import { complete, UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import { TidemarkError, type ErrorCode } from '../../../core/errors.ts'
import { seededRandom } from '../../../core/random.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { openLmdbPlayLog } from '../../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbRecordStore } from '../../../subgraphs/history/stores/lmdb/record-store.ts'
import { openLmdbSeenRecords } from '../../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { openLmdbSeenStore } from '../../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeExistenceSubgraph, type ExistenceStores } from '../../../subgraphs/feed-existence/index.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { until } from '../../../harness/until.ts'

export const REGIONS = 2
export const SHAPE: RingShape = { slots: 6, shards: 4 }
export const HOUR = 3_600_000
const MINUTE = 60_000
export const DAY = 24 * HOUR
type Name = 'hot' | 'log' | 'records'
const CODES: Record<Name, ErrorCode> = { hot: UNAVAILABLE.hotStore, log: UNAVAILABLE.log, records: UNAVAILABLE.recordStore }

export type Opened = ReturnType<typeof openSeen>

export function openSeen(options: { start?: number; shape?: RingShape } = {}) {
  const { start = Date.UTC(2026, 4, 20, 10, 30), shape = SHAPE } = options
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-seen-'))
  const environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 1 })
  const clock = makeSteppedClock(start)
  const down: Record<Name, boolean> = { hot: false, log: false, records: false }
  const calls: string[] = []
  const held = new Map<string, () => Promise<void>>()
  const refused = new Map<string, ErrorCode>()

  function switched<T extends object>(name: Name, store: T): T {
    const entries = Object.entries(store).map(([method, value]: [string, unknown]) => {
      if (typeof value !== 'function' || method === 'close' || method === 'partOf' || method.startsWith('consume')) return [method, value]
      const call = async (...args: unknown[]): Promise<unknown> => {
        calls.push(`${name}.${method}`)
        const code = down[name] ? CODES[name] : refused.get(`${name}.${method}`)
        if (code !== undefined) throw new TidemarkError(code, `the ${name} of the test is down`)
        await held.get(`${name}.${method}`)?.()
        return (value as (...args: unknown[]) => unknown)(...args)
      }
      return [method, call]
    })
    return Object.fromEntries(entries) as T
  }

  const log = openLmdbPlayLog(environment, clock)
  const plain = { log, ...openShape(environment, shape) }
  const history = openLmdbRecordStore(environment)
  return {
    environment,
    clock,
    plain,
    history,
    calls,
    stores: { hot: switched('hot', plain.hot), log: switched('log', log), records: switched('records', plain.records) },
    /** The same stores, opened by a process with another shape. */
    reopened: (other: RingShape): ExistenceStores => ({ log, ...openShape(environment, other) }),
    set: (name: Name, isDown: boolean) => void (down[name] = isDown),
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
      await log.close()
      await environment.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function openShape(environment: Environment, shape: RingShape) {
  return { hot: openLmdbSeenStore(environment, shape), records: openLmdbSeenRecords(environment) }
}

export const seenConfig = (existence: object = {}): Config =>
  makeConfig([
    {
      name: 'test',
      values: {
        stores: { regions: REGIONS },
        existence: { slots: SHAPE.slots, shards: SHAPE.shards, sampleEvery: 1, foldEveryMs: 60_000, ...existence },
        businesses: [
          { number: 1, name: 'video', entity: 'Video' },
          { number: 2, name: 'article', entity: 'Article' },
        ],
      },
    },
  ])

export const viewerOf = (id: string, ...scopes: string[]) => ({ id, scopes })

export type Answer = { data: any; errors: { code: unknown; message: string }[]; degraded: string[] }

export function serveSeen(opened: Opened, config: Config = seenConfig(), stores: ExistenceStores = opened.stores) {
  const errors: unknown[] = []
  const subgraph = makeExistenceSubgraph(opened.clock, { ...stores, history: opened.history }, config, (error) => errors.push(error), {
    random: seededRandom(1),
    guard: { checkEveryMs: 1_000 },
  })
  async function ask(source: string, viewer?: ReturnType<typeof viewerOf>, variables: Record<string, unknown> = {}): Promise<Answer> {
    const degraded: Degraded = new Set()
    const contextValue = { viewer, degraded, loaders: subgraph.makeLoaders(degraded) }
    const result = await graphql({ schema: subgraph.schema, source, variableValues: variables, contextValue })
    return {
      data: JSON.parse(JSON.stringify(result.data ?? null)),
      errors: (result.errors ?? []).map(({ message, extensions }) => ({ code: extensions['code'], message })),
      degraded: [...degraded].sort(),
    }
  }
  return {
    subgraph,
    errors,
    ask,
    async unseen(viewer: string, candidates: readonly string[], business = 'video'): Promise<string[]> {
      return (await complete((without) => subgraph.service.unseen(viewerOf(viewer), business, candidates, [], without))).ids
    },
    /** `viewerSeen` of each. */
    async reasons(viewer: string, ids: readonly string[]): Promise<(string | null)[]> {
      const { data, errors } = await ask(
        'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerSeen } }',
        viewerOf(viewer),
        {
          ids,
        },
      )
      if (errors.length > 0) throw new Error(JSON.stringify(errors))
      return data.subjects.map(({ viewerSeen }: { viewerSeen: string | null }) => viewerSeen)
    },
    play: (viewer: string, ids: readonly string[], playedAt?: number, business = 'video') =>
      subgraph.service.recordPlayed(viewerOf(viewer), business, ids, playedAt, new Set()),
    /** Advances the clock by this number of hours, with a run in each, and waits for the end of each run. */
    async afterHours(job: Awaited<ReturnType<typeof subgraph.startJob>>, hours = 1): Promise<void> {
      for (let hour = 0; hour < hours; hour++) {
        const next = Math.floor(opened.clock.now() / HOUR) + 1
        opened.clock.advance(next * HOUR + 60_000 - opened.clock.now())
        await runOf(opened, job, next)
        // Never past the end of the hour, regardless of the time already spent, or the next hour is skipped.
        opened.clock.advance(Math.min(HOUR / 2, (next + 1) * HOUR - MINUTE - opened.clock.now()))
      }
    },
    stop: () => subgraph.drain(),
  }
}

/** Waits until the run of this hour has left nothing. */
export async function runOf(opened: Opened, job: { figures(): { runHour: number; shardsLeft: number } }, hour: number): Promise<void> {
  await untilRounds(`the run of hour ${hour} has left nothing`, opened, () => {
    const { runHour, shardsLeft } = job.figures()
    return runHour === hour && shardsLeft === 0
  })
}

/**
 * Waits until rounds of a job bring the condition about. The clock advances, so that rounds begin, and never leaves its hour. It waits
 * longer and longer for rounds on a slow machine.
 */
export async function untilRounds(what: string, { clock }: Opened, isSo: () => boolean): Promise<void> {
  const hour = Math.floor(clock.now() / HOUR)
  let turns = 0
  await until(what, async () => {
    await settle()
    if (isSo()) return true
    turns++
    if ((turns <= 10 || turns % 20 === 0) && clock.now() < (hour + 1) * HOUR - 2 * MINUTE) clock.advance(MINUTE)
    return false
  })
}

/** Waits until started work that needs only the stores has ended. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}
