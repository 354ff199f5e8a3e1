/**
 * Measures in production how much the filters hide wrongly, and whether they ever miss. One in `every` calls of `unseen` is sampled, beside
 * the answer:
 *
 * - Ids that nobody has are probed. Each positive answer is wrong. `hits / probes` is the share of unseen subjects that all live filters
 *   together hide; it must stay below `existence.rate`.
 * - Subjects that the filters dropped are looked up in the viewer's history, if it is available. `unknown` were hidden although history has
 *   no visit of this viewer.
 */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { hashSeen } from '../filter/hash.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import { askAll, isFound } from './probes.ts'
import type { UnseenSample } from './unseen.ts'

export type SampleFigures = {
  /** Ids that nobody has, and the number of them that a filter claims to have. */
  probes: number
  hits: number
  /** Dropped subjects that were looked up in history, and the number of them that history lacks. */
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

/** 104 random bits in a form that no real id has. */
function strangeId(random: Random): string {
  return `?${Array.from({ length: 4 }, () => randomBelow(random, 2 ** 26).toString(36)).join('?')}`
}
