/** The queue of report mode: operations with the counts that are not in the file yet. It is written every `writeEveryMs`. */
import { setTimeout } from 'node:timers/promises'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../request/error-format.ts'
import { addToReport, whileLocked, type NotedOperation, type UnknownOperation } from './report-file.ts'

export type ReportWriterOptions = {
  /** Undefined: nothing is written. */
  readonly file: string | undefined
  /** Operations that the file may have. */
  readonly countMax: number
  readonly writeEveryMs: number
}

export type ReportWriter = {
  add(key: string, unknown: UnknownOperation, now: number): void
  /** Drops the operation from the queue. True if it is lost, because the file does not have its last counts. */
  forget(key: string): boolean
  /** Writes the rest of the queue. */
  close(): Promise<void>
}

const CLOSING_ROUNDS = 5
const CLOSING_PAUSE_MS = 50

export function makeReportWriter(clock: Clock, log: Log, { file, countMax, writeEveryMs }: ReportWriterOptions): ReportWriter {
  const unwritten = new Map<string, NotedOperation>()
  let timer: Timer | undefined
  let writing: Promise<void> = Promise.resolve()

  function add(key: string, unknown: UnknownOperation, count: number, now: number): void {
    if (file === undefined) return
    const waiting = unwritten.get(key)
    if (waiting === undefined) unwritten.set(key, { ...unknown, count, firstSeen: now, lastSeen: now })
    else {
      waiting.count += count
      waiting.lastSeen = now
    }
    schedule()
  }

  function schedule(): void {
    timer ??= clock.after(writeEveryMs, () => {
      timer = undefined
      writing = writing.then(write)
    })
  }

  function stop(): void {
    timer?.cancel()
    timer = undefined
  }

  async function write(): Promise<void> {
    if (file === undefined || unwritten.size === 0) return
    let taken: [string, NotedOperation][] = []
    try {
      await whileLocked(file, clock, () => {
        taken = [...unwritten]
        unwritten.clear()
        return addToReport(
          file,
          taken.map(([, noted]) => noted),
          countMax,
        )
      })
    } catch (error) {
      log.warn({ err: error }, `persisted.report: ${file} cannot be written: unknown operations stay in memory until the next attempt`)
      for (const [key, { count, lastSeen, ...unknown }] of taken) if (!unwritten.has(key)) add(key, unknown, count, lastSeen)
    }
    // Another process has the lock, or the write failed.
    if (unwritten.size > 0) schedule()
  }

  return {
    add: (key, unknown, now) => add(key, unknown, 1, now),
    forget: (key) => file === undefined || unwritten.delete(key),
    async close() {
      stop()
      await writing
      // Another process that is ending may hold the lock now.
      for (let round = 0; round < CLOSING_ROUNDS && unwritten.size > 0; round++) {
        if (round > 0) await setTimeout(CLOSING_PAUSE_MS)
        await write()
        stop()
      }
    },
  }
}
