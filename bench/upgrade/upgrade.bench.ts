/**
 * Does an upgrade, or its way back, lose a write or fail a request? The release before and this checkout run side by side under load: on
 * Redis, Kafka and MariaDB process by process, and on the embedded stores one after the other on the same data folder. Each call goes to a
 * process that is ready, as behind a load balancer. After the load, every acknowledged write is looked up through the API and in the
 * record store.
 *
 * The release before is a commit of this repository, or the checkout of `--against`, which has its packages installed.
 *
 *     npm run bench -- upgrade [--quick] [--only embedded|distributed] [--against CHECKOUT]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkOut } from '../../harness/upgrade/checkout.ts'
import { upgradeDistributed } from '../../harness/upgrade/distributed.ts'
import { upgradeEmbedded } from '../../harness/upgrade/embedded.ts'
import type { UpgradeOptions, UpgradeReport } from '../../harness/upgrade/upgrade.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

/** The first commit with the promise of docs/operating/upgrade.md. After a release, its tag. */
const BEFORE = '2b81bb318e7634f7cdad745d6ed6c9a27fe22e42'
const SHAPES = { embedded: upgradeEmbedded, distributed: upgradeDistributed }

export async function bench({ quick, only, against, progress }: BenchOptions): Promise<Measure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-before-'))
  try {
    const before = against?.[0] ?? checkOut(BEFORE, folder)
    const releases = { before, present: join(import.meta.dirname, '..', '..') }
    const options: UpgradeOptions = { releases, stepMs: quick ? 0 : 10_000, seed: Date.now() % 1_000_000, progress }
    const measures: Measure[] = []
    for (const [shape, upgrade] of Object.entries(SHAPES)) {
      if (only !== undefined && only !== shape) continue
      progress(`${shape}: the release before is ${against?.[0] ?? BEFORE}`)
      measures.push(...measuresOf(shape, await upgrade(options), progress))
    }
    return measures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function measuresOf(shape: string, report: UpgradeReport, progress: (text: string) => void): Measure[] {
  for (const sentence of [...report.losses, ...report.deaths].slice(0, 20)) progress(sentence)
  const none = (metric: string, sentences: readonly string[]): Measure => ({
    ...{ metric: `${shape}: ${metric}`, value: sentences.length, unit: '', target: 0, atMost: true },
  })
  return [
    { metric: `${shape}: steps`, value: report.steps, unit: '' },
    { metric: `${shape}: calls`, value: report.calls, unit: '' },
    { metric: `${shape}: writes acknowledged`, value: report.acknowledged, unit: '' },
    { metric: `${shape}: slowest answer`, value: report.slowestMs, unit: 'ms' },
    none('writes lost, stale or counted wrongly', report.losses),
    none('calls that failed, answers wrong or degraded', report.failures),
    none('processes that ended by themselves', report.deaths),
  ]
}
