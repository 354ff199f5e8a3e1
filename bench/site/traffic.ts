/**
 * The requests of the site for a rate, and the notes of acknowledged writes.
 *
 * Gaps between requests are exponential, because viewers are independent. A player reports every 15 s, so the rate of reports decides how
 * many viewers watch. A player waits for the answer before its next report. After some reports it goes on to another video.
 */
import { seededRandom } from '../../core/random.ts'
import type { Timed } from '../support/open-loop.ts'
import { checkWhole } from '../support/persisted.ts'
import { makeLedger, valueOf, type Acknowledged } from './ledger.ts'
import { BODIES, BULK, CANDIDATES, ISSUED, LISTED, checkAnswer, kindAt, shareOf, type KindName } from './operations.ts'
import { makeVideoDraw, watcherAt, type SiteSize } from './population.ts'

const HEARTBEAT_SECONDS = 15
const REPORTS_PER_VIDEO = 20
const DURATION = HEARTBEAT_SECONDS * 1_000 * REPORTS_PER_VIDEO * 2

export type SiteRequest = Timed & { kind: KindName; acknowledged?(answer: string): void; failed?(): void }

export type Traffic = {
  ledger: Acknowledged
  requests(perSecond: number, seconds: number): Generator<SiteRequest>
  /** Throws if the answer is not whole. Notes an acknowledged write. */
  check(answer: string, request: SiteRequest): void
}

type Player = { viewer: string; video: string; reports: number; waits: boolean }

/** `homeViewers`, `authors`: of the feed. */
export function makeTraffic(size: SiteSize, homeViewers: readonly string[], authors: readonly string[]): Traffic {
  const random = seededRandom(2027)
  const ledger = makeLedger()
  const drawVideo = makeVideoDraw(random, size)
  const catalogue = Array.from({ length: size.videos }, (_, at) => String(1 + at))
  const players: Player[] = []
  let playing = 0
  let nextPlayer = 0
  let posts = 0

  const below = (count: number): number => Math.floor(random() * count)
  const reader = (): string => watcherAt(below(size.readers))
  const candidates = (): string[] => {
    const from = below(size.videos - CANDIDATES)
    return catalogue.slice(from, from + CANDIDATES)
  }

  function drawVideos(count: number): string[] {
    const ids = new Set<string>()
    while (ids.size < count) ids.add(drawVideo())
    return [...ids]
  }

  /** A player that stops keeps its video, and continues there at a higher rate. */
  function setPlayers(count: number): void {
    playing = count
    // A new player is in the middle of a video.
    while (players.length < count)
      players.push({ viewer: watcherAt(players.length), video: drawVideo(), reports: below(REPORTS_PER_VIDEO), waits: false })
  }

  function newVideo(player: Player): void {
    const known = ledger.positions.get(player.viewer)
    do player.video = drawVideo()
    while (known?.has(player.video))
    player.reports = 0
  }

  function report(): Omit<SiteRequest, 'atMs' | 'kind'> {
    let player: Player
    do player = players[nextPlayer++ % playing] as Player
    while (player.waits)
    if (player.reports === REPORTS_PER_VIDEO) newVideo(player)
    const { viewer, video: id } = player
    const position = ++player.reports * HEARTBEAT_SECONDS * 1_000
    player.waits = true
    return {
      viewer,
      body: BODIES.report({ input: { business: 'video', id, position, duration: DURATION, device: 'phone' } }),
      acknowledged() {
        player.waits = false
        valueOf(ledger.positions, viewer, () => new Map()).set(id, position)
      },
      failed() {
        player.waits = false
        ledger.positions.get(viewer)?.delete(id)
        newVideo(player)
      },
    }
  }

  const makers: Record<KindName, () => Omit<SiteRequest, 'atMs' | 'kind'>> = {
    report,
    list: () => ({ viewer: reader(), body: BODIES.list({ ids: drawVideos(LISTED) }) }),
    unseen: () => ({ viewer: reader(), scopes: BULK, body: BODIES.unseen({ ids: candidates() }) }),
    issued() {
      const [viewer, ids] = [reader(), drawVideos(ISSUED)]
      const acknowledged = (): void => {
        const issued = valueOf(ledger.issued, viewer, () => new Set())
        for (const id of ids) issued.add(id)
      }
      return { viewer, body: BODIES.issued({ ids }), acknowledged }
    },
    history: () => ({ viewer: reader(), body: BODIES.history() }),
    home: () => ({ viewer: homeViewers[below(homeViewers.length)] as string, body: BODIES.home() }),
    like() {
      const [viewer, id] = [reader(), drawVideo()]
      return { viewer, body: BODIES.like({ id }), acknowledged: () => void valueOf(ledger.likes, viewer, () => new Set()).add(id) }
    },
    follow() {
      const [viewer, id] = [reader(), authors[below(authors.length)] as string]
      return {
        viewer,
        body: BODIES.follow({ ids: [id] }),
        acknowledged: () => void valueOf(ledger.follows, viewer, () => new Set()).add(id),
      }
    },
    publish() {
      const viewer = authors[below(authors.length)] as string
      const acknowledged = (answer: string): void => {
        const { data } = JSON.parse(answer) as { data: { publishPost: { post: { id: string } } } }
        valueOf(ledger.posts, viewer, () => [] as string[]).push(data.publishPost.post.id)
      }
      const clientKey = `site-${posts++}`
      return { viewer, body: BODIES.publish({ input: { clientKey, text: `post ${clientKey} about a video` } }), acknowledged }
    },
  }

  return {
    ledger,
    *requests(perSecond, seconds) {
      setPlayers(Math.ceil(perSecond * shareOf('report') * HEARTBEAT_SECONDS))
      for (let atMs = 0; atMs < seconds * 1_000; atMs += (-Math.log(1 - random()) * 1_000) / perSecond) {
        const kind = kindAt(random())
        yield { atMs, kind, ...makers[kind]() }
      }
    },
    check(answer, { kind, acknowledged }) {
      checkWhole(answer)
      checkAnswer(kind, answer)
      acknowledged?.(answer)
    },
  }
}
