/** A device of a viewer, and its random input. */
import type { BusinessConfig } from '../../../config/config.ts'
import type { BusinessNumber, Mark, MarkPlace, Subject, ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { SCOPE_MARKS_WRITE_ANY, SCOPE_SUBJECTS_REGISTER, type Viewer } from '../../../core/viewer.ts'
import type { SetMarkInput } from '../../../subgraphs/thumbup/inputs.ts'
import { makeDice } from '../dice.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SentMark } from './checker.ts'
import type { MarkProcess } from './process.ts'
import { nameOf } from './truth.ts'

export type MarkClientOptions = {
  start: number
  businesses: readonly BusinessConfig[]
  viewers: readonly ViewerId[]
  devices: number
  subjects: number
  /** The share of marks that go to the first subject. */
  hotShare: number
  owners: readonly ViewerId[]
  /** The most that the clock of a device may be ahead, except for a few that are far ahead. */
  aheadMaxMs: number
  lateMaxMs: number
}

export type Browsing = { business: BusinessNumber; first: number; before: MarkPlace | undefined; since: number; seen: Map<string, number> }

export type Client = {
  viewer: Viewer
  name: string
  /** Undefined while the device does nothing. */
  process: MarkProcess | undefined
  /** The last input, which the device may send again. */
  sent: SetMarkInput[]
  browsing: Browsing | undefined
}

export function makeDevicesOf({ viewers, devices }: MarkClientOptions): Client[] {
  return viewers.flatMap((viewer) =>
    Array.from({ length: devices }, (_, device): Client => {
      const scopes = device === 0 ? [SCOPE_MARKS_WRITE_ANY, SCOPE_SUBJECTS_REGISTER] : []
      return { viewer: { id: viewer, scopes }, name: `${viewer}/${device}`, process: undefined, sent: [], browsing: undefined }
    }),
  )
}

export type NamedSubject = Subject & { name: string }
export type MarkInputs = ReturnType<typeof makeMarkInputs>

export function makeMarkInputs(random: Random, { now: clock }: Scheduler, options: MarkClientOptions) {
  const { pick } = makeDice(random)
  const { businesses } = options

  function subject(): NamedSubject {
    if (random() < options.hotShare) return { business: 1, name: businesses[0]?.name ?? '', oid: '1' }
    const business = random() < 0.7 ? businesses[0] : businesses[1]
    return { business: business?.number ?? 1, name: business?.name ?? '', oid: String(1 + randomBelow(random, options.subjects)) }
  }

  /** 1 to `max` distinct subjects. */
  function subjects(max: number): NamedSubject[] {
    return distinct(
      Array.from({ length: 1 + randomBelow(random, max) }, () => subject()),
      nameOf,
    )
  }

  function input(client: Client): SetMarkInput {
    const { name, oid } = subject()
    const mark: Mark = random() < 0.5 ? 'LIKE' : random() < 0.7 ? 'NONE' : 'DISLIKE'
    const sent: SetMarkInput = { business: name, id: oid, mark, markedAt: clock() }
    const chance = random()
    // Some times are coarse, so that two marks have the same time.
    if (chance < 0.25) sent.markedAt = Math.floor(clock() / 50) * 50
    else if (chance < 0.5) sent.markedAt = clock() - randomBelow(random, options.lateMaxMs)
    else if (chance < 0.55) sent.markedAt = clock() + randomBelow(random, options.aheadMaxMs)
    else if (chance < 0.56) sent.markedAt = clock() + 100 * options.aheadMaxMs
    else if (chance < 0.57) sent.business = 'vidoe'
    else if (chance < 0.6) sent.markedAt = null
    if (client.viewer.scopes.length > 0 && random() < 0.15) sent.viewer = pick(options.viewers)
    return sent
  }

  /** An input for this viewer. A device without a scope sends one for its own viewer. */
  function importOf(client: Client, viewer: ViewerId): SetMarkInput {
    return { ...input(client), ...(client.viewer.scopes.length > 0 && { viewer }) }
  }

  /** A time ahead counts as now; with several ahead in one call, this client does not predict their order. */
  function sentOf(
    { viewer }: Client,
    { business, id, mark, markedAt, viewer: other }: SetMarkInput,
    now: number,
    isAlone: boolean,
  ): SentMark {
    const found = businesses.find(({ name }) => name === business)
    const isBad = found === undefined || (mark === 'DISLIKE' && !found.thumbup.dislikes)
    const isNow = (markedAt ?? now) >= now
    const counted = isNow && (markedAt ?? now) > now && isAlone ? now : (markedAt ?? 0) > now ? undefined : (markedAt ?? undefined)
    return { key: { viewer: other ?? viewer.id, business: found?.number ?? 0, oid: id }, mark, markedAt: counted, isBad, isNow }
  }

  return { subject, subjects, input, importOf, sentOf }
}

export function distinct<T>(items: readonly T[], nameOfOne: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [nameOfOne(item), item])).values()]
}

export function without(degraded: Degraded): string {
  return degraded.size === 0 ? '' : ` (without ${[...degraded].join(', ')})`
}
