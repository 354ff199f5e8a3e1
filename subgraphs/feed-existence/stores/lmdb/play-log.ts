/**
 * The log of plays on LMDB. Each call appends one entry to a table, by number; staging removes it. Any process of the deployment appends.
 * One process consumes: the one that runs the job, which owns all regions.
 */
import type { Clock } from '../../../../core/clock.ts'
import type { Play } from '../../../../core/domain.ts'
import { decodePlays, encodePlays, type DecodedPlays } from '../../model/play-codec.ts'
import type { PlayHooks, PlayLog } from '../play-log.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { openLogTables } from '../../../../writeback/stores/lmdb/log-tables.ts'
import { countEntries } from '../../../../stores/lmdb/scan.ts'
import { appendAll, lastNumber, sequenceOf } from '../../../../stores/lmdb/sequences.ts'
import { LOG_POLL_MS, makePause } from '../../../../stores/lmdb/pause.ts'
import type { LogConsumer } from '../../../../core/log-consumer.ts'

export type LmdbPlayLogOptions = {
  /** Maximum entries per call of `stage`. Minimum 1. Default 200. */
  batchMax?: number
  /** Milliseconds between two checks for entries of other processes. Default 2000. */
  pollMs?: number
}

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000
/** Undecodable entries that are kept, the newest ones. */
const PARKED_MAX = 10_000

/** The environment stays open when the log is closed, since others may use it. */
export function openLmdbPlayLog(environment: Environment, clock: Clock, options: LmdbPlayLogOptions = {}): PlayLog {
  const { batchMax = 200, pollMs = LOG_POLL_MS } = options
  const tables = openLogTables(environment, 'plays')
  const consumers = new Set<LogConsumer & { wake(): void }>()
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('LOG_UNAVAILABLE', environment.folder, task)

  async function appendPlays(plays: readonly Play[]): Promise<void> {
    if (plays.length === 0) return
    const value = encodePlays(plays)
    await environment.write(() => appendAll(tables.flushes, tables.counters, 'plays', [value]))
    for (const consumer of consumers) consumer.wake()
  }

  function consume(hooks: PlayHooks): LogConsumer {
    const pause = makePause(clock)

    async function run(): Promise<void> {
      for (let failures = 0; !pause.isEnded();) {
        try {
          const entries = environment.read(() => [...tables.flushes.getRange({ limit: batchMax })])
          if (entries.length === 0) await pause.take(pollMs)
          else await take(entries)
          failures = 0
        } catch {
          // The hook reports the error; the same entries come again.
          await pause.take(Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures++, 10)))
        }
      }
    }

    async function take(entries: readonly { key: Buffer; value: Buffer }[]): Promise<void> {
      const decoded = entries.map(({ value }) => decodeOrReason(value))
      const plays = decoded.flatMap((each) => each.plays)
      if (plays.length > 0) await hooks.stage(plays)
      const wrong = decoded.flatMap((each) => each.wrong ?? [])
      await environment.writeToFree(() => {
        if (wrong.length > 0) {
          const bytes = wrong.map((each) => each.bytes)
          appendAll(tables.dead, tables.counters, 'dead', bytes, PARKED_MAX)
        }
        for (const { key } of entries) void tables.flushes.remove(key)
      })
      for (const { reason } of wrong) hooks.parked?.(reason, { table: 'plays', folder: 'the data folder' })
    }

    const running = run()
    const consumer = {
      ownedRegions: () => (pause.isEnded() ? [] : environment.allRegions),
      wake: pause.wake,
      async stop() {
        consumers.delete(consumer)
        pause.end()
        await running
      },
    }
    consumers.add(consumer)
    return consumer
  }

  /** The number of the first waiting entry; staging removes entries. */
  function firstNumber(): number {
    for (const key of tables.flushes.getKeys({ limit: 1 })) return sequenceOf(key)
    return Number.POSITIVE_INFINITY
  }

  return {
    appendPlays: (plays) => calling(() => appendPlays(plays)),
    consumePlays: (hooks) => calling(() => consume(hooks)),
    lag: () => calling(() => environment.read(() => countEntries(tables.flushes))),
    end: () => calling(() => environment.read(() => [lastNumber(tables.counters, 'plays') + 1])),
    isStaged: ([end = 0]) => calling(() => environment.read(() => firstNumber() >= end)),
    check: () => calling(() => environment.read(() => undefined)),
    async close() {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
    },
  }
}

function decodeOrReason(bytes: Buffer): DecodedPlays {
  try {
    return decodePlays(bytes)
  } catch (error) {
    return { plays: [], wrong: { bytes, reason: error instanceof Error ? error.message : String(error) } }
  }
}
