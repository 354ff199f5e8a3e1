/** The checker's rules for writes, at the instant they reach the hot store: the last one wins, and its transition is true. */
import { winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import type { MarkKey } from '../../../core/domain.ts'
import type { MarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import type { MarkStoreObserver } from '../../models/thumbup/shelves.ts'
import type { Fail } from '../violation.ts'
import { askedText, isSame, markOf, nameOf, textOf, type KeyTruth, type Truths } from './truth.ts'

export function makeMarkPutRules(truths: Truths, fail: Fail) {
  /** Writes that reached the hot store. */
  const landed = new Set<string>()
  let hot: MarkStoreState | undefined

  const hotObserver: MarkStoreObserver = {
    put(write, outcome, isGuess) {
      if (outcome.status === 'needs-base') return
      const truth = truths.of(write)
      const { record } = outcome
      const wasDoubtful = truth.guessed
      landed.add(writeText(write))
      if (outcome.status === 'stale') {
        if (!wasDoubtful && (truth.now === undefined || truth.now.markedAt < write.markedAt))
          fail(`last write wins: ${nameOf(write)} ${textOf(write)} was stale, but the register had ${textOf(truth.now)}`, write.viewer)
        return
      }
      const isNewer = winsOver(record, truth.now)
      if (!isNewer && !wasDoubtful && !isGuess)
        fail(`last write wins: ${nameOf(write)} was written as ${textOf(record)} over ${textOf(truth.now)}`, write.viewer)
      if (!wasDoubtful && !isGuess && outcome.old !== markOf(truth.now))
        fail(
          `transitions: ${nameOf(write)} was ${outcome.old} before ${textOf(record)}, but the register had ${textOf(truth.now)}`,
          write.viewer,
        )
      truth.asked.add(askedText(record))
      if (isNewer) truths.change(truth, record)
      noteDoubt(truth, isGuess || wasDoubtful)
    },
    moved: (key) => {
      const truth = truths.of(key)
      noteDoubt(truth, truth.guessed)
    },
  }

  /** The doubt ends when the hot store has the right mark, or none. */
  function noteDoubt(truth: KeyTruth, mayBeGuess: boolean): void {
    const held = hot?.heldOf(truth.key)?.record
    truth.guessed = mayBeGuess && held !== undefined && !isSame(held, truth.now)
    if (mayBeGuess) truth.doubtfulUntil = truths.nextTick()
  }

  return {
    hotObserver,
    hasLanded: (write: Write) => landed.has(writeText(write)),
    watch(state: MarkStoreState): void {
      hot = state
    },
  }
}

export type Write = MarkKey & { mark: string; markedAt: number }

export function writeText({ viewer, business, oid, mark, markedAt }: Write): string {
  return `${viewer} ${business}:${oid} ${mark}@${markedAt}`
}
