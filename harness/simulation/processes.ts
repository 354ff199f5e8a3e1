/** What simulated processes of all worlds have in common with real ones: what they still wait for when they stop, and jobs that join late. */
import type { Clock } from '../../core/clock.ts'

/** Milliseconds before a job that could not join the group tries again, as its supervisor would have it do. */
const JOIN_RETRY_MS = 200

/**
 * Questions whose answer nobody waits for any more: a breaker that was stopped leaves its check behind, a read that failed its
 * other half, and what took too long. Whoever stops a process waits for these.
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
    /** The same function, its questions noted. */
    noting:
      <A extends unknown[], T>(call: (...args: A) => Promise<T>): ((...args: A) => Promise<T>) =>
      (...args) =>
        noted(call(...args)),
    /** The same store, its checks noted. */
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
