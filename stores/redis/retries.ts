/**
 * Repeats a command until it succeeds, fails for good, or reaches its deadline. The delay between attempts grows. An error names the last
 * message of the client's connections, because a command often knows only that it got no answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TidemarkError } from '../../core/errors.ts'
import type { RedisClient } from './clients.ts'
import { isMissingScript, isPassing, mayHaveRun } from './failures.ts'
import type { Topology } from './topology.ts'

const FIRST_DELAY_MS = 10
const DELAY_MAX_MS = 250

export type Retries = ReturnType<typeof makeRetries>

/** `toError` makes the error of a command that is given up. */
export function makeRetries(
  client: RedisClient,
  topology: Topology,
  toError: (error: unknown, lastComplaint: string | undefined) => TidemarkError,
) {
  let lastComplaint: string | undefined
  let closed = false
  client.on('error', complain)
  client.on('node error', complain)
  client.on('ready', () => {
    lastComplaint = undefined
  })

  function complain(error: Error): void {
    lastComplaint =
      ('lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error).message || lastComplaint
  }

  function throwUnlessPassing(error: unknown, delayMs: number, deadline: number): void {
    if (closed || !isPassing(error) || Date.now() + delayMs > deadline) throw toError(error, lastComplaint)
  }

  return {
    /** Repeats an attempt that failed. `attempt` learns whether the server lacks the script. */
    async repeat<T>(attempt: (scriptIsMissing: boolean) => Promise<T>, failure: unknown, deadline: number): Promise<T> {
      let error = failure
      let delayMs = FIRST_DELAY_MS
      let scriptIsMissing = false
      for (;;) {
        if (isMissingScript(error) && !scriptIsMissing) {
          scriptIsMissing = true
        } else {
          throwUnlessPassing(error, delayMs, deadline)
          // The node of these keys may have failed, and another may have replaced it.
          if (mayHaveRun(error)) topology.refreshSoon()
          await sleep(delayMs * (0.5 + Math.random() / 2))
          delayMs = Math.min(delayMs * 2, DELAY_MAX_MS)
        }
        try {
          return await attempt(scriptIsMissing)
        } catch (again) {
          error = again
        }
      }
    },

    /** Runs a task until it succeeds. */
    async insist<T>(task: () => Promise<T>, deadline: number): Promise<T> {
      for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, DELAY_MAX_MS)) {
        try {
          return await task()
        } catch (error) {
          throwUnlessPassing(error, delayMs, deadline)
          await sleep(delayMs)
        }
      }
    },

    isClosed: () => closed,

    /** The next failure is the last. */
    close(): void {
      closed = true
    },
  }
}
