/** The reads of a lane: they must never show less than the acknowledged marks of its viewers. */
import type { Mark } from '../../../core/domain.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lane } from '../lane.ts'
import { mayShow, type Entry, type Ledger } from './ledger.ts'
import { BUSINESS, pickViewer, type MarkWriterOptions } from './writer-options.ts'

const LOOKUPS_MAX = 50
const CACHES_BEHIND_MAX_MS = 10_000

const LOOK_UP = `query ($ids: [ID!]!) { subjects(business: "${BUSINESS}", ids: $ids) { viewerMark likeCount dislikeCount } }`
/** More likes than the hot store keeps for a viewer. The rest is in the record store. */
const PAGE = `{ thumbupUser { likes(business: "${BUSINESS}", first: 100) { edges { markedAt node { id } } } } }`

type Lookup = { subjects: { viewerMark: Mark | null; likeCount: number | null; dislikeCount: number | null }[] }
type Page = { thumbupUser: { likes: { edges: { markedAt: number; node: { id: string } }[] } | null } }

export function makeReading(lane: Lane, ledger: Ledger, options: MarkWriterOptions) {
  const { insist } = lane

  async function lookUp(): Promise<void> {
    const viewer = pickViewer(lane, options)
    const known = knownOf(viewer).slice(0, LOOKUPS_MAX)
    if (known.length === 0) return
    const { data, degraded } = await insist<Lookup>('lookup', viewer, LOOK_UP, { ids: known.map(({ entry }) => entry.oid) })
    if (degraded.size > 0) return
    const odd: string[] = []
    known.forEach(({ entry, firm }, place) => {
      const { viewerMark, likeCount, dislikeCount } = data.subjects[place] as Lookup['subjects'][number]
      const name = `viewer ${viewer}, subject ${entry.oid}`
      if (viewerMark === null || !mayShow(entry, firm, viewerMark))
        options.onWrong(
          `${name}: a lookup shows ${viewerMark} after attempt ${firm} was acknowledged: ${JSON.stringify(entry.attempts.slice(firm))}`,
        )
      if (likeCount === null || dislikeCount === null) options.onWrong(`${name}: no counts, and nothing is named that could be down`)
      else if (lacksOwn({ viewerMark, likeCount, dislikeCount })) odd.push(entry.oid)
    })
    if (odd.length > 0) await insistOnOwn(viewer, odd)
  }

  /** A cache that comes back with old content is brought up to date within seconds. After that time it must not lack a mark. */
  async function insistOnOwn(viewer: string, oids: readonly string[]): Promise<void> {
    let lacking = oids
    for (const end = performance.now() + CACHES_BEHIND_MAX_MS; lacking.length > 0; await sleep(250)) {
      const { data, degraded } = await insist<Lookup>('lookup', viewer, LOOK_UP, { ids: lacking })
      if (degraded.size > 0) return
      lacking = lacking.filter((_, place) => lacksOwn(data.subjects[place] as Lookup['subjects'][number]))
      if (lacking.length === 0 || performance.now() < end) continue
      for (const oid of lacking)
        options.onWrong(`viewer ${viewer}, subject ${oid}: counts lack the viewer's own mark for ${CACHES_BEHIND_MAX_MS} ms`)
      return
    }
  }

  async function readPage(): Promise<void> {
    const viewer = pickViewer(lane, options)
    const known = knownOf(viewer)
    const { data, degraded } = await insist<Page>('page', viewer, PAGE, {})
    if (degraded.size > 0) return
    const { likes } = data.thumbupUser
    if (likes === null) return options.onWrong(`viewer ${viewer}: no likes, and nothing is named that could be down`)
    const found = new Map(likes.edges.map(({ markedAt, node }) => [node.id, markedAt]))
    if (found.size < likes.edges.length) options.onWrong(`viewer ${viewer}: a page shows a subject twice`)
    for (const { entry, firm } of known) {
      const markedAt = found.get(entry.oid)
      const shown = entry.attempts.findIndex((attempt) => attempt.markedAt === markedAt)
      const isRight = markedAt === undefined ? canBeUnliked(entry, firm) : shown >= firm && entry.attempts[shown]?.mark === 'LIKE'
      if (!isRight)
        options.onWrong(
          `viewer ${viewer}, subject ${entry.oid}: the likes of the viewer show ${markedAt ?? 'nothing'} after attempt ${firm} was acknowledged`,
        )
    }
  }

  /** A snapshot. Marks that are acknowledged during the call belong to other lanes and viewers. */
  function knownOf(viewer: string): { entry: Entry; firm: number }[] {
    return ledger.entriesOf(viewer).map((entry) => ({ entry, firm: entry.firm }))
  }

  return { lookUp, readPage }
}

function canBeUnliked(entry: Entry, firm: number): boolean {
  return mayShow(entry, firm, 'NONE') || mayShow(entry, firm, 'DISLIKE')
}

/** True if the public counts lack the viewer's own mark. */
function lacksOwn({ viewerMark, likeCount, dislikeCount }: Lookup['subjects'][number]): boolean {
  return (viewerMark === 'LIKE' && (likeCount ?? 1) < 1) || (viewerMark === 'DISLIKE' && (dislikeCount ?? 1) < 1)
}
