/** The requests of viewers during the half year, and the checks of the answers. */
import type { Month, ViewerId } from '../../core/domain.ts'
import { complete } from '../../core/outage/degraded.ts'
import { monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { BUSINESS, type HalfYear } from './half-year.ts'

const CANDIDATES = 10_000
const SENTENCES_MAX = 20
const ASKING_AT_ONCE = 64
/** Larger than any recorded id. */
const PROBED_FROM = 1e12

export type Asked = {
  /** Requested ids of live months with a record, and sentences about those that came back. */
  asked: number
  cameBack: string[]
  /** Ids of ended months, requested a millisecond before the end and after it. Ids that are still hidden afterwards are false positives. */
  ending: { hiddenBefore: number; shownBefore: number; shownAfter: number; hiddenAfter: number }
}

export type Asking = ReturnType<typeof makeAsking>

export function makeAsking({ time, subgraph, truth, config }: HalfYear) {
  const { monthsBefore } = config.existence
  const report: Asked = { asked: 0, cameBack: [], ending: { hiddenBefore: 0, shownBefore: 0, shownAfter: 0, hiddenAfter: 0 } }

  async function unseen(viewer: ViewerId, candidates: readonly string[]): Promise<string[]> {
    const ids: string[] = []
    for (let at = 0; at < candidates.length; at += CANDIDATES) {
      const some = candidates.slice(at, at + CANDIDATES)
      const reader = { id: viewer, scopes: ['existence:bulk'] }
      ids.push(...(await complete((without) => subgraph.service.unseen(reader, BUSINESS, some, [], without))).ids)
    }
    return ids
  }

  async function checkLive(viewers: readonly ViewerId[]): Promise<void> {
    const oldest = monthOf(time.now) - monthsBefore
    await askAll(viewers, async (viewer) => {
      const live = truth.idsOf(viewer, (month) => month >= oldest)
      if (live.length === 0) return
      report.asked += live.length
      const back = await unseen(viewer, live)
      if (back.length > 0 && report.cameBack.length < SENTENCES_MAX)
        report.cameBack.push(`at ${new Date(time.now).toISOString()} viewer ${viewer} is shown ${back.join()} again`)
    })
  }

  /** Asks for the ids of a month that is about to end, or has just ended. */
  async function askEnding(month: Month): Promise<{ hidden: number; shown: number }> {
    const sum = { hidden: 0, shown: 0 }
    await askAll(truth.viewers(), async (viewer) => {
      const ids = truth.idsOf(viewer, (each) => each === month)
      if (ids.length === 0) return
      const shown = (await unseen(viewer, ids)).length
      sum.shown += shown
      sum.hidden += ids.length - shown
    })
    return sum
  }

  /** A millisecond before the end of a month its oldest live month is hidden, and a millisecond later it comes back. */
  async function endMonth(): Promise<void> {
    const ending = monthOf(time.now) - monthsBefore
    const before = await askEnding(ending)
    report.ending.hiddenBefore += before.hidden
    report.ending.shownBefore += before.shown
    time.now += 1
    const after = await askEnding(ending)
    report.ending.hiddenAfter += after.hidden
    report.ending.shownAfter += after.shown
    time.now -= 1
  }

  /** Requests ids without any row, spread over the viewers, with at most the allowed number of candidates per call. */
  async function probe(viewers: readonly ViewerId[], wanted: number): Promise<{ probes: number; hidden: number }> {
    const size = Math.min(CANDIDATES, Math.ceil(wanted / viewers.length))
    let [probes, hidden] = [0, 0]
    while (probes < wanted) {
      await askAll(viewers, async (viewer) => {
        if (probes >= wanted) return
        const ids = Array.from({ length: size }, (_, place) => String(PROBED_FROM + probes + place))
        probes += size
        hidden += size - (await unseen(viewer, ids)).length
      })
    }
    return { probes, hidden }
  }

  return { report, checkLive, endMonth, probe }
}

/** In groups. */
export async function askAll(viewers: readonly ViewerId[], ask: (viewer: ViewerId) => Promise<void>): Promise<void> {
  for (let at = 0; at < viewers.length; at += ASKING_AT_ONCE) await Promise.all(viewers.slice(at, at + ASKING_AT_ONCE).map(ask))
}
