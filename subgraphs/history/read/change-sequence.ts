/**
 * Live changes and what was missed, as one sequence. While what was missed is read, live changes wait, of each key the
 * newest; then all of it goes on by version. So a subscriber who leaves with the token of the last change he got has got
 * everything before it, and what is found twice is told once.
 */
import type { ProgressChange } from '../../../core/domain.ts'

/** `upTo`, `clearedUpTo`: live changes and clearings up to these versions are in `changes`, or outdated by what is. */
export type Missed = { changes: readonly ProgressChange[]; upTo: number; clearedUpTo: number }

export type ChangeSequence = {
  live(change: ProgressChange): void
  /** Live changes wait from now on. */
  hold(): void
  /** Tells what changed since the last change told, and lets live changes go on. */
  catchUp(): Promise<void>
}

export function makeChangeSequence(
  readMissed: (since: number) => Promise<Missed>,
  since: number,
  tell: (change: ProgressChange) => void,
): ChangeSequence {
  let told = since
  // Nothing was read yet, so nothing live is outdated: clocks of processes differ, and `since` may be ahead of another's.
  let read = { upTo: 0, clearedUpTo: 0 }
  let waiting: Map<string, ProgressChange> | undefined
  let catchingUp: Promise<void> | undefined
  /** Catching up that is not done. */
  let asked = 0

  function live(change: ProgressChange): void {
    if (waiting === undefined) return isNew(change) ? pass(change) : undefined
    const key = coalescingKeyOf(change)
    const before = waiting.get(key)
    if (before === undefined || versionOf(before) < versionOf(change)) waiting.set(key, change)
  }

  function pass(change: ProgressChange): void {
    told = Math.max(told, versionOf(change))
    tell(change)
  }

  function isNew(change: ProgressChange): boolean {
    return versionOf(change) > (change.kind === 'cleared' ? read.clearedUpTo : read.upTo)
  }

  function hold(): void {
    waiting ??= new Map()
  }

  async function catchUpNow(): Promise<void> {
    const missed = await readMissed(told).finally(() => asked--)
    read = missed
    const held = asked > 0 ? [] : [...(waiting?.values() ?? [])].filter(isNew).sort((a, b) => versionOf(a) - versionOf(b))
    if (asked === 0) waiting = undefined
    for (const change of [...missed.changes, ...held]) pass(change)
  }

  return {
    live,
    hold,
    // Whoever asks while it goes on may have missed something after it was read.
    catchUp() {
      hold()
      asked++
      catchingUp = (catchingUp ?? Promise.resolve()).catch(() => undefined).then(catchUpNow)
      return catchingUp
    },
  }
}

export function versionOf(change: ProgressChange): number {
  return change.kind === 'cleared' ? change.version : change.record.version
}

/** What the newest change counts of. */
export function coalescingKeyOf(change: ProgressChange): string {
  return change.kind === 'cleared' ? `${change.business}` : `${change.business}:${change.oid}`
}
