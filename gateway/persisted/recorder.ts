/**
 * Report mode records the operations that no manifest has, so that operators can add them before they set the mode to enforce. The
 * record is kept in memory, bounded in number and size. Every few seconds it is written to a file (report-writer.ts, report-file.ts),
 * which is itself a manifest.
 */
import type { Clock } from '../../core/clock.ts'
import type { ClientMemory, Holding } from '../memory/client-memory.ts'
import { textBytes } from '../memory/estimates.ts'
import type { Log } from '../request/error-format.ts'
import type { NotedOperation, UnknownOperation } from './report-file.ts'
import { makeReportWriter } from './report-writer.ts'

export type RecorderOptions = {
  /** The file. Undefined: recorded in memory and metrics only. */
  readonly file: string | undefined
  /** Operations that are recorded at most, in memory and in the file. */
  readonly countMax: number
  readonly writeEveryMs: number
}

export type Recorder = {
  note(unknown: () => UnknownOperation, key: string): void
  /** Writes the rest. */
  close(): Promise<void>
}

const BODY_LENGTH_MAX = 65_536
const LENGTH_MAX = 16_777_216
/** Operators wait for these texts, so they stay longer than an operation that was sent once. */
const COST_MS = 10

export function makeRecorder(
  clock: Clock,
  log: Log,
  memory: ClientMemory,
  onChange: (count: number, dropped: number) => void,
  options: RecorderOptions,
): Recorder {
  const noted = new Map<string, NotedOperation>()
  const holdings = new Map<string, Holding>()
  const writer = makeReportWriter(clock, log, options)
  let length = 0
  let dropped = 0

  function note(makeUnknown: () => UnknownOperation, key: string): void {
    const now = clock.now()
    const known = noted.get(key)
    if (known !== undefined) {
      holdings.get(key)?.touch()
      known.count++
      known.lastSeen = now
      writer.add(key, known, now)
      return
    }
    const unknown = noted.size < options.countMax ? makeUnknown() : undefined
    if (unknown === undefined || unknown.body.length > BODY_LENGTH_MAX || length + unknown.body.length > LENGTH_MAX) {
      dropped++
    } else {
      length += unknown.body.length
      noted.set(key, { ...unknown, count: 1, firstSeen: now, lastSeen: now })
      writer.add(key, unknown, now)
      // The key contains the text as well, and so does the queue of unwritten texts.
      const holding = memory.hold('recorded', textBytes(unknown.body) * 2, COST_MS, () => forget(key))
      if (noted.has(key)) holdings.set(key, holding)
    }
    onChange(noted.size, dropped)
  }

  /** Texts in the file stay there. Unwritten texts are lost, and the metric of dropped operations counts them. */
  function forget(key: string): void {
    length -= noted.get(key)?.body.length ?? 0
    noted.delete(key)
    holdings.delete(key)
    if (writer.forget(key)) dropped++
    onChange(noted.size, dropped)
  }

  return { note, close: writer.close }
}
