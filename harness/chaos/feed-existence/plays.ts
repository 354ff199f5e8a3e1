/**
 * The writes of a lane: plays through the API, a player's reports through the log, plays of a server with a slow clock, and issued
 * subjects.
 */
import { randomBelow } from '../../../core/random.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import { HOUR_MS, slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { Lane } from '../lane.ts'
import type { Ledger, SentPlay } from './ledger.ts'
import { BUSINESS, NUMBER, type Issued, type SeenWriterOptions } from './writer-options.ts'

const DAY_MS = 24 * HOUR_MS
/** Always within the live months. */
const PLAYED_BEFORE_MAX_DAYS = 85
const ISSUED_MAX = 500

const PLAY = `mutation ($ids: [ID!]!, $playedAt: Timestamp) { recordPlayed(input: { business: "${BUSINESS}", ids: $ids, playedAt: $playedAt }) { recordedCount visible } }`
const ISSUE = `mutation ($ids: [ID!]!) { recordIssued(input: { business: "${BUSINESS}", ids: $ids }) { recorded } }`

type Stores = OpenStores['seen']

/** `nextId`: shared by all lanes, so that no two of them play the same subject. */
export function makePlays(lane: Lane, stores: Stores, ledger: Ledger, issued: Issued, nextId: () => number, options: SeenWriterOptions) {
  const { random, insist, repeat } = lane
  const below = (end: number): number => randomBelow(random, end)
  const pickViewer = (): string => String(1 + below(options.viewers))
  const freshIds = (): string[] => Array.from({ length: 1 + below(4) }, () => String(1_000_000 + nextId()))
  /** A time in this month or in an earlier live one. */
  const pickPlayedAt = (): number | undefined => (random() < 0.6 ? undefined : Date.now() - below(PLAYED_BEFORE_MAX_DAYS * DAY_MS))

  async function play(): Promise<void> {
    const [viewer, ids, playedAt] = [pickViewer(), freshIds(), pickPlayedAt()]
    // Sometimes repeats a known play with a later or an earlier time.
    const known = ledger.firm(viewer)
    if (random() < 0.2 && known.length > 0) ids.push(known[below(known.length)] as string)
    const { data, degraded } = await insist<{ recordPlayed: { recordedCount: number; visible: boolean } }>('play', viewer, PLAY, {
      ids,
      playedAt: playedAt ?? null,
    })
    const { recordedCount, visible } = data.recordPlayed
    if (recordedCount !== new Set(ids).size) options.onWrong(`viewer ${viewer}: ${ids.length} plays are ${recordedCount}`)
    if (visible === degraded.has('hotStore')) options.onWrong(`viewer ${viewer}: visible is ${visible} without ${[...degraded].join()}`)
    for (const oid of ids) ledger.acknowledge({ viewer, oid, playedAt }, visible ? 'API' : 'API, log')
  }

  async function issue(): Promise<void> {
    const viewer = pickViewer()
    const own = issued.get(viewer) ?? []
    issued.set(viewer, own)
    const ids = freshIds()
    // Beyond the hard cap, newer entries replace older ones.
    if (own.length + ids.length > ISSUED_MAX) return
    const { data } = await insist<{ recordIssued: { recorded: boolean } }>('issue', viewer, ISSUE, { ids })
    if (data.recordIssued.recorded) own.push(...ids)
  }

  /** A player's reports. */
  async function log(): Promise<void> {
    const plays = freshPlays()
    await repeat(() => stores.log.appendPlays(plays))
    // Reports may come twice, and in any order.
    if (random() < 0.3) await repeat(() => stores.log.appendPlays(plays.toReversed()))
    for (const play of plays) ledger.acknowledge(play, 'log')
  }

  async function stageLate(): Promise<void> {
    const plays = freshPlays()
    const slot = slotOf(Date.now() - (1 + below(options.slots - 2)) * HOUR_MS, options.slots)
    await repeat(() => stores.hot.stagePlays(plays, { now: Date.now(), slot }))
    for (const play of plays) ledger.acknowledge(play, 'late server')
  }

  function freshPlays(): (SentPlay & { business: number; playedAt: number })[] {
    return freshIds().map((oid) => ({ viewer: pickViewer(), business: NUMBER, oid, playedAt: pickPlayedAt() ?? Date.now() }))
  }

  return { play, issue, log, stageLate }
}
