/**
 * The end of a process. SIGTERM, SIGINT and bugs start the drain once. After a clean drain the stores are closed, and the process exits.
 * After an unclean drain, or a later Ctrl-C, the process ends by SIGKILL: acknowledged writes are durable. `process.exit` would wait for
 * LMDB's writer thread, which may wait for this thread while it holds the lock of all processes.
 */
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { makeDrain, type DrainStep } from './drain.ts'

/**
 * The least time between a first signal and a Ctrl-C that ends the process at once. One Ctrl-C arrives several times: from the terminal, from
 * npm, which passes it on, and from the primary of a worker.
 */
const AT_ONCE_AFTER_MS = 1_000

export function drainOnSignal(config: Config, log: Logger, steps: readonly DrainStep[]): void {
  const { drainMaxMs } = config.server
  const drain = makeDrain(systemClock, steps, { maxMs: drainMaxMs }, (step, err) =>
    log.error({ err, step }, 'a step of the shutdown failed'),
  )
  let endingSince: number | undefined

  async function end(status: number): Promise<void> {
    endingSince = systemClock.now()
    if (await drain()) process.exit(status)
    log.warn({ drainMaxMs }, 'the shutdown was not clean; the sweeper persists the rest')
    endAtOnce()
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (endingSince !== undefined) return
    log.info({ signal }, 'draining')
    void end(0)
  }

  function onInterrupt(): void {
    if (endingSince === undefined) onSignal('SIGINT')
    else if (systemClock.now() - endingSince >= AT_ONCE_AFTER_MS) endAtOnce()
  }

  function onBug(err: unknown): void {
    log.fatal({ err }, 'a bug ends this process')
    if (endingSince === undefined) void end(1)
  }

  process.on('SIGTERM', () => onSignal('SIGTERM'))
  process.on('SIGINT', onInterrupt)
  process.on('uncaughtException', onBug)
  process.on('unhandledRejection', onBug)
}

/** Ends the process like a power cut. */
export function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL')
}
