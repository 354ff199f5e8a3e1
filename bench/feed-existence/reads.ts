/**
 * `unseen` with thousands of candidates, one call after the other, on both shapes: with the viewer's filters in memory, and with filters
 * that each call reads from the record store. Issued and staged subjects always come from the hot store. The calls go
 * to the service, to GraphQL in the process, and over HTTP to a `tidemark start`. In turn the peers get the same candidates of the same
 * viewers.
 *
 * CPU time is that of this process, and of Redis if it takes part. Each candidate is looked up in four filters of a viewer with 10,000
 * records.
 */
import { graphql } from 'graphql'
import type { Redis } from 'ioredis'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { complete, type Degraded } from '../../core/outage/degraded.ts'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import { monthOf, slotOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { SCOPE_EXISTENCE_BULK } from '../../core/viewer.ts'
import { makeExistenceSubgraph, type ExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { cpuMs } from '../loaders/cache-policy/cpu.ts'
import type { Measure } from '../support/report.ts'
import type { Ask, BloomPeer, LegacyPeer } from './peers.ts'
import { REGIONS, SHAPE, redisCpuMs } from './servers.ts'
import { BUSINESS, candidatesOf, lastOf, timingsOf, type MadeViewer } from './viewers.ts'

const COUNT_USUAL = 2_000
export const COUNTS = [COUNT_USUAL, 10_000]
const ISSUED = 100
const STAGED = 40
/** p99, milliseconds, for 2,000 candidates. */
const WARM_MAX_MS = 5
const COLD_MAX_MS = 10
/** Warm-up calls of 2,000 candidates. */
const WARM_UP = 200
const SCOPES = [SCOPE_EXISTENCE_BULK]
const UNSEEN =
  'query Unseen($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids droppedIssued droppedStaged droppedFiltered } }'

/** Played subjects are in filters, and the last ones are staged. Served subjects are in the hot store. */
export async function putViewers({ hot, records }: Pick<SeenStores, 'hot' | 'records'>, viewers: readonly MadeViewer[]): Promise<void> {
  const now = systemClock.now()
  for (const { name, ids, months } of viewers) {
    const writes = months.map((states, back) => ({
      ...{ viewer: name, month: monthOf(now) - back, filter: lastOf(states) },
      ...{ expected: 0, expiresAt: now + 1e10 },
    }))
    await records.putFilters(writes)
    await hot.putIssued(name, BUSINESS, ids.slice(0, ISSUED), { now, cap: ISSUED, minAgeMs: 0, hardCap: ISSUED, ttlMs: 1e10 })
    const plays = ids.slice(ISSUED, ISSUED + STAGED).map((oid) => ({ viewer: name, business: BUSINESS, oid, playedAt: now }))
    await hot.stagePlays(plays, { now, slot: slotOf(now, SHAPE.slots) })
  }
}

export type Shape = { name: string; stores: SeenStores; redis?: Redis | undefined }

/** `calls`: calls with 2,000 candidates. There are a quarter as many with 10,000. */
export async function measureReads(shape: Shape, viewers: readonly MadeViewer[], calls: number): Promise<Measure[]> {
  const measures: Measure[] = []
  for (const isCold of [false, true]) {
    const subgraph = openSubgraph(shape.stores, isCold)
    const ways: [string, Ask][] = [
      ['service', bySubgraph(subgraph)],
      ['GraphQL', byGraphql(subgraph)],
    ]
    for (const [way, ask] of ways) {
      for (const count of COUNTS) {
        const of = `${shape.name}, ${isCold ? 'filters from the record store' : 'filters in memory'}, ${way}, ${count} candidates`
        const target = count === COUNT_USUAL ? { target: isCold ? COLD_MAX_MS : WARM_MAX_MS, atMost: true } : {}
        measures.push(...(await timed(of, ask, viewers, count, Math.ceil((calls * COUNT_USUAL) / count), shape.redis, target)))
      }
    }
    await subgraph.drain()
  }
  return measures
}

export async function measurePeers(
  redis: Redis,
  viewers: readonly MadeViewer[],
  legacy: LegacyPeer,
  bloom: BloomPeer | undefined,
  calls: number,
): Promise<Measure[]> {
  const ways: [string, Ask][] = [
    ['sorted set, ZSCORE', legacy.zscore],
    ['sorted set, ZMSCORE', legacy.zmscore],
    ...(bloom === undefined ? [] : [['RedisBloom, BF.MEXISTS', bloom.exists] as [string, Ask]]),
  ]
  const measures: Measure[] = []
  for (const [way, ask] of ways) {
    for (const count of COUNTS) {
      measures.push(...(await timed(`${way}, ${count} candidates`, ask, viewers, count, Math.ceil((calls * COUNT_USUAL) / count), redis)))
    }
  }
  return measures
}

async function timed(
  of: string,
  ask: Ask,
  viewers: readonly MadeViewer[],
  count: number,
  calls: number,
  redis?: Redis,
  target: Pick<Measure, 'target' | 'atMost'> = {},
): Promise<Measure[]> {
  const samples: number[] = []
  const cpu: number[] = []
  let redisBefore = 0
  for (let call = -Math.ceil((WARM_UP * COUNT_USUAL) / count); call < calls; call++) {
    if (call === 0 && redis !== undefined) redisBefore = await redisCpuMs(redis)
    const viewer = viewers[Math.abs(call) % viewers.length] as MadeViewer
    // Created just before the call, as for a request: old objects would be slower to read and a burden for the collector.
    const candidates = candidatesOf(viewer, call + WARM_UP, count)
    const [begun, cpuBegun] = [performance.now(), cpuMs()]
    const left = await ask(viewer, candidates)
    if (call >= 0) {
      samples.push(performance.now() - begun)
      cpu.push(cpuMs() - cpuBegun)
    }
    // One in twenty was played. One in a hundred of the others may be hidden.
    if (left > count * 0.95 || left < count * 0.93) throw new Error(`${of}: ${left} of ${count} are left, which cannot be`)
  }
  const { p50Ms, p99Ms } = timingsOf(samples)
  const measures: Measure[] = [
    { metric: `${of}: p50`, value: p50Ms, unit: 'ms' },
    { metric: `${of}: p99`, value: p99Ms, unit: 'ms', ...target },
    { metric: `${of}: CPU`, value: cpu.reduce((sum, each) => sum + each, 0) / calls, unit: 'ms/call' },
    { metric: `${of}: CPU, p99`, value: timingsOf(cpu).p99Ms, unit: 'ms' },
  ]
  if (redis !== undefined)
    measures.push({ metric: `${of}: CPU of Redis`, value: ((await redisCpuMs(redis)) - redisBefore) / calls, unit: 'ms/call' })
  return measures
}

function openSubgraph(stores: SeenStores, isCold: boolean): ExistenceSubgraph {
  const values = {
    stores: { regions: REGIONS },
    existence: { ...SHAPE, ...(isCold ? { cacheTtlMs: 0 } : {}) },
    businesses: [{ number: BUSINESS, name: 'video', entity: 'Video' }],
  }
  const { hot, log, records } = stores
  return makeExistenceSubgraph(systemClock, { hot, log, records }, makeConfig([{ name: 'bench', values }]), (error) => {
    throw error
  })
}

function bySubgraph({ service }: ExistenceSubgraph): Ask {
  return async ({ name }, candidates) =>
    (await complete((without) => service.unseen({ id: name, scopes: SCOPES }, 'video', candidates, [], without))).ids.length
}

/** graphql-js parses, validates and executes each call. The gateway does the first two once. */
function byGraphql(subgraph: ExistenceSubgraph): Ask {
  return async ({ name }, candidates) => {
    const degraded: Degraded = new Set()
    const { data, errors } = await graphql({
      schema: subgraph.schema,
      source: UNSEEN,
      variableValues: { ids: candidates },
      contextValue: { viewer: { id: name, scopes: SCOPES }, degraded, loaders: subgraph.makeLoaders(degraded) },
    })
    if (errors !== undefined || degraded.size > 0) throw new Error(`no answer: ${String(errors?.[0])}, without ${[...degraded].join()}`)
    return (data as { unseen: { ids: string[] } }).unseen.ids.length
  }
}
