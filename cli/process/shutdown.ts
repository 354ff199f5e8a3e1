/**
 * The end of a process. SIGTERM, SIGINT and bugs start the drain once. After a clean drain the stores are closed, and the process exits.
 * After an unclean drain, or a second signal, the process ends by SIGKILL: acknowledged writes are durable. `process.exit` would wait for
 * LMDB's writer thread, which may wait for this thread while it holds the lock of all processes.
 */
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { makeDrain, type DrainStep } from './drain.ts'

/** Returns a function that starts the drain without a signal. */
export function drainOnSignal(config: Config, log: Logger, steps: readonly DrainStep[]): () => void {
  const { drainMaxMs } = config.server
  const drain = makeDrain(systemClock, steps, { maxMs: drainMaxMs }, (step, err) =>
    log.error({ err, step }, 'a step of the shutdown failed'),
  )
  let ending = false

  async function end(status: number): Promise<void> {
    ending = true
    if (await drain()) process.exit(status)
    log.warn({ drainMaxMs }, 'the shutdown was not clean; the sweeper persists the rest')
    endAtOnce()
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (ending) return
    log.info({ signal }, 'draining')
    void end(0)
  }

  function onInterrupt(): void {
    if (ending) endAtOnce()
    else onSignal('SIGINT')
  }

  function onBug(err: unknown): void {
    log.fatal({ err }, 'a bug ends this process')
    if (!ending) void end(1)
  }

  process.on('SIGTERM', () => onSignal('SIGTERM'))
  process.on('SIGINT', onInterrupt)
  process.on('uncaughtException', onBug)
  process.on('unhandledRejection', onBug)
  return () => onSignal('SIGTERM')
}

/** Ends the process like a power cut. */
export function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL')
}
