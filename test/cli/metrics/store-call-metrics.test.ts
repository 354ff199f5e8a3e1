import { AggregatorRegistry, Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { addStoreCallMetrics } from '../../../cli/metrics/store-call-metrics.ts'
import { makeStoreCalls } from '../../../core/outage/store-calls.ts'

/** A registry of a process that made one call of 3 ms. */
async function registryWithCall(): Promise<Registry> {
  let now = 0
  const [registry, calls] = [new Registry(), makeStoreCalls(() => now)]
  addStoreCallMetrics(registry, calls)
  const store = calls.measure({ subgraph: 'thumbup', store: 'hot', business: 'video' }, { get: async () => void (now += 3) })
  await store.get()
  return registry
}

const LABELS = 'subgraph="thumbup",store="hot",business="video",operation="get",outcome="ok"'

test('a call is a histogram in the format of Prometheus, with cumulated buckets', async () => {
  const text = await (await registryWithCall()).metrics()
  const lines = text.split('\n')
  expect(lines).toContain('# TYPE tidemark_store_call_seconds histogram')
  expect(lines).toContain(`tidemark_store_call_seconds_bucket{${LABELS},le="0.0025"} 0`)
  expect(lines).toContain(`tidemark_store_call_seconds_bucket{${LABELS},le="0.005"} 1`)
  expect(lines).toContain(`tidemark_store_call_seconds_bucket{${LABELS},le="+Inf"} 1`)
  expect(lines).toContain(`tidemark_store_call_seconds_sum{${LABELS}} 0.003`)
  expect(lines).toContain(`tidemark_store_call_seconds_count{${LABELS}} 1`)
})

test('the calls of several workers are added up', async () => {
  const registries = [await registryWithCall(), await registryWithCall()]
  const text = await AggregatorRegistry.aggregate(await Promise.all(registries.map((each) => each.getMetricsAsJSON()))).metrics()
  expect(text).toContain(`tidemark_store_call_seconds_count{${LABELS}} 2`)
  expect(text).toContain(`tidemark_store_call_seconds_sum{${LABELS}} 0.006`)
})
