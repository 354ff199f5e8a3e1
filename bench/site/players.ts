/**
 * Players that report in turn. A player reports every 15 s, so the rate of reports decides how many of them play. A player waits for the
 * answer before its next report. After some reports it goes on to another video.
 */
import type { Random } from '../../core/random.ts'
import { valueOf, type Acknowledged } from './ledger.ts'
import { BODIES, type SiteCall } from './operations.ts'
import { watcherAt } from './population.ts'

const HEARTBEAT_SECONDS = 15
const REPORTS_PER_VIDEO = 20
const DURATION = HEARTBEAT_SECONDS * 1_000 * REPORTS_PER_VIDEO * 2

type Player = { viewer: string; video: string; reports: number; waits: boolean }

export type Players = {
  /** Players that stop keep their video, and continue there at a higher rate. */
  setRate(reportsPerSecond: number): void
  report(): SiteCall
}

export function makePlayers(random: Random, drawVideo: () => string, { positions }: Acknowledged): Players {
  const players: Player[] = []
  let playing = 0
  let next = 0

  function newVideo(player: Player): void {
    const known = positions.get(player.viewer)
    do player.video = drawVideo()
    while (known?.has(player.video))
    player.reports = 0
  }

  function nextFree(): Player {
    for (;;) {
      const player = players[next++ % playing] as Player
      if (!player.waits) return player
    }
  }

  return {
    setRate(reportsPerSecond) {
      playing = Math.ceil(reportsPerSecond * HEARTBEAT_SECONDS)
      // A new player is in the middle of a video.
      while (players.length < playing) {
        const reports = Math.floor(random() * REPORTS_PER_VIDEO)
        players.push({ viewer: watcherAt(players.length), video: drawVideo(), reports, waits: false })
      }
    },
    report() {
      const player = nextFree()
      if (player.reports === REPORTS_PER_VIDEO) newVideo(player)
      const { viewer, video: id } = player
      const position = ++player.reports * HEARTBEAT_SECONDS * 1_000
      player.waits = true
      return {
        viewer,
        body: BODIES.report({ input: { business: 'video', id, position, duration: DURATION, device: 'phone' } }),
        acknowledged() {
          player.waits = false
          valueOf(positions, viewer, () => new Map<string, number>()).set(id, position)
        },
        failed() {
          player.waits = false
          positions.get(viewer)?.delete(id)
          newVideo(player)
        },
      }
    },
  }
}
