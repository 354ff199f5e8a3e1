/** A device of a viewer, and its random input. */
import type { BusinessNumber, ProgressKey, ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { SCOPE_WRITE_ANY, type Viewer } from '../../../core/viewer.ts'
import type { ReportProgressInput } from '../../../subgraphs/history/inputs.ts'
import { makeDice } from '../dice.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Process } from './process.ts'

export type ClientOptions = {
  start: number
  viewers: readonly ViewerId[]
  devices: number
  subjects: number
  /** The most that the clock of a device may be ahead, except for a few that are far ahead. */
  aheadMaxMs: number
  lateMaxMs: number
  glanceMax: number
}

/** A device browses: pages follow each other while other things happen. */
export type Browsing = {
  businesses: readonly BusinessNumber[]
  first: number
  cursor: string | undefined
  since: number
  seen: Map<string, number>
}

export type Client = {
  viewer: Viewer
  name: string
  /** Undefined while the device does nothing. */
  process: Process | undefined
  /** The last input, which the device may send again. */
  sent: ReportProgressInput[]
  browsing: Browsing | undefined
}

export function makeDevicesOf({ viewers, devices }: ClientOptions): Client[] {
  return viewers.flatMap((viewer) =>
    Array.from({ length: devices }, (_, device): Client => {
      const scopes = device === 0 ? [SCOPE_WRITE_ANY] : []
      return { viewer: { id: viewer, scopes }, name: `${viewer}/${device}`, process: undefined, sent: [], browsing: undefined }
    }),
  )
}

export type Inputs = ReturnType<typeof makeInputs>

export function makeInputs(random: Random, { now }: Scheduler, options: ClientOptions) {
  const { pick } = makeDice(random)
  let reports = 0

  function subject(): { business: string; id: string } {
    return { business: random() < 0.7 ? 'video' : 'comic', id: String(1 + randomBelow(random, options.subjects)) }
  }

  function input(client: Client): ReportProgressInput {
    const report: ReportProgressInput = { ...subject(), position: position(), duration: 600_000, device: `${client.name}#${++reports}` }
    const chance = random()
    // Some times are coarse, so that two visits have the same time.
    if (chance < 0.25) report.viewedAt = Math.floor(now() / 50) * 50
    else if (chance < 0.5) report.viewedAt = now() - randomBelow(random, options.lateMaxMs)
    else if (chance < 0.55) report.viewedAt = now() + randomBelow(random, options.aheadMaxMs)
    else if (chance < 0.56) report.viewedAt = now() + 100 * options.aheadMaxMs
    else if (chance < 0.57) report.business = 'vidoe'
    if (random() < 0.1) report.finished = true
    if (client.viewer.scopes.length > 0 && random() < 0.15) report.viewer = pick(options.viewers)
    return report
  }

  function position(): number {
    return random() < 0.3 ? randomBelow(random, options.glanceMax) : randomBelow(random, 500_000)
  }

  return { subject, input }
}

export function keyOf(client: Client, { viewer, business, id }: ReportProgressInput): ProgressKey {
  return { viewer: viewer ?? client.viewer.id, business: business === 'comic' ? 2 : 1, oid: id }
}

export function without(degraded: Degraded): string {
  return degraded.size === 0 ? '' : ` (without ${[...degraded].join(', ')})`
}
