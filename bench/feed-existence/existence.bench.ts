/**
 * How much space do the plays of fifty million viewers take, and how fast are queries?
 *
 *     npm run bench -- existence [--quick] [--json] [--bloom-module redisbloom.so]
 *
 * 1. Bytes of a record, of a viewer, and of all viewers, compared with the sorted set of raw ids and the floor (`sizes.ts`).
 * 2. `unseen` with 2,000 and 10,000 candidates, filters in memory and not, on both shapes, in turn with the legacy design and
 *    with RedisBloom, if its module is given (`reads.ts`, `peers.ts`), and over HTTP (`http.ts`).
 * 3. Candidates per second of one core (`probing.ts`).
 * 4. The spread of shards and expiry (`spread.ts`).
 *
 * Redis and MariaDB run only for this benchmark, on this machine, durable as shipped. The Redis of the peers persists nothing.
 * RedisBloom 2.4 runs in Redis 7.0; Debian has no package of it. Build it from its sources with the submodule t-digest-c and an empty
 * `readies/cetara/diag/gdb.h`: `gcc -O3 -fPIC -shared -D_GNU_SOURCE -DREDIS_MODULE_TARGET -DREDISMODULE_EXPERIMENTAL_API`.
 */
import { Redis } from 'ioredis'
import { measureHttp } from './http.ts'
import { bloomPeer, legacyPeer } from './peers.ts'
import { measureProbing } from './probing.ts'
import { measurePeers, measureReads, putViewers } from './reads.ts'
import { openDistributedStores, openEmbeddedStores, startOwnRedis } from './servers.ts'
import { measureSizes, measureStored } from './sizes.ts'
import { measureSpread } from './spread.ts'
import { RECORDS_OF_SOURCES, makeViewer } from './viewers.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, bloomModule, progress }: BenchOptions): Promise<Measure[]> {
  // With fewer calls, one or two garbage collections would decide the p99.
  const calls = quick ? 600 : 2_000
  progress('viewers with 10,000 records each')
  const viewers = Array.from({ length: quick ? 20 : 100 }, (_, number) => makeViewer(number, RECORDS_OF_SOURCES))
  const opened: { close(): Promise<void> }[] = []
  const keep = <T extends { close(): Promise<void> }>(part: T): T => (opened.push(part), part)
  try {
    const own = await startOwnRedis(bloomModule === undefined ? [] : [`loadmodule ${bloomModule}`])
    keep({ close: own.stop })
    const legacy = legacyPeer(own.redis)
    const bloom = bloomModule === undefined ? undefined : bloomPeer(own.redis)
    progress('bytes')
    const sizes = await measureSizes(legacy, bloom, quick)
    const embedded = keep(openEmbeddedStores())
    progress('starting Redis and MariaDB')
    const distributed = keep(await openDistributedStores())
    const stored = await measureStored(embedded, distributed, quick ? 300 : 4_000)
    progress('unseen, embedded')
    await putViewers(embedded, viewers)
    const reads = await measureReads({ name: 'embedded', stores: embedded }, viewers, calls)
    progress('unseen, Redis and MariaDB')
    await putViewers(distributed, viewers)
    const redis = new Redis(distributed.redisUrl)
    keep({ close: async () => redis.disconnect() })
    reads.push(...(await measureReads({ name: 'Redis and MariaDB', stores: distributed, redis }, viewers, calls)))
    progress('the same candidates, asked of peers')
    for (const viewer of viewers) await Promise.all([legacy.put(viewer), bloom?.put(viewer)])
    const peers = await measurePeers(own.redis, viewers, legacy, bloom, quick ? 50 : 500)
    progress('unseen over HTTP')
    const http = await measureHttp(viewers, calls / 4)
    progress('probing')
    const probing = measureProbing(viewers, calls / 4)
    progress('shards and expiry')
    return [...sizes, ...stored, ...reads, ...peers, ...http, ...probing, ...measureSpread(quick)]
  } finally {
    for (const part of opened.reverse()) await part.close()
  }
}
