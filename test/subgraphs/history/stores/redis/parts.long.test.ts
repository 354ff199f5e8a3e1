/** A Cluster with an unreachable part: the effect on the viewers of that part and on all others, with production settings. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Degraded } from '../../../../../core/outage/degraded.ts'
import { makeStoreCalls, type StoreCalls } from '../../../../../core/outage/store-calls.ts'
import { systemClock } from '../../../../../core/clock.ts'
import { makeConfig } from '../../../../../config/config.ts'
import { openLmdbJournals } from '../../../../../writeback/stores/lmdb/journal.ts'
import type { Journals } from '../../../../../writeback/journal.ts'
import type { HotStore } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { openRedisHotStore } from '../../../../../subgraphs/history/stores/redis/hot-store.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../../../../subgraphs/history/index.ts'
import { freshViewerIn, keyOf } from '../../../../contracts/reports.ts'
import { beginMove, mastersOf, replicaOf, serves, type Member } from '../../../../../harness/deployment/cluster-operator.ts'
import { makeDataFolder, makeSwitchedStores, type Folder } from '../../../switched-stores.ts'
import { redisIsHere, startCluster } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { until } from '../../../../../harness/until.ts'

const regions = 12
/** The value of cli/stores/history.ts. */
const retryMaxMs = 2_000
/** A wait for the unreachable part takes `retryMaxMs`, or up to 250 ms less (the last delay). A faster call has not waited for it. */
const UNNOTICED_MS = retryMaxMs - 300
const tags = regionTags(regions)
const config = makeConfig([{ name: 'test', values: { stores: { regions }, history: { flushAgeMaxMs: 100, sweepAfterMs: 200 } } }])

describe.skipIf(!(await redisIsHere()))('a Redis Cluster with an unreachable part', () => {
  let servers: TestServers
  let nodes: Redis[] = []
  let hot: HotStore
  let calls: StoreCalls
  let folder: Folder
  let journals: Journals
  let history: HistorySubgraph
  const errors: unknown[] = []
  beforeAll(async () => {
    servers = await startCluster(['cluster-require-full-coverage no'])
    nodes = servers.ports.map((port) => new Redis(port, '127.0.0.1'))
    for (const node of nodes) node.on('error', () => undefined)
  })
  afterAll(async () => {
    for (const node of nodes) node.disconnect()
    await servers.stop()
  })
  beforeEach(async () => {
    calls = makeStoreCalls(() => performance.now())
    hot = calls.measure({ subgraph: 'history', store: 'hot', business: '' }, openRedisHotStore({ urls: servers.urls, regions, retryMaxMs }))
    await hot.check()
    folder = makeDataFolder()
    journals = openLmdbJournals(folder.path)
    const { log, records } = makeSwitchedStores()
    history = makeHistorySubgraph(systemClock, { hot, log, records, journals }, config, (error) => errors.push(error))
  })
  afterEach(async () => {
    await history.drain()
    await journals.close()
    await hot.close()
    folder.remove()
  })

  async function use(viewer: string, oid: string) {
    const degraded: Degraded = new Set()
    const started = performance.now()
    const [answer] = await history.service.report({ id: viewer, scopes: [] }, [{ business: 'video', id: oid, position: 60_000 }], degraded)
    const found = await history.makeLoaders(degraded).progress.load(keyOf(viewer, oid))
    return {
      outcome: answer?.outcome,
      degraded: [...degraded],
      isFound: found !== undefined,

      tookMs: performance.now() - started,
    }
  }

  /** Viewers of every region use the store until `done`. `isOut` tells whether the part of a region is unreachable. */
  async function useAll(isOut: (region: number) => boolean, done: () => boolean) {
    const written: { viewer: string; oid: string }[] = []
    const rounds = Array.from({ length: regions }, async (_, region) => {
      const viewer = freshViewerIn(region, regions)
      const slow: number[] = []
      for (let turn = 0; turn === 0 || !done(); turn++) {
        const oid = String(turn)
        const seen = await use(viewer, oid)
        written.push({ viewer, oid })
        slow.push(seen.tookMs)
        const { outcome, degraded, isFound } = seen
        if (isOut(region)) expect({ region, outcome, degraded }).toEqual({ region, outcome: 'ACCEPTED', degraded: ['hotStore'] })
        else expect({ region, outcome, degraded, isFound }).toEqual({ region, outcome: 'ACCEPTED', degraded: [], isFound: true })
        await sleep(50)
      }
      return { region, first: slow[0] as number, next: Math.max(0, ...slow.slice(1)) }
    })
    const times = await Promise.all(rounds)
    const concerned = times.filter(({ region }) => isOut(region))
    const others = times.filter(({ region }) => !isOut(region))
    process.stdout.write(
      `out for ${concerned.length} regions: their first call took ${Math.round(Math.max(...concerned.map(({ first }) => first)))} ms, ` +
        `the next ${Math.round(Math.max(...concerned.map(({ next }) => next)))}; others' at most ` +
        `${Math.round(Math.max(...others.flatMap(({ first, next }) => [first, next])))}\n`,
    )
    // Only the first call of each concerned viewer asked the store. The later ones may wait for the disk of the journal.
    expect(failedCalls()).toEqual([{ operation: 'putProgress', outcome: 'unavailable', calls: concerned.length }])
    for (const { next } of concerned) expect(next).toBeLessThan(2 * retryMaxMs)
    for (const { first, next } of others) expect(Math.max(first, next)).toBeLessThan(UNNOTICED_MS)
    return written
  }

  function failedCalls(): { operation: string; outcome: string; calls: number }[] {
    return calls
      .figures()
      .filter(({ operation, outcome }) => outcome !== 'ok' && operation !== 'check')
      .map(({ operation, outcome, counts }) => ({ operation, outcome, calls: counts.reduce((sum, count) => sum + count, 0) }))
  }

  async function expectAllThere(written: readonly { viewer: string; oid: string }[]): Promise<void> {
    await until('the journal is empty', async () => (await journals.own.count()).waiting === 0)
    expect(history.figures().outages.hotStore).toEqual({ isDown: false, count: 1 })
    const lookups = await hot.getProgressMany(written.map(({ viewer, oid }) => keyOf(viewer, oid)))
    expect(written.filter((_, at) => lookups[at]?.record === undefined)).toEqual([])
  }

  it('a slot in migration for ten seconds affects only its own viewers, and loses nothing', async () => {
    const tag = tags[0] as string
    const known = freshViewerIn(0, regions)
    await use(known, 'before')
    const move = await beginMove(nodes, tag)
    await move.some(2)
    const end = Date.now() + 10_000
    const written = await useAll(
      (region) => region === 0,
      () => Date.now() > end,
    )
    await move.finish()
    await expectAllThere([...written, { viewer: known, oid: 'before' }])
  })

  it('in a call with reports of several viewers, only those of the unreachable part are journaled', async () => {
    const move = await beginMove(nodes, tags[1] as string)
    const [concerned, other] = [freshViewerIn(1, regions), freshViewerIn(2, regions)]
    for (let turn = 0; turn < 2; turn++) {
      const degraded: Degraded = new Set()
      const before = history.figures().journal.journaled
      const inputs = [concerned, other].map((viewer) => ({ viewer, business: 'video', id: String(turn), position: 60_000 }))
      const answers = await history.service.report({ id: 'x', scopes: ['progress:write-any'] }, inputs, degraded)
      expect(answers.map(({ outcome }) => outcome)).toEqual(['ACCEPTED', 'ACCEPTED'])
      expect(history.figures().journal.journaled - before).toBe(1)
      expect((await hot.getProgressMany([keyOf(other, String(turn))]))[0]?.record).toBeDefined()
      const loaders = history.makeLoaders
      const seen = await Promise.all(
        [concerned, other].map(async (viewer) => {
          const without: Degraded = new Set()
          const record = await loaders(without).progress.load(keyOf(viewer, String(turn)))
          return [record !== undefined, [...without]]
        }),
      )
      expect(seen).toEqual([
        [false, ['hotStore']],
        [true, []],
      ])
    }
    await move.finish()
    await expectAllThere([concerned, other].flatMap((viewer) => [0, 1].map((turn) => ({ viewer, oid: String(turn) }))))
  })

  it('the loss of a master and its replica affects only the viewers of its regions, and loses nothing', async () => {
    const lost = (await mastersOf(nodes))[2] as Member
    const replica = await replicaOf(nodes, lost.id)
    const held = await Promise.all(tags.map((tag) => serves(lost, tag)))
    expect(held.filter(Boolean).length).toBeGreaterThan(2)
    await use(freshViewerIn(0, regions), 'before')
    await servers.kill(replica.options.port as number)
    await servers.kill(lost.port)
    const end = Date.now() + 6_000
    const written = await useAll(
      (region) => held[region] === true,
      () => Date.now() > end,
    )
    await servers.start()
    await expectAllThere(written)
  })
})
