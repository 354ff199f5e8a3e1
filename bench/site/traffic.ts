/**
 * The requests of the site for a rate, and the notes of acknowledged writes. Gaps between requests are exponential, because viewers are
 * independent.
 */
import { randomBelow, seededRandom } from '../../core/random.ts'
import { checkWhole } from '../support/persisted.ts'
import { makeLedger, valueOf, type Acknowledged } from './ledger.ts'
import {
  BODIES,
  BULK,
  CANDIDATES,
  ISSUED,
  LISTED,
  checkAnswer,
  kindAt,
  shareOf,
  type KindName,
  type SiteCall,
  type SiteRequest,
} from './operations.ts'
import { makePlayers } from './players.ts'
import { makeVideoDraw, watcherAt, type SiteSize } from './population.ts'

export type Traffic = {
  ledger: Acknowledged
  /** `only`: all requests are of this kind. */
  requests(perSecond: number, seconds: number, only?: KindName): Generator<SiteRequest>
  /** Throws if the answer is not whole. Notes an acknowledged write. */
  check(answer: string, request: SiteRequest): void
}

/** `homeViewers`, `authors`: of the feed. */
export function makeTraffic(size: SiteSize, homeViewers: readonly string[], authors: readonly string[]): Traffic {
  const random = seededRandom(2027)
  const ledger = makeLedger()
  const drawVideo = makeVideoDraw(random, size)
  const players = makePlayers(random, drawVideo, ledger)
  const calls = makeCalls(size, homeViewers, authors, ledger)
  return {
    ledger,
    *requests(perSecond, seconds, only) {
      players.setRate(perSecond * (only === 'report' ? 1 : shareOf('report')))
      for (let atMs = 0; atMs < seconds * 1_000; atMs += (-Math.log(1 - random()) * 1_000) / perSecond) {
        const kind = only ?? kindAt(random())
        yield { atMs, kind, ...(kind === 'report' ? players.report() : calls[kind]()) }
      }
    },
    check(answer, { kind, acknowledged }) {
      checkWhole(answer)
      checkAnswer(kind, answer)
      acknowledged?.(answer)
    },
  }
}

/** Calls of readers, home viewers and authors. */
function makeCalls(
  size: SiteSize,
  homeViewers: readonly string[],
  authors: readonly string[],
  { likes, follows, issued, posts }: Acknowledged,
): Record<Exclude<KindName, 'report'>, () => SiteCall> {
  const random = seededRandom(2028)
  const drawVideo = makeVideoDraw(random, size)
  const catalogue = Array.from({ length: size.videos }, (_, at) => String(1 + at))
  let published = 0
  const reader = (): string => watcherAt(randomBelow(random, size.readers))
  const oneOf = (all: readonly string[]): string => all[randomBelow(random, all.length)] as string

  function candidates(): string[] {
    const from = randomBelow(random, size.videos - CANDIDATES)
    return catalogue.slice(from, from + CANDIDATES)
  }
  function videos(count: number): string[] {
    const ids = new Set<string>()
    while (ids.size < count) ids.add(drawVideo())
    return [...ids]
  }
  function noting(map: Map<string, Set<string>>, viewer: string, ids: readonly string[]): () => void {
    return () => {
      const noted = valueOf(map, viewer, () => new Set<string>())
      for (const id of ids) noted.add(id)
    }
  }

  return {
    list: () => ({ viewer: reader(), body: BODIES.list({ ids: videos(LISTED) }) }),
    unseen: () => ({ viewer: reader(), scopes: BULK, body: BODIES.unseen({ ids: candidates() }) }),
    issued() {
      const [viewer, ids] = [reader(), videos(ISSUED)]
      return { viewer, body: BODIES.issued({ ids }), acknowledged: noting(issued, viewer, ids) }
    },
    history: () => ({ viewer: reader(), body: BODIES.history() }),
    home: () => ({ viewer: oneOf(homeViewers), body: BODIES.home() }),
    like() {
      const [viewer, id] = [reader(), drawVideo()]
      return { viewer, body: BODIES.like({ id }), acknowledged: noting(likes, viewer, [id]) }
    },
    follow() {
      const [viewer, id] = [reader(), oneOf(authors)]
      return { viewer, body: BODIES.follow({ ids: [id] }), acknowledged: noting(follows, viewer, [id]) }
    },
    publish() {
      const viewer = oneOf(authors)
      const clientKey = `site-${published++}`
      return {
        viewer,
        body: BODIES.publish({ input: { clientKey, text: `post ${clientKey} about a video` } }),
        acknowledged(answer) {
          const { data } = JSON.parse(answer) as { data: { publishPost: { post: { id: string } } } }
          valueOf(posts, viewer, () => [] as string[]).push(data.publishPost.post.id)
        },
      }
    },
  }
}
