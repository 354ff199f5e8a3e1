/** What the checker of marks knows of a key: what stood there when, and what was ever sent. */
import type { Mark, MarkKey, MarkRecord, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'

export type Fail = (message: string, viewer: ViewerId | undefined) => void

export type Stood = Pick<MarkRecord, 'mark' | 'markedAt'>

export type KeyTruth = {
  key: MarkKey
  /** The register as all that reached the hot store make it; nothing = never marked. */
  now: MarkRecord | undefined
  changes: { tick: number; stood: Stood | undefined }[]
  /** The hot store may hold something older: it was put without a look at the record store. */
  guessed: boolean
  /** The last tick at which that was so. */
  doubtfulUntil: number
  /** All that was ever sent or there from the start, as `mark@markedAt`. */
  asked: Set<string>
  /** The latest time of what was acknowledged. */
  ackedAt: number
}

export type Truths = ReturnType<typeof makeTruths>

export function makeTruths() {
  const keys = new Map<string, KeyTruth>()
  let tick = 0

  function of(key: MarkKey): KeyTruth {
    const text = keyText(key)
    let truth = keys.get(text)
    if (truth === undefined) {
      truth = {
        key: { viewer: key.viewer, business: key.business, oid: key.oid },
        now: undefined,
        changes: [{ tick: -1, stood: undefined }],
        guessed: false,
        doubtfulUntil: -1,
        asked: new Set(),
        ackedAt: 0,
      }
      keys.set(text, truth)
    }
    return truth
  }

  return {
    of,
    all: () => keys.values(),
    tick: () => tick,
    nextTick: () => ++tick,
    change(truth: KeyTruth, record: MarkRecord): void {
      truth.now = record
      truth.changes.push({ tick: ++tick, stood: record })
    },
    isDoubtful: (truth: KeyTruth, since: number): boolean => truth.guessed || truth.doubtfulUntil >= since,
    /** What stood there between `since` and now, the newest first. */
    stoodSince(truth: KeyTruth, since: number): (Stood | undefined)[] {
      const found: (Stood | undefined)[] = []
      for (let index = truth.changes.length - 1; index >= 0; index--) {
        const { tick: at, stood } = truth.changes[index] as (typeof truth.changes)[number]
        found.push(stood)
        if (at <= since) break
      }
      return found
    },
  }
}

export function markOf(stood: Stood | undefined): Mark {
  return stood?.mark ?? 'NONE'
}

export function isSame(a: Stood | undefined, b: Stood | undefined): boolean {
  return a?.mark === b?.mark && a?.markedAt === b?.markedAt
}

/** Is `stored` at least as new as `wanted`? Of one time any other version may have won, as long as it is not older. */
export function isAsNewAs(stored: MarkRecord | undefined, wanted: MarkRecord): boolean {
  if (stored === undefined) return false
  if (stored.markedAt !== wanted.markedAt) return stored.markedAt > wanted.markedAt
  return stored.mark === wanted.mark || stored.version >= wanted.version
}

export function askedText({ mark, markedAt }: Stood): string {
  return `${mark}@${markedAt}`
}

export function nameOf({ viewer, business, oid }: { viewer?: string; business: number; oid: string }): string {
  return `${viewer === undefined ? '' : `viewer ${viewer} `}${business}:${oid}`
}

export function textOf(stood: Stood | undefined): string {
  return stood === undefined ? 'nothing' : `{${stood.mark} at ${stood.markedAt}}`
}
