/**
 * Delivers transactions from memory to `onChanges`, in order and in batches. A rejected batch is delivered again until it is accepted. The
 * connection pauses while too many changes wait.
 */
import { type Clock, sleep } from '../../../../core/clock.ts'
import type { CountFeed } from '../count-feed.ts'
import { countChangesOf } from '../feed-rows.ts'
import type { Piece } from './binlog-reader.ts'
import type { FeedLogger } from './binlog-connection.ts'
import type { Place } from './feed-places.ts'
import { retryDelayMs } from './feed-retries.ts'

/** Changes that may wait for `onChanges` before the connection pauses. */
const WAITING_MAX = 10_000

export type DeliveryOptions = {
  /** The feed and the instance whose beats are read back. */
  name: string
  instance: string
  /** The end of the transactions that were delivered before. */
  place: Place
  /** Changes per call of `onChanges`. */
  batchMax: number
}

export function startDelivery(
  clock: Clock,
  onChanges: Parameters<CountFeed['start']>[0],
  { name, instance, place, batchMax }: DeliveryOptions,
  logger: FeedLogger,
) {
  const pieces: Piece[] = []
  const stopping = Promise.withResolvers<void>()
  const firstBeat = Promise.withResolvers<void>()
  let stopped = false
  let readUntil = 0
  let waiting = 0
  let wake: () => void = () => undefined
  let room: PromiseWithResolvers<void> | undefined
  let takenTo = place
  const taking = take()

  /** Undefined if there is room for more changes. Otherwise resolves as soon as there is. */
  function add(piece: Piece): Promise<void> | undefined {
    pieces.push(piece)
    waiting += piece.changes.length
    wake()
    if (!isFull()) return undefined
    room ??= Promise.withResolvers<void>()
    return room.promise
  }

  function isFull(): boolean {
    return waiting > WAITING_MAX
  }

  async function take(): Promise<void> {
    while (!stopped) {
      if (pieces.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
          if (stopped) resolve()
        })
        continue
      }
      let count = 0
      let size = 0
      while (count < pieces.length && (count === 0 || size + (pieces[count]?.changes.length ?? 0) <= batchMax))
        size += pieces[count++]?.changes.length ?? 0
      const batch = pieces.slice(0, count)
      if (!(await deliver(batch))) return
      pieces.splice(0, count)
      waiting -= size
      if (isFull()) continue
      room?.resolve()
      room = undefined
    }
  }

  /** False if the delivery was stopped first. */
  async function deliver(batch: readonly Piece[]): Promise<boolean> {
    const changes = batch.flatMap((piece) => piece.changes)
    const { counts, owners } = countChangesOf(changes)
    for (let failures = 0; counts.length + owners.length > 0; failures++) {
      try {
        await onChanges({ counts, owners })
        break
      } catch (error) {
        if (failures === 0) logger.warn({ err: error, feed: name }, 'changes of counts were rejected and are delivered again')
        await Promise.race([sleep(clock, retryDelayMs(failures)), stopping.promise])
        if (stopped) return false
      }
    }
    takenTo = batch.findLast((piece) => piece.place !== undefined)?.place ?? takenTo
    for (const change of changes) {
      if (change.kind !== 'beat' || change.feed !== name || change.instance !== instance) continue
      readUntil = Math.max(readUntil, change.beatAt)
      firstBeat.resolve()
    }
    return true
  }

  return {
    add,
    isFull,
    /** Resolves when the first beat of this instance comes back. */
    firstBeat: firstBeat.promise,
    readUntil: () => readUntil,
    /** Behind the last delivered transaction. */
    takenTo: () => takenTo,
    async stop() {
      stopped = true
      stopping.resolve()
      wake()
      await taking
    },
  }
}
