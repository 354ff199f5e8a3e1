/**
 * An open-loop load: each request leaves at its time, however many are under way, as the requests of many viewers do. The latency counts
 * from that time. A late answer therefore cannot hide the requests behind it.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { openConnection, type Connection } from './connection.ts'

/** `scopes`: claimed by the viewer, which development mode accepts. `kind`: returned with the latency. */
export type Timed = { atMs: number; viewer: string; scopes?: string; body: Buffer; kind?: string }
/** `atMs`: of the request. `lateMs`: from that time until the load sent it. `failure`: undefined if the answer was whole. */
export type Answered = { atMs: number; kind: string; ms: number; lateMs: number; failure: string | undefined }

export type OpenLoopOptions<T> = {
  /** If more requests are under way, the load ends with a failure. Default: no limit. */
  underWayMax?: number
  /** Called for each request without a whole answer. */
  failed?(request: T): void
}

const CONNECTIONS_MAX = 256
/** Requests of more than this age are given up. */
const PATIENCE_MS = 10_000
const SENT_PER_TURN = 16

/** Requests go to the addresses in turn. `check` throws if an answer is not whole. Resolves when all requests are answered. */
export async function runOpenLoop<T extends Timed>(
  urls: readonly string[],
  requests: Iterable<T>,
  check: (answer: string, request: T) => void,
  { underWayMax = Infinity, failed }: OpenLoopOptions<T> = {},
): Promise<Answered[]> {
  const pools = urls.map(makePool)
  const begun = performance.now()
  const pending = new Set<Promise<void>>()
  const answered: Answered[] = []
  let sent = 0
  for (const request of requests) {
    const { atMs, kind = '' } = request
    const early = atMs - (performance.now() - begun)
    if (early > 1) await sleep(early)
    else if (sent % SENT_PER_TURN === 0) await nextTurn()
    sent++
    const lateMs = Math.max(0, performance.now() - begun - atMs)
    if (pending.size > underWayMax) {
      answered.push({ atMs, kind, ms: Infinity, lateMs, failure: `${pending.size} requests are under way` })
      break
    }
    const end = (failure: string | undefined): void =>
      void answered.push({ atMs, kind, ms: performance.now() - begun - atMs, lateMs, failure })
    const pool = pools[sent % pools.length] as (typeof pools)[number]
    const call = pool
      .call(request)
      .then((answer) => check(answer, request))
      .then(
        () => end(undefined),
        (error: unknown) => {
          failed?.(request)
          end(String(error))
        },
      )
    pending.add(call)
    void call.then(() => pending.delete(call))
  }
  await Promise.all(pending)
  for (const pool of pools) pool.close()
  return answered
}

/** A call without a free connection waits for one. */
function makePool(url: string) {
  const idle: Connection[] = []
  const waiting: ((connection: Connection) => void)[] = []
  let open = 0

  function take(): Promise<Connection> | Connection {
    const free = idle.pop()
    if (free !== undefined) return free
    if (open === CONNECTIONS_MAX) return new Promise((resolve) => waiting.push(resolve))
    open++
    return openConnection(url)
  }

  function give(connection: Connection): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(connection)
    else next(connection)
  }

  /** A connection failed. */
  function drop(): void {
    open--
    const next = waiting.shift()
    if (next === undefined) return
    open++
    next(openConnection(url))
  }

  return {
    async call({ viewer, scopes, body }: Timed): Promise<string> {
      const connection = await take()
      const late = setTimeout(() => connection.close(), PATIENCE_MS)
      const answer = await connection
        .call({ 'x-viewer-id': viewer, ...(scopes !== undefined && { 'x-viewer-scopes': scopes }) }, body)
        .catch((error: unknown) => {
          drop()
          throw error
        })
        .finally(() => clearTimeout(late))
      give(connection)
      if (answer.status !== 200) throw new Error(`the answer has status ${answer.status}: ${answer.body.slice(0, 200)}`)
      return answer.body
    },
    close() {
      for (const connection of idle) connection.close()
    },
  }
}
