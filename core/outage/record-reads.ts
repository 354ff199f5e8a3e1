/**
 * Reads of a record store as the service makes them: behind its breaker, and with a concurrency limit that follows the latency of the
 * store. A healthy store serves every read that the machine can ask for. A slow store gets few reads at a time, so that writes and other
 * processes have their share of it.
 *
 * The fastest read of a round shows how the store is. Single reads take longer for other reasons: rows on disk, a long list, a
 * turn of this process. An overloaded store makes every read slow. So reads are slow if the fastest of a round takes more than
 * twice its usual time, two rounds in a row. At twice the usual time, as many reads wait inside the store as it processes. Halving
 * the limit then empties that queue, and the store stays busy.
 *
 * No time is a setting, so the rule holds for any hardware. If cuts do not make reads faster, or one read at a time is slow, the
 * reads of this process are not the cause: the data, the machine or the store has changed. The current time then becomes usual.
 *
 * Reads beyond the limit wait in a bounded queue for a bounded time, and are then refused. A store that makes no progress opens its breaker
 * long before, and the breaker refuses all waiting reads. Lanes take turns: each tenant has one for lookups and one for pages, so that
 * neither a tenant's flood nor a reader of many lists starves others. While the hot store is down, its reads come here, more than the
 * record store is sized for. Reads then wait only briefly, and answers degrade.
 *
 * A store in this process uses this process's own time, so it needs no limit.
 */
import type { Breaker } from './breaker.ts'
import type { Clock } from '../clock.ts'
import { makeConcurrencyLimit } from '../concurrency-limit.ts'
import { saysDown } from './degraded.ts'
import type { BusinessNumber } from '../domain.ts'
import { TidemarkError } from '../errors.ts'
import { makeFairQueue } from '../fair-queue.ts'

export type RecordReadsOptions = {
  /** Milliseconds a read of the record store may wait for its turn. Default 10000. */
  recordWaitMaxMs?: number
  /** Reads of the record store that may wait for their turn. Default 10000. */
  recordReadsWaitingMax?: number
}

/** The reads that the store can have in flight; undefined for a store in this process, which needs no limit. */
export type ReadStore = { readsAtOnceMax?: number | undefined }

export type RecordRead = {
  /** Reads of one kind and similar size take about the same time. */
  kind: string
  /** The number of keys, or the maximum of rows. */
  size: number
  /** The tenants of the data. Absent: data of all tenants, which has a lane of its own. */
  of?: readonly { business: BusinessNumber }[]
  /** A page or a recount; one operation may ask for hundreds of them. */
  isPage?: boolean
}

export type RecordReadsFigures = {
  /** Reads that may be in flight now; 0 = unlimited. */
  limit: number
  underWay: number
  waiting: number
  /** Reads made, and reads refused because they had no turn in time. */
  made: number
  refused: number
}

export type RecordReads = {
  /** Rejects with RECORD_STORE_UNAVAILABLE if the store is down, or if the read gets no turn. */
  run<T>(read: RecordRead, task: () => Promise<T>): Promise<T>
  figures(): RecordReadsFigures
}

/** Reads of one kind that are judged together. */
const ROUND = 8
/** The usual time follows slowly. Otherwise the luckiest of many rounds would be the measure. */
const USUAL_SHARE = 1 / 8
const SLOW_ROUNDS = 2
/** A cut was in vain if reads still take more than this part of their time: half the reads should take about half as long. */
const VAIN_RATIO = 0.75
const VAIN_CUTS_MAX = 2
const SLOW_RATIO = 2
/** One turn of this process's event loop takes some milliseconds. A smaller difference says nothing about a store. */
const NOTICED_MS = 5
/** Milliseconds a read waits for its turn while the hot store is down. */
const BRIEF_MS = 200
const CALLS_AT_FIRST = 2

/** Times are those of the fastest read of a round. `slowMs`: at the last cut. */
type Kind = { usualMs: number; slowRounds: number; slowMs: number; vainCuts: number } & Round
/** The current round. `full`: its reads that reached the limit. */
type Round = { fastestMs: number; count: number; full: number }
const NO_ROUND: Round = { fastestMs: Infinity, count: 0, full: 0 }
const NOT_SLOW = { slowRounds: 0, slowMs: Infinity, vainCuts: 0 }
type Waiting = { start(): void; refuse(sentence: string): void }

/** `what`: the data that is read, for messages. `isHotDown`: whether reads of a failed hot store come here. */
export function makeRecordReads(
  clock: Clock,
  breaker: Breaker,
  { readsAtOnceMax }: ReadStore,
  { recordWaitMaxMs = 10_000, recordReadsWaitingMax = 10_000 }: RecordReadsOptions,
  isHotDown: () => boolean,
  what = 'the record store',
): RecordReads {
  const kinds = new Map<string, Kind>()
  const queue = makeFairQueue<Waiting>(recordReadsWaitingMax)
  const callsMax = readsAtOnceMax ?? Number.MAX_SAFE_INTEGER
  const limit = makeConcurrencyLimit(clock, { callsMax, callsAtFirst: Math.min(callsMax, CALLS_AT_FIRST) })
  const figures = { underWay: 0, made: 0, refused: 0 }
  let roundsBeganAt = -Infinity

  async function make<T>(read: RecordRead, task: () => Promise<T>): Promise<T> {
    const beganAt = clock.now()
    const wasDown = breaker.isOpen()
    figures.underWay++
    figures.made++
    const isFull = figures.underWay >= limit.calls()
    try {
      const result = await breaker.run(task)
      judge(kindOf(read), beganAt, isFull)
      return result
    } catch (error) {
      if (saysDown(error, 'recordStore') && !wasDown) limit.cut(beganAt)
      throw error
    } finally {
      figures.underWay--
      admit()
    }
  }

  function judge(kind: Kind, beganAt: number, isFull: boolean): void {
    const now = clock.now()
    // The read was measured under another limit. After a clock was set back, times do not tell.
    if (beganAt < roundsBeganAt && roundsBeganAt <= now) return
    kind.fastestMs = Math.min(kind.fastestMs, now - beganAt)
    kind.count++
    if (isFull) kind.full++
    if (kind.count < ROUND) return
    const { full, fastestMs, usualMs } = kind
    Object.assign(kind, NO_ROUND)
    if (fastestMs > usualMs * SLOW_RATIO + NOTICED_MS) {
      if (++kind.slowRounds >= SLOW_ROUNDS) answerSlow(kind, fastestMs, beganAt)
      return
    }
    Object.assign(kind, NOT_SLOW)
    if (usualMs === Infinity) kind.usualMs = fastestMs
    else if (fastestMs < usualMs) kind.usualMs -= (usualMs - fastestMs) * USUAL_SHARE
    for (let growths = Math.min(full, limit.calls()); growths > 0; growths--) limit.grow(true)
  }

  function answerSlow(kind: Kind, fastestMs: number, beganAt: number): void {
    const vainCuts = fastestMs > kind.slowMs * VAIN_RATIO ? kind.vainCuts + 1 : 0
    const done = vainCuts < VAIN_CUTS_MAX ? limit.cut(beganAt) : 'least'
    if (done === 'least') Object.assign(kind, NOT_SLOW, { usualMs: fastestMs })
    else Object.assign(kind, { slowRounds: 0, slowMs: fastestMs, vainCuts })
    if (done !== 'cut') return
    roundsBeganAt = clock.now()
    for (const each of kinds.values()) Object.assign(each, NO_ROUND)
  }

  function kindOf({ kind, size }: RecordRead): Kind {
    const name = `${kind} ${32 - Math.clz32(size)}`
    let found = kinds.get(name)
    if (found === undefined) kinds.set(name, (found = { usualMs: Infinity, ...NOT_SLOW, ...NO_ROUND }))
    return found
  }

  function admit(): void {
    while (figures.underWay < limit.calls()) {
      const next = queue.shift()
      if (next === undefined) return
      next.start()
    }
  }

  function makeInTurn<T>(read: RecordRead, task: () => Promise<T>): Promise<T> {
    const lane = shortestLane(read)
    const waitMaxMs = isHotDown() ? Math.min(BRIEF_MS, recordWaitMaxMs) : recordWaitMaxMs
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        start() {
          timer.cancel()
          make(read, task).then(resolve, reject)
        },
        refuse(sentence) {
          timer.cancel()
          figures.refused++
          reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', `${sentence}: try again`))
        },
      }
      const timer = clock.after(waitMaxMs, () => {
        queue.remove(lane, waiting)
        waiting.refuse(`a read of ${what} had no turn in ${waitMaxMs} ms`)
      })
      queue.push(lane, waiting)?.refuse(`${recordReadsWaitingMax} reads of ${what} wait already`)
    })
  }

  /** For a read of several tenants: the shortest of their lanes, whose turn comes soonest. */
  function shortestLane({ of = [], isPage = false }: RecordRead): string {
    const lanes = [...new Set(of.map(({ business }) => business))].map((business) => `${business} ${isPage ? 'pages' : 'lookups'}`)
    return lanes.reduce((least, lane) => (queue.lengthOf(lane) < queue.lengthOf(least) ? lane : least), lanes[0] ?? 'all')
  }

  return {
    run(read, task) {
      const mayStart = breaker.isOpen() || readsAtOnceMax === undefined || (queue.size() === 0 && figures.underWay < limit.calls())
      return mayStart ? make(read, task) : makeInTurn(read, task)
    },
    figures: () => ({ ...figures, limit: readsAtOnceMax === undefined ? 0 : limit.calls(), waiting: queue.size() }),
  }
}
