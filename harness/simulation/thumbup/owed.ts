/** Marks that a process has acknowledged before they reach the hot store. Until then, its answers without such a mark must be degraded. */
import type { MarkChecker, SentMark } from './checker.ts'
import type { MarkProcess } from './process.ts'
import { nameOf } from './truth.ts'

export type Owed = ReturnType<typeof makeOwed>

export function makeOwed(checker: MarkChecker) {
  const acknowledged = new WeakMap<MarkProcess, SentMark[]>()

  function owedBy(process: MarkProcess): SentMark[] {
    return (acknowledged.get(process) ?? []).filter((each) => !checker.hasLanded(each))
  }

  function failIfOwed([owed]: readonly SentMark[], what: string): void {
    if (owed === undefined) return
    const name = `${nameOf(owed.key)} ${owed.mark} at ${owed.markedAt}`
    checker.fail(`shown: ${what} is not degraded but lacks ${name}, which waits in the journal of its process`, owed.key.viewer)
  }

  return {
    owedBy,
    failIfOwed,
    note: (process: MarkProcess, sent: readonly SentMark[]): void => void acknowledged.set(process, [...owedBy(process), ...sent]),
  }
}
