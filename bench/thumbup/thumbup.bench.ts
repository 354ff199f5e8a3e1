/**
 * How fast is thumbup, and how much work does Redis have?
 *
 *     npm run bench -- thumbup [--quick] [--json] [--file interactions.tsv.gz]
 *
 * 1. Pages of 50 subjects through a gateway on Redis, in turn with raw pipelines that read the same keys (`reads.ts`).
 * 2. Marks in batches through a gateway, on both shapes: marks per second, and updates of counts per mark (`writes.ts`).
 * 3. One subject takes half of 20,000 reads per second (`hot.ts`). `npm run bench -- cache-policy` measures the local cache.
 *
 * Redis (append-only file synced before each answer), Kafka and MariaDB run only for this benchmark, on this machine with the load
 * generator. Without --file the marks are a sample of the same form.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { callApi } from '../../conformance/api-client.ts'
import type { WireMark } from '../../cli/replay/marks-of-rows.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { apollo, makeManifestFolder } from '../../harness/samples/manifests.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { readDataset, type Dataset } from './dataset.ts'
import { measureHot } from './hot.ts'
import { PAGE_QUERY, measureReads } from './reads.ts'
import { measureWrites, settled } from './writes.ts'

const BATCH = 500
const SENDERS = 4
const MARK = 'mutation Fill($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome } } }'

export async function bench({ quick, file, progress }: BenchOptions): Promise<Measure[]> {
  const thumbup = { windowMs: quick ? 2_000 : 10_000 }
  const seconds = quick ? 4 : 30
  const dataset = await readDataset(file, quick ? 20_000 : 100_000)
  const manifests = makeManifestFolder()
  const manifest = manifests.write('page.json', apollo({ name: 'Page', type: 'query', body: PAGE_QUERY }))
  progress('starting Redis, Kafka, MariaDB, a gateway and a job')
  const settings = { thumbup, persisted: { manifests: [manifest] } }
  const deployment = await startDeployment({ jobs: 0, markJobs: 1, settings })
  try {
    progress(`${dataset.viewers.length} viewers, ${dataset.subjects.length} subjects`)
    await fill(deployment, dataset)
    const reads = await measureReads(
      deployment,
      dataset,
      quick ? { warmUpSeconds: 2, rounds: 3, seconds: 1.5 } : { warmUpSeconds: 30, rounds: 9, seconds: 3 },
      progress,
    )
    progress('one hot subject')
    const hot = await measureHot(deployment, dataset, quick ? 2 : 10)
    progress('marks in batches, on Redis, Kafka and MariaDB')
    const distributed = await measureWrites('distributed', addressesOf(deployment), seconds)
    progress('marks in batches, embedded')
    return [...reads, ...hot, ...distributed, ...(await embeddedWrites(thumbup, seconds))]
  } finally {
    await deployment.remove()
    manifests.remove()
  }
}

async function embeddedWrites(thumbup: object, seconds: number): Promise<Measure[]> {
  const { folder, remove } = makeServiceFolder()
  const service = await startService({ folder, settings: { thumbup } })
  try {
    return await measureWrites('embedded', { url: service.url, job: service.url }, seconds)
  } finally {
    await service.stop()
    remove()
  }
}

function addressesOf({ gateways, markJobs }: Deployment): { url: string; job: string } {
  return { url: gateways[0]?.url as string, job: markJobs[0]?.url as string }
}

async function fill(deployment: Deployment, { marks }: Dataset): Promise<void> {
  const { url, job } = addressesOf(deployment)
  const identity = { viewer: 'bench', scopes: ['marks:write-any'] }
  const all = marks()
  async function sender(): Promise<void> {
    for (;;) {
      const batch: WireMark[] = []
      while (batch.length < BATCH) {
        const { value, done } = await all.next()
        if (done === true) break
        batch.push(value)
      }
      if (batch.length === 0) return
      await callApi(url, MARK, { marks: batch }, identity)
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sender))
  // The first flush leaves after a second.
  await sleep(1_500)
  await settled(job)
}
