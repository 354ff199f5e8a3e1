/**
 * Does a client that wants to harm the service harm others? Each attack of bench/abuse/attacks/ runs against a fresh process in
 * production mode with default limits, while a healthy client at another address goes on with its work. The same client alone,
 * just before, is the measure.
 *
 *     npm run bench -- abuse [--quick] [--json] [--only PART]
 *
 * An hour of attacks in all, shared among them evenly: on the embedded shape, then the gateway of the distributed shape.
 * `--quick`: 6 s each, embedded. `--only`: the attacks whose titles contain PART.
 *
 * Memory is the anonymous part of the resident set, before the attack and after it, once the product had 10 s to recover.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, Target } from './abuse/attack.ts'
import { makeHealthyClient, tokenOf, type HealthyClient, type Latencies } from './abuse/healthy-client.ts'
import { SECRET, SHAPES, startProduct, type Product, type Shape } from './abuse/product.ts'
import type { BenchOptions, Measure } from './report.ts'

const FOLDER = join(import.meta.dirname, 'abuse')
const HOUR_MS = 3_600_000
const QUICK_MS = 6_000
const RECOVERY_MS = 10_000
const MEGABYTE = 1_048_576
/** A p99 below this comes from the scheduler: three times zero is not a measure. */
const P99_FLOOR_MS = 10
const LOG_BYTES_PER_SECOND = 10_000

type Planned = { file: string; index: number; attack: Attack; shape: Shape }
type Counts = Readonly<Record<string, number>>
type Seen = { alone: Latencies; attacked: Latencies; counts: Counts; startBytes: number; peakBytes: number; endBytes: number }

export async function bench({ quick, only, progress }: BenchOptions): Promise<Measure[]> {
  const planned = await plannedAttacks(quick ? ['embedded'] : SHAPES, only)
  if (planned.length === 0) throw new Error(`no attack has "${only}" in its title`)
  const durationMs = quick ? QUICK_MS : HOUR_MS / planned.length
  const measures: Measure[] = []
  for (const each of planned) {
    progress(`abuse: ${titleOf(each)}, ${Math.round(durationMs / 1_000)} s`)
    const product = await startProduct(each.shape, each.attack.role)
    try {
      measures.push(...(await attacked(product, each, durationMs, progress)))
    } finally {
      await product.remove()
    }
  }
  return measures
}

async function plannedAttacks(shapes: readonly Shape[], only = ''): Promise<Planned[]> {
  const planned: Planned[] = []
  for (const file of readdirSync(join(FOLDER, 'attacks')).sort()) {
    const { attacks } = (await import(`./abuse/attacks/${file}`)) as { attacks: readonly Attack[] }
    attacks.forEach((attack, index) => {
      if (attack.title.includes(only)) planned.push(...shapes.map((shape) => ({ file, index, attack, shape })))
    })
  }
  // A subgraph alone on the distributed shape stands on the same code: once is enough.
  return planned.filter(({ attack, shape }) => attack.role === 'start' || shape === 'embedded')
}

async function attacked(product: Product, planned: Planned, durationMs: number, progress: (text: string) => void): Promise<Measure[]> {
  const { url } = product.role
  const client = await makeHealthyClient(url, planned.attack.role, SECRET)
  const target: Target = { url, webSocketUrl: url.replace('http', 'ws'), token: await tokenOf(SECRET, 'attacker') }
  try {
    await client.run(Math.min(durationMs, 5_000))
    const redisBefore = await product.redisBytes()
    const logBefore = product.logBytes()
    const seen = await measured(product, planned, target, client, durationMs)
    const redisAfter = await product.redisBytes()
    const logged = (product.logBytes() - logBefore) / (durationMs / 1_000)
    progress(`  attacker: ${said(seen.counts)}`)
    if (seen.attacked.firstFailure !== undefined) progress(`  first failure of the healthy client: ${seen.attacked.firstFailure}`)
    for (const death of product.deaths()) progress(`  ${death}`)
    return measuresOf(
      titleOf(planned),
      seen,
      logged,
      product.deaths().length,
      redisAfter === undefined ? undefined : redisAfter - (redisBefore ?? 0),
    )
  } finally {
    await client.close()
  }
}

async function measured(product: Product, planned: Planned, target: Target, client: HealthyClient, durationMs: number): Promise<Seen> {
  const alone = await client.run(Math.min(durationMs, 30_000))
  const startBytes = product.memoryBytes()
  let peakBytes = startBytes
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, product.memoryBytes())
  }, 250)
  const attacker = fork(join(FOLDER, 'attacker.ts'), [planned.file, String(planned.index), JSON.stringify(target)])
  try {
    const counts = once(attacker, 'message') as Promise<[Counts]>
    const ended = once(attacker, 'exit').then(([status]) => {
      throw new Error(`the attacker ended with status ${String(status)}`)
    })
    ended.catch(() => {})
    const attackedLatencies = await Promise.race([client.run(durationMs), ended])
    attacker.send('stop')
    const [counted] = await Promise.race([counts, ended])
    await sleep(RECOVERY_MS)
    return { alone, attacked: attackedLatencies, counts: counted, startBytes, peakBytes, endBytes: product.memoryBytes() }
  } finally {
    clearInterval(watch)
    attacker.kill('SIGKILL')
  }
}

function measuresOf(title: string, seen: Seen, logged: number, deaths: number, redisGrown: number | undefined): Measure[] {
  const { alone, attacked, startBytes, peakBytes, endBytes } = seen
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
    row('memory at the end', endBytes / MEGABYTE, 'MB', Math.round((1.5 * startBytes) / MEGABYTE) + 64),
    row('log', logged, 'bytes/s', LOG_BYTES_PER_SECOND),
    ...(redisGrown === undefined ? [] : [row('Redis grew by', redisGrown / MEGABYTE, 'MB', 64)]),
  ]
}

function titleOf({ attack, shape }: Planned): string {
  return `${attack.title}, ${shape}`
}

function said(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}
