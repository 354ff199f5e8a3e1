/** The parts that simulated processes of all worlds share: calls that are still open at the stop, and jobs that join late. */
import type { Clock } from '../../core/clock.ts'

/** Milliseconds before a job that could not join the group retries, as under a supervisor. */
const JOIN_RETRY_MS = 200

/**
 * Calls without a waiting caller: the check of a stopped breaker, the other half of a failed read, and calls that took too long. The stop
 * of a process waits for them.
 */
export function makeQuestions() {
  const open = new Set<Promise<unknown>>()
  function noted<T>(question: Promise<T>): Promise<T> {
    open.add(question)
    const forget = (): void => void open.delete(question)
    question.then(forget, forget)
    return question
  }
  return {
    noted,
    /** The same function, with its calls noted. */
    noting:
      <A extends unknown[], T>(call: (...args: A) => Promise<T>): ((...args: A) => Promise<T>) =>
      (...args) =>
        noted(call(...args)),
    /** The same store, with its checks noted. */
    checked: <T extends { check(): Promise<void> }>(store: T): T => ({ ...store, check: () => noted(store.check()) }),
    settled: async (): Promise<void> => void (await Promise.allSettled(open)),
  }
}

export async function startUntilJoined<Job>(clock: Clock, start: () => Promise<Job>, onError: (error: unknown) => void): Promise<Job> {
  for (;;) {
    try {
      return await start()
    } catch (error) {
      onError(error)
      await new Promise<void>((resolve) => clock.after(JOIN_RETRY_MS, resolve))
    }
  }
}
