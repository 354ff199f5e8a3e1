/** The checker's model of a key: its marks over time, and every mark ever sent. */
import type { Mark, MarkKey, MarkRecord } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'

export type Stood = Pick<MarkRecord, 'mark' | 'markedAt'>

export type KeyTruth = {
  key: MarkKey
  /** The register after all writes that reached the hot store. Undefined = never marked. */
  now: MarkRecord | undefined
  changes: { tick: number; stood: Stood | undefined }[]
  /** The hot store may have an older mark, because a put did not consider the record store. */
  guessed: boolean
  /** The last tick of that doubt. */
  doubtfulUntil: number
  /** Every mark that was ever sent or stored from the start, as `mark@markedAt`. */
  asked: Set<string>
  /** The latest time of an acknowledged mark. */
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
    /** The marks of the key between `since` and now, the newest first. */
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

/** True if `stored` is at least as new as `wanted`. If times are equal, any version that is not older may have won. */
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
