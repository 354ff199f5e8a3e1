/** What services ask of a viewer, and what the job reads of those it folds. No script: two commands per viewer and business, in one round trip. */
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import type { HotSeen, StagedPlay } from '../seen-store.ts'
import type { Connection } from './connection.ts'
import { decodeStaged, slotScores } from './seen-layout.ts'
import type { SeenLayout } from './seen-layout.ts'

export function makeSeenReading(connection: Connection, layout: SeenLayout) {
  async function getSeenMany(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<HotSeen[]> {
    // What a viewer has staged is one key for all businesses.
    const viewers = [...new Set(of.map(({ viewer }) => viewer))]
    const stagedAt = new Map(viewers.map((viewer, at) => [viewer, at]))
    const answers = (await connection.send([
      ...viewers.map((viewer) => ({ name: 'zrange', args: [layout.staged(layout.regionOf(viewer), viewer), 0, -1, 'WITHSCORES'] })),
      ...of.map(({ viewer, business }) => ({
        name: 'zrevrange',
        args: [layout.issued(layout.regionOf(viewer), viewer, business), 0, -1, 'WITHSCORES'],
      })),
    ])) as Buffer[][]
    const staged = answers.slice(0, viewers.length).map(decodeStaged)
    return of.map(({ viewer, business }, at) => {
      const { folds, plays } = staged[stagedAt.get(viewer) as number] as ReturnType<typeof decodeStaged>
      return { issued: decodeIssued(answers[viewers.length + at] as Buffer[]), staged: latestOf(plays, business), folds }
    })
  }

  return {
    getSeenMany,
    async getSeen(viewer: ViewerId, business: BusinessNumber): Promise<HotSeen> {
      const [seen] = await getSeenMany([{ viewer, business }])
      return seen as HotSeen
    },

    async readStaged(slot: number, viewers: readonly ViewerId[]): Promise<StagedPlay[][]> {
      const answers = await connection.send(
        viewers.map((viewer) => ({
          name: 'zrangebyscore',
          args: [layout.staged(layout.regionOf(viewer), viewer), ...slotScores(slot), 'WITHSCORES'],
        })),
      )
      return (answers as Buffer[][]).map((values) => decodeStaged(values).plays)
    },
  }
}

function decodeIssued(values: readonly Buffer[]): HotSeen['issued'] {
  const issued: HotSeen['issued'] = []
  for (let at = 0; at + 1 < values.length; at += 2) issued.push({ oid: String(values[at]), issuedAt: Number(String(values[at + 1])) })
  return issued
}

/** Of a business, each once whatever slots it is staged in. */
function latestOf(plays: readonly StagedPlay[], business: BusinessNumber): HotSeen['staged'] {
  const latest = new Map<string, number>()
  for (const play of plays) {
    if (play.business === business) latest.set(play.oid, Math.max(play.playedAt, latest.get(play.oid) ?? 0))
  }
  return Array.from(latest, ([oid, playedAt]) => ({ oid, playedAt }))
}
