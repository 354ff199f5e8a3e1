/**
 * The load: lanes of calls to gateways, each with viewers and subjects' owners of its own. Storms of one viewer who likes and
 * undoes, crowds of viewers on one subject, single marks, owners registered meanwhile; and reads that must never show a
 * viewer less than what he was told is done.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Mark } from '../../../core/domain.ts'
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import type { Role } from '../../deployment/role.ts'
import { call, type Call, type CallEnd } from '../history/calls.ts'
import { mayShow, type Entry, type Ledger, type Sent } from './ledger.ts'

export type MarkWriterOptions = {
  seed: number
  /** Calls under way at once. */
  lanes: number
  viewers: number
  subjects: number
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  /** Nothing is written; then other lanes may write of the same viewers. Default false. */
  readsOnly?: boolean
  /** Hears of every call. */
  onCall(call: Call): void
  /** A sentence: what was answered is wrong. */
  onWrong(sentence: string): void
}

export type MarkWriters = {
  /** Resolves when the last call was answered; rejects if no gateway answers in 30 s. */
  stop(): Promise<void>
}

export const BUSINESS = 'video'
/** Subjects that crowds come to. */
export const HOT_SUBJECTS = ['hot-1', 'hot-2']
const OWNERS = 5
const STORM = 20
const STORM_SUBJECTS = 3
const CROWD_MAX = 100
const LOOKUPS_MAX = 50
const AGAIN_MS = 50
const GIVE_UP_MS = 30_000
const CACHES_BEHIND_MAX_MS = 10_000
/** A registration is not journaled: it may fail while the record store is down, and is sent again. */
export const REGISTER = 'register'

const MARK_BATCH = 'mutation ($inputs: [MarkInput!]!) { markBatch(inputs: $inputs) { outcome code message newMark } }'
const MARK_ONE = `mutation ($business: String!, $id: ID!, $mark: Mark!, $markedAt: Timestamp) {
  mark(business: $business, id: $id, mark: $mark, markedAt: $markedAt, source: "chaos") { outcome code message newMark } }`
const REGISTRATION = 'mutation ($inputs: [SubjectInput!]!) { registerSubjects(inputs: $inputs) { registered code message } }'
const LOOK_UP = `query ($ids: [ID!]!) { thumbups(business: "${BUSINESS}", ids: $ids) { viewerMark likeCount dislikeCount } }`
/** More than the hot store keeps of a viewer: the rest is in the record store. */
const PAGE = `{ thumbupUser { likes(business: "${BUSINESS}", first: 100) { edges { node { oid markedAt } } } } }`

type Outcome = { outcome: string; code: string | null; message: string | null; newMark: Mark | null }
type Lookup = { thumbups: { viewerMark: Mark | null; likeCount: number | null; dislikeCount: number | null }[] }
type Page = { thumbupUser: { likes: { edges: { node: { oid: string; markedAt: number } }[] } | null } }
type Answer<Data> = Extract<CallEnd<Data>, { kind: 'answered' }>

export function startMarkWriters(gateways: readonly Role[], ledger: Ledger, options: MarkWriterOptions): MarkWriters {
  const lanes = Array.from({ length: options.lanes }, (_, lane) => startLane(gateways, ledger, lane, options))
  return {
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}

function startLane(gateways: readonly Role[], ledger: Ledger, lane: number, options: MarkWriterOptions): { stop(): Promise<void> } {
  const random: Random = seededRandom(options.seed * 1_000 + lane)
  let gateway = gateways[lane % gateways.length] as Role
  let running = true
  let giveUpAt = Infinity

  /** Until it is answered, or nobody answers though everything should be repaired. */
  async function insist<Data>(operation: string, viewer: string, query: string, variables: object, scopes?: string): Promise<Answer<Data>> {
    for (;;) {
      const made = await call<Data>(gateway, operation, viewer, query, variables, scopes)
      options.onCall(made)
      if (made.end.kind === 'answered') return made.end
      if (performance.now() > giveUpAt) throw new Error(`no gateway answers any more: ${JSON.stringify(made.end)}`)
      gateway = gateways[(gateways.indexOf(gateway) + 1) % gateways.length] as Role
      await sleep(AGAIN_MS)
    }
  }

  function pickViewer(): string {
    return String(1 + lane + options.lanes * randomBelow(random, Math.ceil(options.viewers / options.lanes)))
  }

  function pickSubject(): string {
    return String(1 + randomBelow(random, options.subjects))
  }

  function pickMark(): Mark {
    return (['LIKE', 'LIKE', 'NONE', 'DISLIKE'] as const)[randomBelow(random, 4)] as Mark
  }

  async function send(operation: string, viewer: string, sent: readonly Sent[], scopes?: string): Promise<void> {
    const inputs = sent.map(({ entry, at }) => ({ viewer: entry.viewer, business: BUSINESS, id: entry.oid, ...entry.attempts[at] }))
    const { data, degraded } = await insist<{ markBatch: Outcome[] }>(operation, viewer, MARK_BATCH, { inputs }, scopes)
    data.markBatch.forEach((outcome, place) => judge(sent[place] as Sent, outcome, degraded))
  }

  function judge({ entry, at }: Sent, { outcome, code, message, newMark }: Outcome, degraded: ReadonlySet<string>): void {
    const { mark } = entry.attempts[at] as { mark: Mark }
    const isNewest = at === entry.attempts.length - 1
    // What is sent again, here or in the service, meets itself, and its own newer ones.
    if (outcome === 'ACCEPTED' || (outcome === 'STALE' && (!isNewest || newMark === mark)))
      ledger.acknowledge({ entry, at }, !degraded.has('hotStore'))
    else
      options.onWrong(
        `viewer ${entry.viewer}, subject ${entry.oid}: the newest mark, ${mark}, was ${outcome} with ${newMark}: ${code ?? ''} ${message ?? ''}`,
      )
  }

  /** Likes, undoes and dislikes the same few subjects again and again. */
  async function storm(): Promise<void> {
    const viewer = pickViewer()
    const subjects = Array.from({ length: STORM_SUBJECTS }, pickSubject)
    const sent = Array.from({ length: STORM }, () =>
      ledger.attempt(viewer, subjects[randomBelow(random, STORM_SUBJECTS)] as string, pickMark()),
    )
    await send('storm', viewer, sent)
  }

  async function single(): Promise<void> {
    const viewer = pickViewer()
    const { entry, at } = ledger.attempt(viewer, pickSubject(), pickMark())
    const { data, degraded } = await insist<{ mark: Outcome }>('mark', viewer, MARK_ONE, {
      business: BUSINESS,
      id: entry.oid,
      ...entry.attempts[at],
    })
    judge({ entry, at }, data.mark, degraded)
  }

  /** A service brings the marks of many viewers of one subject. */
  async function crowd(): Promise<void> {
    const oid = HOT_SUBJECTS[randomBelow(random, HOT_SUBJECTS.length)] as string
    const viewers = new Set(Array.from({ length: 1 + randomBelow(random, CROWD_MAX) }, pickViewer))
    const sent = Array.from(viewers, (viewer) => ledger.attempt(viewer, oid, pickMark()))
    await send('crowd', 'service', sent, 'marks:write-any')
  }

  /** A subject's owner is one lane's to say, so that the last registration is the one that counts. */
  async function register(): Promise<void> {
    const oids = new Set(
      Array.from({ length: 5 }, () => 1 + lane + options.lanes * randomBelow(random, Math.ceil(options.subjects / options.lanes))),
    )
    const inputs = Array.from(oids, (oid) => ({
      business: BUSINESS,
      id: String(oid),
      owner: `owner-${randomBelow(random, OWNERS)}`,
    }))
    const { data } = await insist<{ registerSubjects: { registered: boolean; code: string | null }[] }>(
      REGISTER,
      'service',
      REGISTRATION,
      { inputs },
      'subjects:register',
    )
    data.registerSubjects.forEach(({ registered, code }, place) => {
      const { id, owner } = inputs[place] as { id: string; owner: string }
      if (registered) ledger.owners.set(id, owner)
      else options.onWrong(`subject ${id}: its owner was not registered: ${code}`)
    })
  }

  async function lookUp(): Promise<void> {
    const viewer = pickViewer()
    const known = knownOf(viewer).slice(0, LOOKUPS_MAX)
    if (known.length === 0) return
    const { data, degraded } = await insist<Lookup>('lookup', viewer, LOOK_UP, { ids: known.map(({ entry }) => entry.oid) })
    if (degraded.size > 0) return
    const odd: string[] = []
    known.forEach(({ entry, firm }, place) => {
      const { viewerMark, likeCount, dislikeCount } = data.thumbups[place] as Lookup['thumbups'][number]
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

  /** A cache that comes back with what it had before is brought up to date within seconds; longer than that it may not lack a mark. */
  async function insistOnOwn(viewer: string, oids: readonly string[]): Promise<void> {
    let lacking = oids
    for (const end = performance.now() + CACHES_BEHIND_MAX_MS; lacking.length > 0; await sleep(250)) {
      const { data, degraded } = await insist<Lookup>('lookup', viewer, LOOK_UP, { ids: lacking })
      if (degraded.size > 0) return
      lacking = lacking.filter((_, place) => lacksOwn(data.thumbups[place] as Lookup['thumbups'][number]))
      if (lacking.length === 0 || performance.now() < end) continue
      for (const oid of lacking)
        options.onWrong(`viewer ${viewer}, subject ${oid}: counts lack his own mark for ${CACHES_BEHIND_MAX_MS} ms`)
      return
    }
  }

  async function readPage(): Promise<void> {
    const viewer = pickViewer()
    const known = knownOf(viewer)
    const { data, degraded } = await insist<Page>('page', viewer, PAGE, {})
    if (degraded.size > 0) return
    const { likes } = data.thumbupUser
    if (likes === null) return options.onWrong(`viewer ${viewer}: no likes, and nothing is named that could be down`)
    const nodes = likes.edges.map((edge) => edge.node)
    const found = new Map(nodes.map((node) => [node.oid, node.markedAt]))
    if (found.size < nodes.length) options.onWrong(`viewer ${viewer}: a page shows a subject twice`)
    for (const { entry, firm } of known) {
      const markedAt = found.get(entry.oid)
      const shown = entry.attempts.findIndex((attempt) => attempt.markedAt === markedAt)
      const isRight = markedAt === undefined ? canBeUnliked(entry, firm) : shown >= firm && entry.attempts[shown]?.mark === 'LIKE'
      if (!isRight)
        options.onWrong(
          `viewer ${viewer}, subject ${entry.oid}: his likes show ${markedAt ?? 'nothing'} after attempt ${firm} was acknowledged`,
        )
    }
  }

  function canBeUnliked(entry: Entry, firm: number): boolean {
    return mayShow(entry, firm, 'NONE') || mayShow(entry, firm, 'DISLIKE')
  }

  /** As of now: what is acknowledged while the call is under way is of another lane, and another viewer. */
  function knownOf(viewer: string): { entry: Entry; firm: number }[] {
    return ledger.entriesOf(viewer).map((entry) => ({ entry, firm: entry.firm }))
  }

  async function run(): Promise<void> {
    while (running) {
      const dice = random()
      if (options.readsOnly === true) await (dice < 0.9 ? lookUp() : readPage())
      else if (dice < 0.3) await storm()
      else if (dice < 0.5) await crowd()
      else if (dice < 0.62) await single()
      else if (dice < 0.7) await register()
      else if (dice < 0.88) await lookUp()
      else await readPage()
      await sleep(random() * options.pauseMaxMs)
    }
  }

  const ended = run()
  return {
    async stop() {
      running = false
      giveUpAt = performance.now() + GIVE_UP_MS
      await ended
    },
  }
}

/** Counts that everybody has must have one's own. */
function lacksOwn({ viewerMark, likeCount, dislikeCount }: Lookup['thumbups'][number]): boolean {
  return (viewerMark === 'LIKE' && (likeCount ?? 1) < 1) || (viewerMark === 'DISLIKE' && (dislikeCount ?? 1) < 1)
}
