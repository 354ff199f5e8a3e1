/**
 * One subject takes half of 20,000 reads a second. Every read is a separate lookup through the count reads of a gateway. It runs on a real
 * Redis, and its statistics give the number of commands: first directly from the count cache, then as configured.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { systemClock } from '../../core/clock.ts'
import { systemRandom } from '../../core/random.ts'
import { makeCountReads } from '../../loaders/counts.ts'
import type { Deployment } from '../../harness/deployment/deployment.ts'
import type { Measure } from '../support/report.ts'
import { BUSINESS_NUMBER, type Dataset } from './dataset.ts'

const READS_PER_SECOND = 20_000
const DETECTED_MAX_MS = 1_000
const LOCAL_MIN = 0.45
const PACE_MS = 5
/** A slow machine sends fewer reads. Otherwise they would wait until their deadline. */
const UNDER_WAY_MAX = 2_000
/** Equal to the default of the configuration. */
const HOT_BYTES = 16_777_216

export async function measureHot(deployment: Deployment, { subjects }: Dataset, seconds: number): Promise<Measure[]> {
  const stores = await deployment.openStores()
  const redis = new Redis(deployment.servers.redis.port, '127.0.0.1')
  const subject = (oid: string) => ({ business: BUSINESS_NUMBER, oid })
  const hot = subject(subjects[0] as string)

  async function run(isDirect: boolean) {
    const { cache, records } = stores.marks
    const options = { hotTtlMs: deployment.config.thumbup.hotTtlMs, hotBytesMax: HOT_BYTES, isCacheDown: () => false }
    const reads = makeCountReads(systemClock, systemRandom, cache, records, options)
    const underWay = new Set<Promise<unknown>>()
    let [done, next] = [0, 0]
    let detectedMs = Number.NaN
    async function readFor(ms: number, share: number): Promise<number> {
      const begun = performance.now()
      const doneBefore = done
      while (performance.now() - begun < ms) {
        const due = ((performance.now() - begun) * READS_PER_SECOND) / 1_000
        while (done - doneBefore < due && underWay.size < UNDER_WAY_MAX) {
          done++
          const isHot = done % 2 < 2 * share
          const wanted = [isHot ? hot : subject(subjects[next++ % subjects.length] as string)]
          const reading: Promise<unknown> = isDirect ? cache.getCountsMany(wanted) : reads.getMany(wanted, new Set())
          underWay.add(reading)
          void reading.finally(() => underWay.delete(reading))
        }
        if (Number.isNaN(detectedMs) && share > 0 && reads.figures().local.cached > 0) detectedMs = performance.now() - begun
        await sleep(PACE_MS)
      }
      await Promise.all(underWay)
      return performance.now() - begun
    }
    // Everything is in the count cache, and reads are spread evenly, before the subject becomes hot.
    for (let at = 0; at < subjects.length; at += 1_000) await reads.getMany(subjects.slice(at, at + 1_000).map(subject), new Set())
    await readFor(1_500, 0)
    await redis.config('RESETSTAT')
    const [local, all] = [reads.figures().local.cached, done]
    const tookMs = await readFor(seconds * 1_000, 0.5)
    return {
      readsPerSecond: ((done - all) / tookMs) * 1_000,
      localShare: (reads.figures().local.cached - local) / (done - all),
      commandsPerSecond: ((await callsOf(redis, 'mget')) / tookMs) * 1_000,
      detectedMs,
    }
  }

  try {
    const without = await run(true)
    const found = await run(false)
    return [
      { metric: 'hot subject: reads, half of them of one subject', value: found.readsPerSecond, unit: 'per second' },
      { metric: 'hot subject: found after', value: found.detectedMs, unit: 'ms', target: DETECTED_MAX_MS, atMost: true },
      { metric: 'hot subject: reads served locally', value: found.localShare, unit: 'of all', target: LOCAL_MIN },
      { metric: 'hot subject: Redis commands without count reads', value: without.commandsPerSecond, unit: 'per second' },
      { metric: 'hot subject: Redis commands as configured', value: found.commandsPerSecond, unit: 'per second' },
    ]
  } finally {
    redis.disconnect()
    await stores.close()
  }
}

async function callsOf(redis: Redis, command: string): Promise<number> {
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(await redis.info('commandstats'))?.[1] ?? 0)
}
