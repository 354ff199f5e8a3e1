/**
 * Takes flushes from the log in order: reads a batch, persists it, removes it, and reads on. While persisting fails, the same messages come
 * again after a delay that doubles up to a bound. With nothing to read, it waits for an append of its own process, or checks again after
 * `pollMs`, which finds the appends of other processes.
 *
 * If the process dies after persisting a batch and before removing it, the batch comes again: at least once.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ConsumerHooks, FlushMessage } from '../../log.ts'
import type { Environment } from '../../../stores/lmdb/environment.ts'
import type { LogTables } from './log-tables.ts'
import { appendAll, sequenceOf } from '../../../stores/lmdb/sequences.ts'
import { decodeFlush } from '../../flush-codec.ts'
import type { LogConsumer } from '../../../core/log-consumer.ts'

export type ConsumerOptions = {
  /** Maximum messages per batch. Minimum 1. Default 200. */
  messagesMax: number
  /** Number of keys at which a batch is full. Minimum 1. Default 5000. */
  keysMax: number
  /** Milliseconds between two checks for appends of other processes. Default 2000. */
  pollMs: number
  /** Milliseconds before a batch that failed comes again, doubled up to `retryMaxMs`. Defaults 100 and 5000. */
  retryMinMs: number
  retryMaxMs: number
}

export type RunningConsumer = LogConsumer & {
  /** Called after an append. */
  wake(): void
  /** Resolves when the consumer has left. */
  left: Promise<void>
}

type Batch = { keys: Buffer[]; messages: FlushMessage[]; undecodable: { key: Buffer; bytes: Buffer; reason: string }[] }

const PARTITION = 0
/** Undecodable messages kept for inspection, the newest. */
const PARKED_MAX = 10_000

/** Begins when `turn` resolves; owns all regions from then on. */
export function consume(
  environment: Environment,
  tables: LogTables,
  clock: Clock,
  hooks: ConsumerHooks,
  options: ConsumerOptions,
  turn: Promise<unknown>,
): RunningConsumer {
  let mode: 'waiting for its turn' | 'consuming' | 'stopping' = 'waiting for its turn'
  let endPause: (() => void) | undefined
  let endWait: (() => void) | undefined
  let appended = false

  async function run(): Promise<void> {
    await turn
    if (mode !== 'stopping') mode = 'consuming'
    let delayMs = options.retryMinMs
    while (mode === 'consuming') {
      try {
        appended = false
        if (await takeBatch()) delayMs = options.retryMinMs
        else if (!appended) await pause(options.pollMs, true)
      } catch {
        // The hook reports the error; the batch is still in the table and comes again.
        await pause(delayMs, false)
        delayMs = Math.min(delayMs * 2, options.retryMaxMs)
      }
    }
  }

  /** True if there was a batch. Rejects if it must come again. */
  async function takeBatch(): Promise<boolean> {
    const batch = environment.read(() => readBatch(tables, options))
    if (batch.keys.length === 0 && batch.undecodable.length === 0) return false
    if (batch.undecodable.length > 0) await park(batch)
    if (batch.messages.length > 0)
      await hooks.persist({
        partition: PARTITION,
        messages: batch.messages,
        nextOffset: sequenceOf(batch.keys[batch.keys.length - 1] as Buffer) + 1,
      })
    if (batch.keys.length > 0) await environment.writeToFree(() => batch.keys.forEach((key) => void tables.flushes.remove(key)))
    return true
  }

  async function park({ undecodable }: Batch): Promise<void> {
    await environment.write(() => {
      appendAll(tables.dead, tables.counters, 'dead', undecodable.map(describeParked), PARKED_MAX)
      for (const { key } of undecodable) void tables.flushes.remove(key)
    })
    for (const { reason } of undecodable) hooks.parked?.(reason, { table: 'dead', folder: 'the data folder' })
  }

  /** Ends early when the consumer stops, and, if `untilAppended`, with an append. */
  function pause(delayMs: number, untilAppended: boolean): Promise<void> {
    if (mode === 'stopping') return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        endPause = undefined
        endWait = undefined
        resolve()
      }
      const timer = clock.after(delayMs, end)
      endPause = end
      if (untilAppended) endWait = end
    })
  }

  const left = run()
  return {
    ownedRegions: () => (mode === 'consuming' ? environment.allRegions : []),
    async stop() {
      mode = 'stopping'
      endPause?.()
      await left
    },
    wake() {
      appended = true
      endWait?.()
    },
    left,
  }
}

function readBatch(tables: LogTables, options: ConsumerOptions): Batch {
  const batch: Batch = { keys: [], messages: [], undecodable: [] }
  let keys = 0
  for (const { key, value } of tables.flushes.getRange({ limit: options.messagesMax })) {
    const message = decodeOrReason(value)
    if (typeof message === 'string') {
      batch.undecodable.push({ key, bytes: value, reason: message })
      continue
    }
    batch.keys.push(key)
    batch.messages.push(message)
    keys += message.keys.length
    if (keys >= options.keysMax) break
  }
  return batch
}

function decodeOrReason(bytes: Buffer): FlushMessage | string {
  try {
    return decodeFlush(bytes)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** u16 length of the reason · reason · the original message. */
function describeParked({ reason, bytes }: { reason: string; bytes: Buffer }): Buffer {
  const text = Buffer.from(reason.slice(0, 1_000))
  const length = Buffer.allocUnsafe(2)
  length.writeUInt16BE(text.length)
  return Buffer.concat([length, text, bytes])
}
