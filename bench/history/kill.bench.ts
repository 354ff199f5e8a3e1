/**
 * Does a killed service lose acknowledged writes? It is killed 200 times (10 with --quick) at random moments of a replay. After each
 * restart every timeline is compared. After the load ends, the record store is compared.
 *
 *     npm run bench -- kill [--quick] [--json]
 */
import { KILL_SETTINGS, killRounds } from '../../harness/faults/kill-rounds.ts'
import { makeServiceFolder } from '../../harness/deployment/service.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const { folder, remove } = makeServiceFolder()
  try {
    const report = await killRounds({
      folder,
      settings: KILL_SETTINGS,
      rounds: quick ? 10 : 200,
      seed: Date.now() % 1_000_000,
      writeMaxMs: 1_500,
      viewers: 40,
      subjects: 50,
      progress,
    })
    for (const loss of report.losses) progress(loss)
    return [
      { metric: 'kills', value: report.rounds, unit: '' },
      { metric: 'reports acknowledged', value: report.acknowledged, unit: '' },
      { metric: 'lost or torn', value: report.losses.length, unit: '', target: 0, atMost: true },
      { metric: 'rows of the record store : keys written', value: report.rows / report.expectedRows, unit: 'ratio', target: 1 },
    ]
  } finally {
    remove()
  }
}
