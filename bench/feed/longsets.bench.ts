/**
 * Longsets: how many memberships does one connection answer, and how long does the longest command hold Redis? A viewer follows 5,000 users.
 * The set is built and stored in one command. Then 20 users at a time are looked up, as a page does, with many calls in flight. The peer is a
 * Redis set of the same ids, asked by SMISMEMBER over a connection of the same kind. The limit is a PING over it.
 *
 *     npm run bench -- longsets [--quick] [--json]
 *
 * The three take turns on one Redis. Half of the users are followed.
 */
import { Redis } from 'ioredis'
import { startRedis } from '../../harness/deployment/redis-servers.ts'
import { connect } from '../../stores/redis/connection.ts'
import { buildLongset } from '../../subgraphs/feed/packed/longset.ts'
import { openRedisLongsets } from '../../subgraphs/feed/stores/redis/longsets.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { watchCommands } from './redis-commands.ts'

const FOLLOWS = 5_000
const ASKED = 20
const IN_FLIGHT = 32
const VIEWER = '7'
const PER_SECOND_MIN = 50_000
const TTL_MS = 3_600_000

type Reader = { name: string; ask(ids: readonly string[]): Promise<unknown> }

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const servers = await startRedis()
  const [url = ''] = servers.urls
  const longsets = openRedisLongsets({ urls: [url], regions: 100 })
  const plain = connect({ urls: [url] })
  const admin = new Redis(url)
  try {
    const follows = Array.from({ length: FOLLOWS }, (_, at) => String(at * 2))
    progress(`building and storing a set of ${FOLLOWS} follows`)
    const builds = await timeBuilds(follows, quick ? 50 : 300)
    const commands = await watchCommands(url)
    for (let at = 0; at < (quick ? 50 : 300); at++) {
      if (!(await longsets.put(VIEWER, buildLongset(follows), await longsets.beginBuild(VIEWER), TTL_MS)))
        throw new Error('a set was refused')
    }
    const stored = await commands.measures('building and storing')
    await admin.sadd('peer', ...follows)
    const readers: Reader[] = [
      { name: 'longset', ask: (ids) => longsets.has(VIEWER, ids) },
      { name: 'SMISMEMBER', ask: (ids) => plain.send([{ name: 'smismember', args: ['peer', ...ids] }]) },
      { name: 'PING', ask: () => plain.send([{ name: 'ping', args: [] }]) },
    ]
    await checkEqual(longsets.has, admin)
    progress('looking users up')
    const watched = await watchCommands(url)
    const [longset, members, ping] = (await inTurn(readers, quick ? 3 : 9, quick ? 400 : 1_500)) as [number, number, number]
    return [
      { metric: `a longset of ${FOLLOWS} follows is built in`, value: builds, unit: 'ms' },
      ...stored,
      { metric: `longset: memberships on one connection`, value: longset, unit: 'per second', target: PER_SECOND_MIN },
      { metric: `SMISMEMBER of a Redis set: the same`, value: members, unit: 'per second' },
      { metric: `PING of the same connection, ${ASKED} memberships each`, value: ping, unit: 'per second' },
      { metric: 'longset : SMISMEMBER', value: longset / members, unit: 'ratio' },
      { metric: 'longset : PING', value: longset / ping, unit: 'ratio' },
      ...(await watched.measures('looking users up')),
    ]
  } finally {
    admin.disconnect()
    plain.close()
    await longsets.close()
    await servers.stop()
  }
}

async function timeBuilds(follows: readonly string[], builds: number): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < builds; at++) {
    const begun = performance.now()
    buildLongset(follows)
    times.push(performance.now() - begun)
  }
  return median(times)
}

async function checkEqual(has: (viewer: string, ids: readonly string[]) => Promise<boolean[] | undefined>, admin: Redis): Promise<void> {
  const ids = Array.from({ length: 2 * FOLLOWS }, (_, at) => String(at))
  const expected = (await admin.smismember('peer', ...ids)).map(Boolean)
  for (let at = 0; at < ids.length; at += 500) {
    const found = await has(VIEWER, ids.slice(at, at + 500))
    if (JSON.stringify(found) !== JSON.stringify(expected.slice(at, at + 500))) throw new Error('the longset and the set differ')
  }
}

/** Memberships per second of each reader: the median of the rounds. The first round warms up. */
async function inTurn(readers: readonly Reader[], rounds: number, roundMs: number): Promise<number[]> {
  const speeds = readers.map((): number[] => [])
  const pages = Array.from({ length: 500 }, (_, page) =>
    Array.from({ length: ASKED }, (_unused, at) => String((page * 37 + at * 501) % (2 * FOLLOWS))),
  )
  for (let round = 0; round <= rounds; round++) {
    for (const [which, { ask }] of readers.entries()) {
      const begun = performance.now()
      let asked = 0
      await Promise.all(
        Array.from({ length: IN_FLIGHT }, async () => {
          while (performance.now() - begun < roundMs) await ask(pages[asked++ % pages.length] as string[])
        }),
      )
      if (round > 0) speeds[which]?.push((asked * ASKED * 1_000) / (performance.now() - begun))
    }
  }
  return speeds.map(median)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
