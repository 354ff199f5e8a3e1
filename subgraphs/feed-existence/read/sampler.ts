/**
 * Measures in production how much the filters hide wrongly, and whether they ever miss. One in so many calls of `unseen` is
 * sampled, beside the answer:
 * - ids that nobody has are asked for: what the filters say of them is wrong. `hits / probes` is the share of the unseen that
 *   is hidden, of all live filters together; it must stay below `existence.rate`.
 * - what the filters dropped is looked up in the viewer's history, where that runs: `unknown` were hidden though he never
 *   was there, as far as history knows.
 */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { hashSeen } from '../filter/hash.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import { askAll, isFound } from './probes.ts'
import type { UnseenSample } from './unseen.ts'

export type SampleFigures = {
  /** Ids that nobody has, and how many of them a filter claims to have. */
  probes: number
  hits: number
  /** What filters dropped and history was asked about, and how much of it history does not know. */
  dropped: number
  unknown: number
}

export type Sampler = {
  sample: UnseenSample
  figures(): SampleFigures
  settled(): Promise<void>
}

const PROBES = 200
const DROPPED_MAX = 50

export function makeSampler(
  random: Random,
  every: number,
  history: Pick<HistoryRecords, 'getProgressMany'> | undefined,
  onError: (error: unknown) => void,
): Sampler {
  const figures: SampleFigures = { probes: 0, hits: 0, dropped: 0, unknown: 0 }
  let calls = 0
  let underWay: Promise<void> | undefined

  async function askHistory(viewer: ViewerId, business: BusinessNumber, dropped: readonly string[]): Promise<void> {
    const some = dropped.slice(0, DROPPED_MAX)
    const known = await history?.getProgressMany(some.map((oid) => ({ viewer, business, oid })))
    if (known === undefined) return
    figures.dropped += some.length
    figures.unknown += known.filter((record) => record === undefined).length
  }

  return {
    sample(viewer, business, filters, dropped) {
      if (every === 0 || ++calls % every !== 0 || filters.length === 0) return
      const ids = Array.from({ length: PROBES }, () => strangeId(random))
      const found = askAll(filters, hashSeen(business, ids))
      figures.probes += PROBES
      figures.hits += ids.filter((_, at) => isFound(found, at)).length
      if (history === undefined || dropped.length === 0 || underWay !== undefined) return
      underWay = askHistory(viewer, business, dropped)
        .catch(onError)
        .finally(() => {
          underWay = undefined
        })
    },
    figures: () => ({ ...figures }),
    settled: async () => underWay,
  }
}

/** 104 random bits in a form that nobody's ids have. */
function strangeId(random: Random): string {
  return `?${Array.from({ length: 4 }, () => randomBelow(random, 2 ** 26).toString(36)).join('?')}`
}
