/**
 * Reads of a record store for the service: behind its breaker, and with a concurrency limit that follows the latency of the store. A
 * healthy store serves every read that the machine can make. A slow store gets few reads at a time, so that writes and other processes have
 * their share of it.
 *
 * The fastest read of a round shows the state of the store. Single reads take longer for other reasons: rows on disk, a long list, a turn
 * of this process. An overloaded store makes every read slow. Reads are therefore slow if the fastest of a round takes more than twice its
 * usual time, two rounds in a row. At twice the usual time, as many reads wait inside the store as it processes. Halving the limit then
 * empties that queue, and the store stays busy.
 *
 * No time is a setting, so the rule holds for any hardware. If cuts do not make reads faster, or one read at a time is slow, the reads of
 * this process are not the cause: the data, the machine or the store has changed. The current time then becomes usual.
 *
 * Reads beyond the limit wait in a bounded queue for a bounded time, and are then refused. A store that makes no progress opens its breaker
 * after a few failed reads, and the breaker refuses all waiting reads. Lanes take turns: each tenant has one for lookups and one for pages,
 * so that neither a tenant's flood nor a reader of many lists starves others. While more than a tenth of the hot store is down, its reads
 * come here, more than the record store is sized for. Reads then wait only briefly, and answers degrade.
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
import { makeReadLatency } from './read-latency.ts'

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
  /** The tenants of the data. Absent: data of all tenants, which has lanes of its own. */
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

/** Milliseconds a read waits for its turn while more than a tenth of the hot store is down. */
const BRIEF_MS = 200
const CALLS_AT_FIRST = 2

type Waiting = { start(): void; refuse(sentence: string): void }

/**
 * `what`: the data that is read, for messages. `isHotDown`: true while the hot store is down for more than a tenth of the viewers, so
 * that their reads come here.
 */
export function makeRecordReads(
  clock: Clock,
  breaker: Breaker,
  { readsAtOnceMax }: ReadStore,
  { recordWaitMaxMs = 10_000, recordReadsWaitingMax = 10_000 }: RecordReadsOptions,
  isHotDown: () => boolean,
  what = 'the record store',
): RecordReads {
  const queue = makeFairQueue<Waiting>(recordReadsWaitingMax)
  const callsMax = readsAtOnceMax ?? Number.MAX_SAFE_INTEGER
  const limit = makeConcurrencyLimit(clock, { callsMax, callsAtFirst: Math.min(callsMax, CALLS_AT_FIRST) })
  const latency = makeReadLatency(clock, limit)
  const figures = { underWay: 0, made: 0, refused: 0 }

  async function make<T>(read: RecordRead, task: () => Promise<T>): Promise<T> {
    const beganAt = clock.now()
    const wasDown = breaker.isOpen()
    figures.underWay++
    figures.made++
    const isFull = figures.underWay >= limit.calls()
    try {
      const result = await breaker.run(task)
      latency.judge(read, beganAt, isFull)
      return result
    } catch (error) {
      if (saysDown(error, 'recordStore') && !wasDown) limit.cut(beganAt)
      throw error
    } finally {
      figures.underWay--
      admit()
    }
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

  /** For a read of several tenants: the shortest of their lanes, because its turn comes first. */
  function shortestLane({ of = [], isPage = false }: RecordRead): string {
    const kind = isPage ? 'pages' : 'lookups'
    const lanes = [...new Set(of.map(({ business }) => business))].map((business) => `${business} ${kind}`)
    return lanes.reduce((least, lane) => (queue.lengthOf(lane) < queue.lengthOf(least) ? lane : least), lanes[0] ?? `all ${kind}`)
  }

  return {
    run(read, task) {
      const mayStart = breaker.isOpen() || readsAtOnceMax === undefined || (queue.size() === 0 && figures.underWay < limit.calls())
      return mayStart ? make(read, task) : makeInTurn(read, task)
    },
    figures: () => ({ ...figures, limit: readsAtOnceMax === undefined ? 0 : limit.calls(), waiting: queue.size() }),
  }
}
