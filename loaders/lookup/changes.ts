/**
 * Numbers the writes of this process, so that a load knows whether its key has changed since it began. The last change is kept
 * for stripes of keys: a fixed amount of memory, however many keys are written.
 */
import { fnv1a } from '../../core/regions.ts'

const STRIPES = 4_096

export function makeChanges() {
  const changedAt = new Float64Array(STRIPES)
  let changes = 0
  let allChangedAt = 0

  return {
    /** The number of the last change. */
    latest: () => changes,
    note(text: string): void {
      changedAt[stripeOf(text)] = ++changes
    },
    noteAll(): void {
      allChangedAt = ++changes
    },
    /** True if the key, or another of its stripe, has changed after this number. */
    hasChanged: (text: string, since: number): boolean =>
      changes > since && (allChangedAt > since || (changedAt[stripeOf(text)] as number) > since),
  }
}

function stripeOf(text: string): number {
  return fnv1a(text) % STRIPES
}
