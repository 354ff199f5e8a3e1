/** Time as a parameter. Core, service and job never read the machine's clock or start a timer themselves. */
export type Timer = { cancel(): void }

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Runs `task` once after `delayMs`. A pending timer never keeps the process alive. */
  after(delayMs: number, task: () => void): Timer
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    // If the process was busy until now, answers already wait in its sockets. They are read first, so that no store seems to be late.
    let isRead: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      isRead = setImmediate(task)
    }, delayMs)
    timer.unref()
    return {
      cancel() {
        clearTimeout(timer)
        clearImmediate(isRead)
      },
    }
  },
}

/** Resolves after `delayMs` of this clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve))
}
