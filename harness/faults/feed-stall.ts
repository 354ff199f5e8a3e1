/**
 * A change feed under a network fault. Marks are written to a real database, and the feed reads its binary log through a network that can
 * be cut. The service's events are on a real Kafka, and a consumer downstream counts. For a test and for `npm run bench -- feed-stall`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { makeEventFeed } from '../../subgraphs/thumbup/change-feed/event-feed.ts'
import { type FeedSwitch, type FeedSwitchOptions, makeFeedSwitch } from '../../subgraphs/thumbup/change-feed/feed-switch.ts'
import { eventsOf } from '../../subgraphs/thumbup/persist/events.ts'
import type { CountChanges } from '../../subgraphs/thumbup/change-feed/count-feed.ts'
import { openKafkaMarkEvents } from '../../subgraphs/thumbup/stores/kafka/events.ts'
import { makeBinlogFeed } from '../../subgraphs/thumbup/change-feed/mysql/binlog-feed.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { openMysqlMarkRecords } from '../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { portOf, quietLogger, throughPort } from '../samples/count-feeds.ts'
import { type TcpProxy, makeTcpProxy } from './tcp-proxy.ts'

const REGIONS = 24
const SUBJECTS = 30
const BUSINESS = 7

export type StallRig = {
  /** The network between the change feed and the database. */
  network: TcpProxy
  feed: FeedSwitch
  /** Writes a transaction of some marks every `everyMs` until it is stopped. The events of each go to Kafka. */
  write(everyMs: number): { stop(): Promise<void> }
  downstream: Downstream
  /** Versions of counts that were committed, `oid@version`. */
  committed: ReadonlySet<string>
  switched: { active: string; at: number; reason: string }[]
  reloads: string[]
  /** The total counts in the database. */
  likesInDatabase(): Promise<number>
  close(): Promise<void>
}

/** Sums up changes. A consumer that gets a change twice, or after a newer one, counts wrongly. */
export type Downstream = {
  received: ReadonlySet<string>
  twice: string[]
  likes(): number
  /** The longest time (ms) without a change since the last call. */
  takeLongestSilence(): number
}

export async function startStallRig(
  url: string,
  brokers: readonly string[],
  topicPrefix: string,
  options: FeedSwitchOptions & { stalledAfterMs: number },
): Promise<StallRig> {
  const network = await makeTcpProxy(portOf(url))
  const database = openDatabase(systemClock, { url, connectionsMax: 2 })
  const records = await openMysqlMarkRecords({ url, regions: REGIONS })
  const surroundings = { clock: systemClock, logger: quietLogger }
  const events = openKafkaMarkEvents({ connection: { brokers }, regions: REGIONS, topicPrefix }, surroundings)
  const mysql = { url: throughPort(url, network.port), connectTimeoutMs: 1_000 }
  const binlog = makeBinlogFeed(
    database,
    { name: 'stalled', mysql, beatEveryMs: Math.min(1_000, (options.staleAfterMs ?? 10_000) / 10), stalledAfterMs: options.stalledAfterMs },
    surroundings,
  )
  const committed = new Set<string>()
  const [switched, reloads]: [StallRig['switched'], string[]] = [[], []]
  const { downstream, apply } = makeDownstream()
  const feed = await makeFeedSwitch(
    systemClock,
    binlog,
    makeEventFeed(events, 'stalled'),
    apply,
    { onSwitch: (active, reason) => switched.push({ active, reason, at: performance.now() }), onReload: (reason) => reloads.push(reason) },
    options,
  )
  const writers: { stop(): Promise<void> }[] = []
  let written = 0

  function write(everyMs: number) {
    let stopped = false
    const writing = (async () => {
      while (!stopped) {
        const [business, markedAt] = [BUSINESS, Date.now()]
        const rows = Array.from({ length: 5 }, (_, index) => {
          written++
          const key = { viewer: `v${written}`, business, oid: `s${(written * 7 + index) % SUBJECTS}` }
          return { key, record: { mark: 'LIKE' as const, markedAt, version: written } }
        })
        const { changes } = await records.applyMarks(rows, [])
        if (changes !== undefined) {
          for (const { oid, counts } of changes.counts) committed.add(`${oid}@${counts.version}`)
          const told = eventsOf(changes)
          await events.appendEvents([], told.counts)
        }
        await sleep(everyMs)
      }
    })()
    const writer = {
      async stop() {
        stopped = true
        await writing
      },
    }
    writers.push(writer)
    return writer
  }

  return {
    network,
    feed,
    write,
    downstream,
    committed,
    switched,
    reloads,
    async likesInDatabase() {
      const { rows } = await database.send(`SELECT COALESCE(SUM(likes), 0) FROM counts WHERE business = ${BUSINESS}`)
      return Number(rows[0]?.[0])
    },
    async close() {
      await Promise.allSettled(writers.map((writer) => writer.stop()))
      await feed.stop()
      await events.close()
      await records.close()
      await database.close()
      await network.close()
    },
  }
}

function makeDownstream(): { downstream: Downstream; apply(changes: CountChanges): Promise<void> } {
  const received = new Set<string>()
  const twice: string[] = []
  const last = new Map<string, { version: number; likes: number }>()
  let total = 0
  let heardAt = performance.now()
  let longest = 0

  async function apply({ counts }: CountChanges): Promise<void> {
    const now = performance.now()
    longest = Math.max(longest, now - heardAt)
    heardAt = now
    for (const { oid, counts: of } of counts) {
      const known = last.get(oid) ?? { version: 0, likes: 0 }
      if (of.version <= known.version) twice.push(`${oid}@${of.version}`)
      received.add(`${oid}@${of.version}`)
      total += of.likes - known.likes
      last.set(oid, of)
    }
  }

  return {
    apply,
    downstream: {
      received,
      twice,
      likes: () => total,
      takeLongestSilence() {
        const found = Math.max(longest, performance.now() - heardAt)
        longest = 0
        heardAt = performance.now()
        return found
      },
    },
  }
}
