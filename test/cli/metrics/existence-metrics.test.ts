/** The metrics of feed existence, and the processes that expose them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { addExistenceJobMetrics, addExistenceMetrics } from '../../../cli/metrics/existence-metrics.ts'
import { fixedConfig } from '../../../cli/process/live-config.ts'
import { openParts } from '../../../cli/process/subgraphs.ts'
import type { SubgraphName } from '../../../subgraphs/names.ts'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { openStores } from '../../../cli/stores/history.ts'
import { HOUR, openSeen, seenConfig, serveSeen } from '../../subgraphs/feed-existence/opened.ts'
import { eventually, until } from '../../../harness/until.ts'

/** No server listens at this address. */
const LEGACY = { urls: ['redis://127.0.0.1:1'] }

/** The names of the metrics that a job of these subgraphs exposes. */
async function toldBy(names: readonly SubgraphName[], existence: object): Promise<Set<string>> {
  const data = mkdtempSync(join(tmpdir(), 'tidemark-metrics-'))
  const config = makeConfig([
    {
      name: 'test',
      values: {
        stores: { data, regions: 2 },
        existence: { shards: 2, ...existence },
        businesses: [{ number: 1, name: 'video', entity: 'Video' }],
      },
    },
  ])
  const log = pino({ level: 'silent' })
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  const parts = await openParts(names, { serves: false, persists: true, journals: false }, fixedConfig(config), stores, registry, log)
  const told = await registry.metrics()
  for (const { subgraph } of parts) await subgraph.drain()
  for (const { job } of parts) await job?.stop()
  for (const part of parts) await part.closeJournals()
  await stores.close()
  rmSync(data, { recursive: true, force: true })
  return new Set([...told.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name as string))
}

test('the missed plays of the legacy store are exposed by each process that writes plays back, and by no other', async () => {
  for (const names of [['history'], ['feed-existence'], ['history', 'feed-existence']] as const) {
    const told = await toldBy(names, { legacy: LEGACY })
    expect([...told], String(names)).toEqual(
      expect.arrayContaining(['tidemark_legacy_missed_total', 'tidemark_legacy_written_total', 'tidemark_legacy_gone_total']),
    )
    expect([...(await toldBy(names, {}))].filter((name) => name.startsWith('tidemark_legacy'))).toEqual([])
  }
  const helpsNobody = await toldBy(['history'], { legacy: LEGACY, fromHistory: false })
  expect([...helpsNobody].filter((name) => name.startsWith('tidemark_legacy'))).toEqual([])
})

test('the hidden share of filters and the share unknown to history are exposed by a serving process', async () => {
  const opened = openSeen()
  // Four plays exceed the limit of an hour, so they are folded at once.
  const served = serveSeen(opened, seenConfig({ stagedMax: 3 }))
  onTestFinished(async () => {
    await served.stop()
    await opened.close()
  })
  const registry = new Registry()
  addExistenceMetrics(registry, served.subgraph)
  const told = async () => {
    const text = await registry.metrics()
    return ['sampled', 'unknown'].map((name) => Number(new RegExp(`^tidemark_filter_drops_${name}_total (.*)$`, 'm').exec(text)?.[1]))
  }
  expect(await told()).toEqual([0, 0])
  await served.play('7', ['a', 'b', 'c', 'd'])
  await until('the fold', async () => (await opened.plain.hot.getSeen('7', 1)).staged.length === 0)
  const record = { viewedAt: 9, since: 0, rank: 1, version: 1, position: 5, duration: 9, device: '', finished: false, deleted: false }
  await opened.history.putProgress([{ key: { viewer: '7', business: 1, oid: 'b' }, record }])
  expect(await served.unseen('7', ['a', 'b', 'c', 'd'])).toEqual([])
  await eventually(async () => expect(await told()).toEqual([4, 3]))
})

test('the last completely folded hour is exposed by a job', async () => {
  const opened = openSeen()
  const served = serveSeen(opened)
  const job = await served.subgraph.startJob()
  onTestFinished(async () => {
    // The log waits by a clock that no other code advances any more.
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
    await served.stop()
    await opened.close()
  })
  const registry = new Registry()
  addExistenceJobMetrics(registry, job, opened.stores)
  const told = async () => Number(/^tidemark_folds_hour_timestamp_seconds (.*)$/m.exec(await registry.metrics())?.[1])
  await served.play('7', ['a'])
  const hour = Math.floor(opened.clock.now() / HOUR) * 3_600
  expect(await told()).toBeLessThan(hour)
  await served.afterHours(job)
  await eventually(async () => expect(await told()).toBe(hour))
})
