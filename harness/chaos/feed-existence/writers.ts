/**
 * The load: lanes of calls to gateways, for any viewer, so that each has several devices; players whose reports come through the
 * log; and a server whose clock is hours behind, so that slots at rest have something to fold though the run takes minutes. Reads
 * must never show a viewer what was firm when they began.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { HOUR_MS, slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { Role } from '../../deployment/role.ts'
import { call, type Call, type CallEnd } from '../history/calls.ts'
import type { Ledger, SentPlay } from './ledger.ts'

export type SeenWriterOptions = {
  seed: number
  /** Calls under way at once. */
  lanes: number
  viewers: number
  slots: number
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  onCall(call: Call): void
  /** A sentence: what was answered is wrong. */
  onWrong(sentence: string): void
}

export type SeenWriters = {
  /** Resolves when the last call was answered; rejects if nobody answers in 30 s. */
  stop(): Promise<void>
  figures(): { strange: number; strangeHidden: number }
}

export const BUSINESS = 'video'
export const NUMBER = 1
const AGAIN_MS = 50
const GIVE_UP_MS = 30_000
const CANDIDATES_MAX = 480
const STRANGE = 20
const DAY_MS = 24 * HOUR_MS
/** Within the live months, however long they are. */
const PLAYED_BEFORE_MAX_DAYS = 85
const ISSUED_MAX = 500

const PLAY = `mutation ($ids: [ID!]!, $playedAt: Timestamp) { recordPlayed(business: "${BUSINESS}", ids: $ids, playedAt: $playedAt) { recorded visible } }`
const ISSUE = `mutation ($ids: [ID!]!) { recordIssued(business: "${BUSINESS}", ids: $ids) { recorded } }`
export const UNSEEN = `query ($ids: [ID!]!) { unseen(business: "${BUSINESS}", candidates: $ids) { ids droppedIssued droppedStaged droppedFiltered } }`
export const SEEN = `query ($ids: [ID!]!) { seen(business: "${BUSINESS}", ids: $ids) { id reason } }`

type Answer<Data> = Extract<CallEnd<Data>, { kind: 'answered' }>
type Stores = OpenStores['seen']

export function startSeenWriters(gateways: readonly Role[], stores: Stores, ledger: Ledger, options: SeenWriterOptions): SeenWriters {
  const issued = new Map<string, string[]>()
  const figures = { strange: 0, strangeHidden: 0 }
  let running = true
  let giveUpAt = Infinity
  let lastId = 0

  function startLane(lane: number): Promise<void> {
    const random = seededRandom(options.seed * 1_000 + lane)
    let gateway = gateways[lane % gateways.length] as Role
    const below = (end: number): number => randomBelow(random, end)
    const pickViewer = (): string => String(1 + below(options.viewers))
    const freshIds = (): string[] => Array.from({ length: 1 + below(4) }, () => String(1_000_000 + ++lastId))
    /** Of this month, or of one of those before it. */
    const pickPlayedAt = (): number | undefined => (random() < 0.6 ? undefined : Date.now() - below(PLAYED_BEFORE_MAX_DAYS * DAY_MS))

    /** Until it is answered, or nobody answers though everything should be repaired. */
    async function insist<Data>(operation: string, viewer: string, query: string, variables: object): Promise<Answer<Data>> {
      for (;;) {
        const made = await call<Data>(gateway, operation, viewer, query, variables)
        options.onCall(made)
        if (made.end.kind === 'answered') return made.end
        if (performance.now() > giveUpAt) throw new Error(`no gateway answers any more: ${JSON.stringify(made.end)}`)
        gateway = gateways[(gateways.indexOf(gateway) + 1) % gateways.length] as Role
        await sleep(AGAIN_MS)
      }
    }

    /** The same again until it is taken: at least once. */
    async function until(task: () => Promise<unknown>): Promise<void> {
      for (;;) {
        try {
          await task()
          return
        } catch (error) {
          if (performance.now() > giveUpAt) throw error
          await sleep(AGAIN_MS)
        }
      }
    }

    async function play(): Promise<void> {
      const [viewer, ids, playedAt] = [pickViewer(), freshIds(), pickPlayedAt()]
      // Now and then the same once more, later or as of earlier.
      const known = ledger.firm(viewer)
      if (random() < 0.2 && known.length > 0) ids.push(known[below(known.length)] as string)
      const { data, degraded } = await insist<{ recordPlayed: { recorded: number; visible: boolean } }>('play', viewer, PLAY, {
        ids,
        playedAt: playedAt ?? null,
      })
      const { recorded, visible } = data.recordPlayed
      if (recorded !== new Set(ids).size) options.onWrong(`viewer ${viewer}: ${ids.length} plays are ${recorded}`)
      if (visible === degraded.has('hotStore')) options.onWrong(`viewer ${viewer}: visible is ${visible} without ${[...degraded].join()}`)
      for (const oid of ids) ledger.acknowledge({ viewer, oid, playedAt }, visible ? 'API' : 'API, log')
    }

    async function issue(): Promise<void> {
      const viewer = pickViewer()
      const own = issued.get(viewer) ?? []
      issued.set(viewer, own)
      const ids = freshIds()
      // More than are kept in any case are pushed out by newer ones.
      if (own.length + ids.length > ISSUED_MAX) return
      const { data } = await insist<{ recordIssued: { recorded: boolean } }>('issue', viewer, ISSUE, { ids })
      if (data.recordIssued.recorded) own.push(...ids)
    }

    async function ask(): Promise<void> {
      const viewer = pickViewer()
      const firm = new Set([...some(ledger.firm(viewer), CANDIDATES_MAX - 100), ...some(issued.get(viewer) ?? [], 60)])
      const strange = Array.from({ length: STRANGE }, () => `s${below(1e9)}`)
      const { data, degraded } = await insist<{ unseen: { ids: string[] } }>('unseen', viewer, UNSEEN, { ids: [...firm, ...strange] })
      if (degraded.size > 0) return
      const shown = new Set(data.unseen.ids)
      for (const oid of firm) if (shown.has(oid)) options.onWrong(`viewer ${viewer} is shown ${oid}, which was acknowledged`)
      figures.strange += STRANGE
      figures.strangeHidden += strange.filter((oid) => !shown.has(oid)).length
    }

    async function askReasons(): Promise<void> {
      const viewer = pickViewer()
      const ids = [...new Set(some(ledger.firm(viewer), 150))]
      if (ids.length === 0) return
      const { data, degraded } = await insist<{ seen: { id: string; reason: string | null }[] }>('seen', viewer, SEEN, { ids })
      if (degraded.size > 0) return
      for (const { id, reason } of data.seen)
        if (reason !== 'PLAYED' && reason !== 'PLAYED_PROBABLY')
          options.onWrong(`viewer ${viewer}: ${id} was watched, and seen says ${reason}`)
    }

    /** The newest, and any of the others. */
    function some(ids: readonly string[], max: number): string[] {
      const newest = ids.slice(-Math.floor(max / 2))
      return [...newest, ...Array.from({ length: Math.min(ids.length, max - newest.length) }, () => ids[below(ids.length)] as string)]
    }

    /** A player's reports. */
    async function log(): Promise<void> {
      const plays = freshPlays()
      await until(() => stores.log.appendPlays(plays))
      // They may come twice, and in any order.
      if (random() < 0.3) await until(() => stores.log.appendPlays(plays.toReversed()))
      for (const play of plays) ledger.acknowledge(play, 'log')
    }

    async function stageLate(): Promise<void> {
      const plays = freshPlays()
      const slot = slotOf(Date.now() - (1 + below(options.slots - 2)) * HOUR_MS, options.slots)
      await until(() => stores.hot.stagePlays(plays, { now: Date.now(), slot }))
      for (const play of plays) ledger.acknowledge(play, 'late server')
    }

    function freshPlays(): (SentPlay & { business: number; playedAt: number })[] {
      return freshIds().map((oid) => ({ viewer: pickViewer(), business: NUMBER, oid, playedAt: pickPlayedAt() ?? Date.now() }))
    }

    async function run(): Promise<void> {
      while (running) {
        const dice = random()
        if (dice < 0.35) await play()
        else if (dice < 0.45) await issue()
        else if (dice < 0.75) await ask()
        else if (dice < 0.85) await askReasons()
        else if (dice < 0.93) await log()
        else await stageLate()
        await sleep(random() * options.pauseMaxMs)
      }
    }
    return run()
  }

  const ended = Promise.all(Array.from({ length: options.lanes }, (_, lane) => startLane(lane)))
  // Whoever stops them hears of it.
  ended.catch(() => undefined)
  return {
    figures: () => figures,
    async stop() {
      running = false
      giveUpAt = performance.now() + GIVE_UP_MS
      await ended
    },
  }
}
