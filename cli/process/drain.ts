/**
 * The order of a shutdown. Steps run one after the other, and each runs once, even if the drain is started several times. A failed step is
 * reported and does not stop the next one. All steps together have a time limit.
 */
import { sleep, type Clock } from '../../core/clock.ts'

export type DrainStep = { name: string; run(): Promise<void> | void }

/** Returns the drain: the first call starts it, every call waits for the same one. Resolves true if every step ended well and in time. */
export function makeDrain(
  clock: Clock,
  steps: readonly DrainStep[],
  options: { /** Milliseconds all steps may take together. */ maxMs: number },
  onFailure: (step: string, error: unknown) => void,
): () => Promise<boolean> {
  let draining: Promise<boolean> | undefined

  async function runAll(): Promise<boolean> {
    let clean = true
    for (const step of steps) {
      try {
        await step.run()
      } catch (error) {
        clean = false
        onFailure(step.name, error)
      }
    }
    return clean
  }

  async function runBounded(): Promise<boolean> {
    const late = sleep(clock, options.maxMs).then(() => false)
    return Promise.race([runAll(), late])
  }

  return () => (draining ??= runBounded())
}
