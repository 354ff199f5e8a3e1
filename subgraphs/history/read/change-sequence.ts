/**
 * Live changes and missed changes as one sequence. While missed changes are read, live changes wait, the newest of each key; then all are
 * sent in order of version. A subscriber with the token of the last change has therefore received everything before it, and a change that
 * is found twice is sent once.
 */
import type { ProgressChange } from '../../../core/domain.ts'

/** `upTo`, `clearedUpTo`: live changes, and clearings and switches, up to these versions are in `changes`, or are outdated by them. */
export type Missed = { changes: readonly ProgressChange[]; upTo: number; clearedUpTo: number }

export type ChangeSequence = {
  live(change: ProgressChange): void
  /** Live changes wait from now on. */
  hold(): void
  /** Sends the changes since the last one sent, and then releases live changes. */
  catchUp(): Promise<void>
}

export function makeChangeSequence(
  readMissed: (since: number) => Promise<Missed>,
  since: number,
  tell: (change: ProgressChange) => void,
): ChangeSequence {
  let told = since
  // Nothing was read yet, so no live change is outdated: clocks of processes differ, and `since` may be ahead of another's.
  let read = { upTo: 0, clearedUpTo: 0 }
  let waiting: Map<string, ProgressChange> | undefined
  let catchingUp: Promise<void> | undefined
  /** Calls of `catchUp` that are not finished. */
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
    // No read finds a claimed day, so none is outdated.
    if (change.kind === 'day') return true
    return versionOf(change) > (isOfSettings(change) ? read.clearedUpTo : read.upTo)
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
    // A later call may have missed changes after the current read, so it reads again.
    catchUp() {
      hold()
      asked++
      catchingUp = (catchingUp ?? Promise.resolve()).catch(() => undefined).then(catchUpNow)
      return catchingUp
    },
  }
}

function isOfSettings({ kind }: ProgressChange): boolean {
  return kind === 'cleared' || kind === 'paused'
}

export function versionOf(change: ProgressChange): number {
  return 'record' in change ? change.record.version : change.version
}

/** Of waiting changes with equal keys, only the newest is sent. */
export function coalescingKeyOf(change: ProgressChange): string {
  return 'oid' in change ? `${change.business}:${change.oid}` : `${change.kind} ${change.business}`
}
