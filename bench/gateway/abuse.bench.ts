/**
 * Does a client that wants to harm the service harm others? Each attack of harness/abuse/attacks/ runs against a fresh process in
 * production mode with default limits, while a healthy client at another address goes on with its work. The same client alone,
 * just before, is the measure.
 *
 *     npm run bench -- abuse [--quick] [--json] [--only PART] [--minutes N]
 *
 * An hour of attacks in all, or N minutes, shared among them evenly: on the embedded shape, then the gateway of the distributed shape.
 * `--quick`: 6 s each, embedded. `--only`: the attacks whose titles contain PART.
 *
 * Memory is the anonymous part of the resident set, before the attack and after it, once the product had 10 s to recover.
 */
import { SHAPES, startProduct, type Shape } from '../../harness/abuse/product.ts'
import { allAttacks, endBytesMax, underAttack, type PlacedAttack, type Seen } from '../../harness/abuse/under-attack.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const MINUTE_MS = 60_000
const MINUTES = 60
const QUICK_MS = 6_000
const RECOVERY_MS = 10_000
const MEGABYTE = 1_048_576
/** A p99 below this comes from the scheduler: three times zero is not a measure. */
const P99_FLOOR_MS = 10
const LOG_BYTES_PER_SECOND = 10_000

type Planned = PlacedAttack & { shape: Shape }

export async function bench({ quick, only, minutes = MINUTES, progress }: BenchOptions): Promise<Measure[]> {
  const planned = await plannedAttacks(quick ? ['embedded'] : SHAPES, only)
  if (planned.length === 0) throw new Error(`no attack has "${only}" in its title`)
  const durationMs = quick ? QUICK_MS : (minutes * MINUTE_MS) / planned.length
  const measures: Measure[] = []
  for (const each of planned) {
    progress(`abuse: ${titleOf(each)}, ${Math.round(durationMs / 1_000)} s`)
    const product = await startProduct(each.shape, each.attack.role)
    try {
      const seen = await underAttack(product, each, {
        warmUpMs: Math.min(durationMs, 5_000),
        aloneMs: Math.min(durationMs, 10_000),
        attackedMs: durationMs,
        recoveryMs: RECOVERY_MS,
      })
      progress(`  attacker: ${said(seen.counts)}`)
      if (seen.attacked.firstFailure !== undefined) progress(`  first failure of the healthy client: ${seen.attacked.firstFailure}`)
      for (const death of product.deaths()) progress(`  ${death}`)
      measures.push(...measuresOf(titleOf(each), seen, durationMs, product.deaths().length))
    } finally {
      await product.remove()
    }
  }
  return measures
}

async function plannedAttacks(shapes: readonly Shape[], only = ''): Promise<Planned[]> {
  const wanted = (await allAttacks()).filter(({ attack }) => attack.title.includes(only))
  const planned = wanted.flatMap((placed) => shapes.map((shape) => ({ ...placed, shape })))
  // A standalone subgraph runs the same code in the distributed shape, so one run is enough.
  return planned.filter(({ attack, shape }) => attack.role === 'start' || shape === 'embedded')
}

function measuresOf(title: string, seen: Seen, durationMs: number, deaths: number): Measure[] {
  const { alone, attacked, startBytes, peakBytes, endBytes, logBytes, redisGrownBytes } = seen
  const row = (metric: string, value: number, unit: string, target?: number): Measure => ({
    metric: `${title}: ${metric}`,
    value,
    unit,
    ...(target !== undefined && { target, atMost: true }),
  })
  return [
    row('processes that ended', deaths, '', 0),
    row('healthy calls that failed', attacked.failed, '', 0),
    row('healthy p99 alone', alone.p99Ms, 'ms'),
    row('healthy p99 attacked', attacked.p99Ms, 'ms', 3 * Math.max(Math.round(alone.p99Ms), P99_FLOOR_MS)),
    row('slowest healthy call attacked', attacked.worstMs, 'ms'),
    row('memory at the start', startBytes / MEGABYTE, 'MB'),
    row('memory at most', peakBytes / MEGABYTE, 'MB'),
    row('memory at the end', endBytes / MEGABYTE, 'MB', Math.round(endBytesMax(startBytes) / MEGABYTE)),
    row('log', logBytes / (durationMs / 1_000), 'bytes/s', LOG_BYTES_PER_SECOND),
    ...(redisGrownBytes === undefined ? [] : [row('Redis grew by', redisGrownBytes / MEGABYTE, 'MB', 64)]),
  ]
}

function titleOf({ attack, shape }: Planned): string {
  return `${attack.title}, ${shape}`
}

function said(counts: Seen['counts']): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}
