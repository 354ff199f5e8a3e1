/**
 * The checks after quiet. Every gateway, with freshly read filters, must report every acknowledged play as seen. Every play must be staged
 * or in the filter of its month. Settled slots must be empty.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openFilter } from '../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../subgraphs/feed-existence/filter/hash.ts'
import { monthOf, monthsRead } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { Role } from '../../deployment/role.ts'
import { call } from '../calls.ts'
import type { Ledger, SentPlay } from './ledger.ts'
import { NUMBER, SEEN, UNSEEN, type Seen } from './writer-options.ts'
import { chunked } from '../../../stores/chunks.ts'

export type SeenVerification = {
  /** Sentences. Empty if nothing acknowledged is lost. */
  losses: string[]
  plays: number
  viewers: number
  /** Filters stored, the records they count, and plays that are still staged. */
  filters: number
  records: number
  staged: number
}

const IDS_MAX = 500
const REASONS_MAX = 200
const MONTHS_BEFORE = 3
const ASK_MAX_MS = 30_000
const AGAIN_MS = 200

export async function verifySeen(
  gateways: readonly Role[],
  { hot, records }: Pick<OpenStores['seen'], 'hot' | 'records'>,
  ledger: Ledger,
): Promise<SeenVerification> {
  const losses: string[] = []
  const figures = { plays: 0, viewers: 0, filters: 0, records: 0, staged: 0 }
  for (const viewer of ledger.viewers()) {
    const plays = ledger.plays().filter((play) => play.viewer === viewer)
    const ids = [...new Set(plays.map(({ oid }) => oid))]
    figures.viewers++
    figures.plays += ids.length
    for (const gateway of gateways) {
      for (const some of chunked(ids, IDS_MAX)) {
        const { unseen } = await ask<{ unseen: { ids: string[] } }>(gateway, viewer, UNSEEN, some)
        for (const oid of unseen.ids) losses.push(`${gateway.name}: viewer ${viewer} is shown ${oid} again`)
      }
      for (const some of chunked(ids, REASONS_MAX)) {
        const { subjects } = await ask<Seen>(gateway, viewer, SEEN, some)
        for (const { id, viewerSeen } of subjects)
          if (viewerSeen === null || viewerSeen === 'ISSUED')
            losses.push(`${gateway.name}: viewer ${viewer}, ${id}: viewerSeen is ${viewerSeen}`)
      }
    }
    const { staged } = await hot.getSeen(viewer, NUMBER)
    const isStaged = new Set(staged.map(({ oid }) => oid))
    figures.staged += staged.length
    const months = monthsRead(Date.now(), { monthsBefore: MONTHS_BEFORE, futureMaxMs: 0 })
    const stored = await records.getFilters(months.map((month) => ({ viewer, month })))
    const probes = new Map(
      months.flatMap((month, place) => (stored[place] === undefined ? [] : [[month, openFilter(stored[place].filter)]])),
    )
    figures.filters += probes.size
    for (const probe of probes.values()) figures.records += probe.records
    for (const [oid, playedAt] of newestOf(plays)) {
      const [hash1 = 0, hash2 = 0] = hashSeen(NUMBER, [oid])
      const wanted = playedAt === Infinity ? months : [monthOf(playedAt)]
      if (!isStaged.has(oid) && !wanted.some((month) => probes.get(month)?.has(hash1, hash2)))
        losses.push(`viewer ${viewer}: ${oid} is neither staged nor in the filter of its month`)
    }
  }
  return { losses, ...figures }
}

/** The later of two plays of a subject in an hour is kept. Infinity: the server set the time. */
function newestOf(plays: readonly SentPlay[]): Map<string, number> {
  const newest = new Map<string, number>()
  for (const { oid, playedAt = Infinity } of plays) newest.set(oid, Math.max(playedAt, newest.get(oid) ?? 0))
  return newest
}

/** Repeats until the answer is complete, because a gateway notices a recovered store later. */
async function ask<Data>(gateway: Role, viewer: string, query: string, ids: readonly string[]): Promise<Data> {
  for (const end = performance.now() + ASK_MAX_MS; ; await sleep(AGAIN_MS)) {
    const made = await call<Data>(gateway, 'verify', viewer, query, { ids })
    if (made.end.kind === 'answered' && made.end.degraded.size === 0) return made.end.data
    if (performance.now() > end) throw new Error(`${gateway.name} does not give a complete answer: ${JSON.stringify(made.end)}`)
  }
}
