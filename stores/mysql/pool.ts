/**
 * The connections of a database. If the server refuses a further one, calls share the open connections. After `SHARE_MS`, the pool asks for
 * more. If no connection is open, the call fails.
 */
import { createPool, type PoolConnection, type PoolOptions } from 'mysql2'
import type { Clock, Timer } from '../../core/clock.ts'
import { isTooMany } from './failures.ts'

type Use = (error: Error | null, connection: PoolConnection) => void

export type Pool = {
  /** Calls `use` with a free connection, or with the error of the attempt to connect. */
  take(use: Use): void
  destroy(connection: PoolConnection): void
  end(done: () => void): void
}

/** Milliseconds until a pool asks again for the connections that the server refused. */
export const SHARE_MS = 10_000
/** Milliseconds that the first connections of a pool get to open. A server refuses faster than it accepts. */
const OPENING_MS = 500

export function makePool(clock: Clock, options: PoolOptions & { connectionLimit: number }): Pool {
  const pool = createPool(options)
  const open = new Set<PoolConnection>()
  /** Calls that the server refused while no connection was open. */
  const refused = new Map<Use, { timer: Timer; fail(): void }>()
  let sharing: Timer | undefined

  pool.on('connection', (connection) => {
    open.add(connection)
    settleRefused()
    const forget = (): void => void open.delete(connection)
    connection.on('end', forget)
    // The driver reports a broken connection twice. Without a listener, the second report ends the process.
    connection.on('error', forget)
  })

  /** The driver compares this limit with its connections at every call. Beyond it, calls wait for a free one. */
  function share(use: Use): void {
    pool.config.connectionLimit = open.size
    sharing?.cancel()
    sharing = clock.after(SHARE_MS, () => {
      pool.config.connectionLimit = options.connectionLimit
    })
    take(use)
  }

  function settleRefused(): void {
    for (const [use, { timer, fail }] of refused) {
      timer.cancel()
      refused.delete(use)
      if (open.size > 0) share(use)
      else fail()
    }
  }

  const take: Pool['take'] = (use) =>
    pool.getConnection((error, connection) => {
      if (error === null || !isTooMany(error)) return use(error, connection)
      if (open.size > 0) return share(use)
      refused.set(use, { timer: clock.after(OPENING_MS, settleRefused), fail: () => use(error, connection) })
    })

  return {
    take,
    destroy(connection) {
      open.delete(connection)
      connection.destroy()
    },
    end(done) {
      pool.end(done)
      settleRefused()
      sharing?.cancel()
    },
  }
}
