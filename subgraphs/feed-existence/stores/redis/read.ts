/** The reads of services and of the fold. No script: two commands per viewer and business, in one round trip. */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { issuedAtOf } from '../issued-moments.ts'
import type { HotSeen, StagedPlay } from '../hot-store.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import { decodeStaged, slotScores } from './keys.ts'
import type { SeenLayout } from './keys.ts'

/** Plays per command. A viewer may have more staged than a server should return at once. */
const PLAYS_PER_COMMAND = 10_000

export function makeSeenReading(connection: Connection, layout: SeenLayout) {
  async function getSeenMany(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<HotSeen[]> {
    // A viewer's staged plays of all businesses are in one key.
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
      const [first, end] = slotScores(slot)
      const staged = viewers.map((): StagedPlay[] => [])
      let open: Place[] = viewers.map((viewer, at) => ({ at, key: layout.staged(layout.regionOf(viewer), viewer), from: first, skip: 0 }))
      while (open.length > 0) {
        const answers = (await connection.send(
          open.map(({ key, from, skip }) => ({
            name: 'zrangebyscore',
            args: [key, from, end, 'WITHSCORES', 'LIMIT', skip, PLAYS_PER_COMMAND],
          })),
        )) as Buffer[][]
        answers.forEach((values, index) => staged[(open[index] as Place).at]?.push(...decodeStaged(values).plays))
        open = open.flatMap((place, index) => placeAfter(place, answers[index] as Buffer[]))
      }
      return staged
    },
  }
}

/**
 * The place to continue with a viewer's plays: a score, after `skip` entries with that score. Plays changed meanwhile may be skipped; they
 * stay staged.
 */
type Place = { at: number; key: string; from: number; skip: number }

function placeAfter(place: Place, values: readonly Buffer[]): Place[] {
  const read = values.length / 2
  if (read < PLAYS_PER_COMMAND) return []
  const score = (index: number): number => Number(String(values[2 * index + 1]))
  const from = score(read - 1)
  let same = 1
  while (same < read && score(read - 1 - same) === from) same++
  return [{ ...place, from, skip: from === place.from ? place.skip + same : same }]
}

function decodeIssued(values: readonly Buffer[]): HotSeen['issued'] {
  const issued: HotSeen['issued'] = []
  for (let at = 0; at + 1 < values.length; at += 2)
    issued.push({ oid: String(values[at]), issuedAt: issuedAtOf(Number(String(values[at + 1]))) })
  return issued
}

/** The plays of a business, each subject once. */
function latestOf(plays: readonly StagedPlay[], business: BusinessNumber): HotSeen['staged'] {
  const latest = new Map<string, number>()
  for (const play of plays) {
    if (play.business === business) latest.set(play.oid, Math.max(play.playedAt, latest.get(play.oid) ?? 0))
  }
  return Array.from(latest, ([oid, playedAt]) => ({ oid, playedAt }))
}
