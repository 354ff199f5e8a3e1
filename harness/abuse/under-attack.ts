/** One attack on a new product: a healthy client works alone, then during the attack, and then the product recovers. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, Target } from './attack.ts'
import { makeHealthyClient, tokenOf, type HealthyClient, type Latencies } from './healthy-client.ts'
import { SECRET, type Product } from './product.ts'

/** An attack and its place: `attacks[index]` of the file. */
export type PlacedAttack = { file: string; index: number; attack: Attack }

export type Durations = { warmUpMs: number; warmUpPerSecond?: number; aloneMs: number; attackedMs: number; recoveryMs: number }

export type Seen = {
  alone: Latencies
  attacked: Latencies
  /** Counted by the attacker. */
  counts: Readonly<Record<string, number>>
  startBytes: number
  peakBytes: number
  endBytes: number
  logBytes: number
  redisGrownBytes: number | undefined
}

export async function allAttacks(): Promise<PlacedAttack[]> {
  const placed: PlacedAttack[] = []
  for (const file of readdirSync(join(import.meta.dirname, 'attacks')).sort()) {
    const { attacks } = (await import(`./attacks/${file}`)) as { attacks: readonly Attack[] }
    attacks.forEach((attack, index) => placed.push({ file, index, attack }))
  }
  return placed
}

/** The product may have this much memory once it has recovered. */
export function endBytesMax(startBytes: number): number {
  return 1.5 * startBytes + 64 * 1_048_576
}

export async function underAttack(product: Product, placed: PlacedAttack, durations: Durations): Promise<Seen> {
  const { url } = product.role
  const client = await makeHealthyClient(url, placed.attack.role, SECRET)
  const target: Target = { url, webSocketUrl: url.replace('http', 'ws'), token: await tokenOf(SECRET, 'attacker') }
  try {
    await client.run(durations.warmUpMs, durations.warmUpPerSecond)
    const redisBefore = await product.redisBytes()
    const logBefore = product.logBytes()
    const seen = await measured(product, placed, target, client, durations)
    const redisAfter = await product.redisBytes()
    return {
      ...seen,
      logBytes: product.logBytes() - logBefore,
      redisGrownBytes: redisAfter === undefined ? undefined : redisAfter - (redisBefore ?? 0),
    }
  } finally {
    await client.close()
  }
}

async function measured(
  product: Product,
  { file, index }: PlacedAttack,
  target: Target,
  client: HealthyClient,
  { aloneMs, attackedMs, recoveryMs }: Durations,
): Promise<Omit<Seen, 'logBytes' | 'redisGrownBytes'>> {
  const alone = await client.run(aloneMs)
  const startBytes = product.memoryBytes()
  let peakBytes = startBytes
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, product.memoryBytes())
  }, 250)
  const attacker = fork(join(import.meta.dirname, 'attacker.ts'), [file, String(index), JSON.stringify(target)])
  // Real attackers have other machines, so here the product and the healthy client have priority.
  setPriority(attacker.pid as number, constants.priority.PRIORITY_BELOW_NORMAL)
  try {
    const counted = once(attacker, 'message') as Promise<[Seen['counts']]>
    const ended = once(attacker, 'exit').then(([status]) => {
      throw new Error(`the attacker ended with status ${String(status)}`)
    })
    ended.catch(() => {})
    const attacked = await Promise.race([client.run(attackedMs), ended])
    attacker.send('stop')
    const [counts] = await Promise.race([counted, ended])
    await sleep(recoveryMs)
    return { alone, attacked, counts, startBytes, peakBytes, endBytes: product.memoryBytes() }
  } finally {
    clearInterval(watch)
    attacker.kill('SIGKILL')
  }
}
