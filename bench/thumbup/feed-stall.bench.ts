/**
 * How does a counting consumer notice a stalled binary log? Marks are written all the time, while the connection to the binary log is cut
 * silently and repaired. The service's own events must take over within the bound and hand back. No change of counts may be lost or counted
 * twice.
 *
 *     npm run bench -- feed-stall [--quick] [--json]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { migrateKafka } from '../../stores/kafka/topics.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import { quietLogger } from '../../harness/samples/count-feeds.ts'
import { type StallRig, startStallRig } from '../../harness/faults/feed-stall.ts'
import { makeOwnServers, startOwnServers } from '../../harness/deployment/own-servers.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const TOPIC_PREFIX = 'tidemark'
const WRITE_EVERY_MS = 5
const SLACK_MS = 1_000

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const bounds = quick
    ? { staleAfterMs: 1_500, backAfterMs: 2_000, stalledAfterMs: 3_000 }
    : { staleAfterMs: 10_000, backAfterMs: 30_000, stalledAfterMs: 15_000 }
  progress('starting Kafka and MariaDB')
  const servers = await makeOwnServers()
  try {
    await startOwnServers(servers, ['kafka', 'mariadb'])
    const brokers = [`127.0.0.1:${servers.kafka.port}`]
    const url = `mysql://tidemark:tidemark@127.0.0.1:${servers.mariadb.port}/tidemark`
    await migrateKafka({ brokers }, { topicPrefix: TOPIC_PREFIX }, quietLogger)
    const database = openDatabase(systemClock, { url, connectionsMax: 1 })
    await migrateMysql(database)
    await database.close()
    const rig = await startStallRig(url, brokers, TOPIC_PREFIX, bounds)
    try {
      return await stall(rig, bounds.staleAfterMs, bounds.backAfterMs, quick ? 3_000 : 30_000, progress)
    } finally {
      await rig.close()
    }
  } finally {
    await servers.remove()
  }
}

async function stall(
  rig: StallRig,
  staleAfterMs: number,
  backAfterMs: number,
  stallMs: number,
  progress: (text: string) => void,
): Promise<Measure[]> {
  const { feed, network, downstream, committed, switched, reloads } = rig
  const writer = rig.write(WRITE_EVERY_MS)
  await sleep(3_000)
  const lagMs = await largest(1_000, () => feed.figures().freshnessMs)
  downstream.takeLongestSilence()

  progress('the binary log stalls')
  const cutAt = performance.now()
  const before = committed.size
  network.cut('silent')
  await reached(() => feed.figures().active === 'fallback', staleAfterMs * 3)
  const tookOverMs = (switched[0]?.at ?? Infinity) - cutAt
  await sleep(stallMs)
  const silenceMs = downstream.takeLongestSilence()
  const eventsLagMs = await largest(1_000, () => feed.figures().freshnessMs)
  const during = committed.size - before

  progress('the binary log continues')
  const mendedAt = performance.now()
  network.mend()
  await reached(() => feed.figures().primaryLagMs < staleAfterMs, 60_000)
  const freshMs = performance.now() - mendedAt
  await reached(() => feed.figures().active === 'primary', 60_000 + backAfterMs)
  const backMs = (switched[1]?.at ?? Infinity) - mendedAt
  await sleep(1_000)
  await writer.stop()
  await reached(() => downstream.received.size >= committed.size, 30_000)
  await sleep(1_000)
  const lost = [...committed].filter((version) => !downstream.received.has(version)).length
  return [
    { metric: 'changes of counts', value: committed.size, unit: '' },
    { metric: 'changes of counts during the stall', value: during, unit: '' },
    { metric: 'freshness of the binary log before, worst', value: lagMs, unit: 'ms', target: staleAfterMs, atMost: true },
    { metric: 'time to take over', value: tookOverMs, unit: 'ms', target: staleAfterMs + SLACK_MS, atMost: true },
    { metric: 'longest silence downstream', value: silenceMs, unit: 'ms', target: staleAfterMs + SLACK_MS, atMost: true },
    { metric: 'freshness of events meanwhile, worst', value: eventsLagMs, unit: 'ms' },
    { metric: 'changes lost', value: lost, unit: '', target: 0, atMost: true },
    { metric: 'changes counted twice', value: downstream.twice.length, unit: '', target: 0, atMost: true },
    { metric: 'changes that came twice and were dropped', value: feed.figures().repeated, unit: '' },
    {
      metric: 'likes downstream : likes in the database',
      value: downstream.likes() / (await rig.likesInDatabase()),
      unit: 'ratio',
      target: 1,
    },
    { metric: 'likes too many downstream', value: downstream.likes() - (await rig.likesInDatabase()), unit: '', target: 0, atMost: true },
    { metric: 'binary log fresh after', value: freshMs, unit: 'ms' },
    { metric: 'time to go back', value: backMs, unit: 'ms' },
    { metric: 'copies to be loaded anew', value: reloads.length, unit: '', target: 0, atMost: true },
  ]
}

async function reached(condition: () => boolean, maxMs: number): Promise<void> {
  for (const end = performance.now() + maxMs; !condition() && performance.now() < end;) await sleep(20)
}

async function largest(forMs: number, figure: () => number): Promise<number> {
  let found = 0
  for (const end = performance.now() + forMs; performance.now() < end; await sleep(20)) found = Math.max(found, figure())
  return found
}
