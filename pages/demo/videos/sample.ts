/**
 * A deterministic sample for a viewer without a history: views of the last five days, and likes of other viewers. It is written through
 * the API, like everything else here. Its times are relative to now, so the views are always of the last days.
 */
import { call, type Identity } from '../../shared/api.ts'
import { MARKS, type Marks } from '../operations.ts'
import { randomOf, seedOf, shuffled } from '../random.ts'
import { CATALOGUE } from './catalogue.ts'
import { HISTORY, REPORTS, type History, type Reports } from './operations.ts'

const VIEWS = 9
const DAY_MS = 86_400_000

/** Resolves with true if the viewer's history was empty and the sample is written. */
export async function fillIfEmpty(identity: Identity, viewer: string, now: number): Promise<boolean> {
  const { data } = await call<History>(identity, HISTORY)
  if (data?.viewerHistory == null || data.viewerHistory.edges.length > 0) return false
  const random = randomOf(seedOf(viewer) + 1)
  const chosen = shuffled(CATALOGUE, random).slice(0, VIEWS)
  const reports = chosen.map(({ id, durationMs }, at) => ({
    business: 'video',
    id,
    duration: durationMs,
    position: Math.floor(durationMs * (at % 3 === 0 ? 1 : 0.15 + 0.7 * random())),
    viewedAt: Math.floor(now - ((at + random()) / VIEWS) * 5 * DAY_MS) - 60_000,
    device: ['tv', 'phone', 'laptop'][at % 3],
  }))
  const { data: written } = await call<Reports>(identity, REPORTS, { reports })
  // The same likes for every viewer, so that a second viewer's sample changes no count.
  await likeByOthers(randomOf(1)).catch(() => undefined)
  return written?.reportProgressBatch?.results.some(({ outcome }) => outcome === 'ACCEPTED') === true
}

/** A service marks for other viewers. With a token of one viewer this is refused, and the counts begin at 0. */
async function likeByOthers(random: () => number): Promise<void> {
  const marks = CATALOGUE.flatMap(({ id }) =>
    Array.from({ length: Math.floor(random() * 9) }, (_, at) => ({ business: 'video', id, mark: 'LIKE', viewer: `demo-fan-${at + 1}` })),
  )
  await call<Marks>({ viewer: 'demo-sample', scopes: 'marks:write-any' }, MARKS, { marks: marks.slice(0, 500) })
}
