/**
 * Does a malicious client harm other clients? Each attack of harness/abuse/attacks/ runs against a new process in production
 * mode with default limits. Meanwhile a healthy client at another address works. The comparison is the same client alone, just
 * before.
 *
 *     npm run bench -- abuse [--quick] [--json] [--only PART] [--minutes N]
 *
 * The attacks take an hour in all, or N minutes, in equal parts: on the embedded shape, then on the gateway of the distributed shape.
 * `--quick`: 6 s each, embedded. `--only`: only attacks with PART in their titles.
 *
 * Memory is the anonymous part of the resident set, before the attack and after it, with 10 s to recover.
 */
import { SHAPES, startProduct, type Shape } from '../../harness/abuse/product.ts'
import { allAttacks, endBytesMax, underAttack, type PlacedAttack, type Seen } from '../../harness/abuse/under-attack.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const MINUTE_MS = 60_000
const MINUTES = 60
const QUICK_MS = 6_000
const RECOVERY_MS = 10_000
const MEGABYTE = 1_048_576
/** The scheduler alone causes a p99 up to this value, so a smaller one is no basis for a ratio. */
const P99_FLOOR_MS = 10
const LOG_BYTES_PER_SECOND = 10_000

type Planned = PlacedAttack & { shape: Shape }

export async function bench({ quick, only, minutes = MINUTES, progress }: BenchOptions): Promise<Measure[]> {
  const planned = await plannedAttacks(quick ? ['embedded'] : SHAPES, only)
  if (planned.length === 0) throw new Error(`no attack has "${only}" in its title: give --only a part of a title`)
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
  // A standalone subgraph has the same code on both shapes, so it runs on one only.
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
