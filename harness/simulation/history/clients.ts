/**
 * Viewers with several devices each, who report, browse, delete, clear and pause through whichever process they reach.
 * A device does one thing at a time; where its process dies it never hears back, and may send the same again.
 */
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Place, ProgressKey, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { decodeCursor, encodeCursor } from '../../../subgraphs/history/model/places.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { SCOPE_WRITE_ANY, type Viewer } from '../../../core/viewer.ts'
import type { ProgressInput } from '../../../subgraphs/history/inputs.ts'
import { placeOf } from '../../../subgraphs/history/read/timeline.ts'
import type { Checker } from './checker.ts'
import { makeDevices, type Action } from '../devices.ts'
import type { History } from '../history-of-events.ts'
import type { Process } from './process.ts'
import type { Scheduler } from '../scheduler.ts'

export type ClientOptions = {
  start: number
  viewers: readonly ViewerId[]
  devices: number
  subjects: number
  /** How far the clock of a device may be ahead, but for some that are far ahead. */
  aheadMaxMs: number
  lateMaxMs: number
  glanceMax: number
}

/** A device browses: pages follow each other while other things happen. */
type Browsing = {
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
  /** What it sent last and may send again. */
  sent: ProgressInput[]
  browsing: Browsing | undefined
}

/** Milliseconds for which a breaker may take a store for down that is back. */
const NOTICED_MAX_MS = 5_000

export function makeClients(random: Random, scheduler: Scheduler, checker: Checker, options: ClientOptions, history: History | undefined) {
  let reports = 0
  let isQuiet = false
  const clients: Client[] = options.viewers.flatMap((viewer) =>
    Array.from({ length: options.devices }, (_, device): Client => {
      const scopes = device === 0 ? [SCOPE_WRITE_ANY] : []
      return { viewer: { id: viewer, scopes }, name: `${viewer}/${device}`, process: undefined, sent: [], browsing: undefined }
    }),
  )

  const pick = <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T

  function subject(): { business: string; oid: string } {
    return { business: random() < 0.7 ? 'video' : 'comic', oid: String(1 + randomBelow(random, options.subjects)) }
  }

  function input(client: Client): ProgressInput {
    const report: ProgressInput = { ...subject(), position: position(), duration: 600_000, device: `${client.name}#${++reports}` }
    const chance = random()
    // Times are coarse now and then, so that two visits of one moment happen.
    if (chance < 0.25) report.viewedAt = Math.floor(scheduler.now() / 50) * 50
    else if (chance < 0.5) report.viewedAt = scheduler.now() - randomBelow(random, options.lateMaxMs)
    else if (chance < 0.55) report.viewedAt = scheduler.now() + randomBelow(random, options.aheadMaxMs)
    else if (chance < 0.56) report.viewedAt = scheduler.now() + 100 * options.aheadMaxMs
    else if (chance < 0.57) report.business = 'vidoe'
    if (random() < 0.1) report.finished = true
    if (client.viewer.scopes.length > 0 && random() < 0.15) report.viewer = pick(options.viewers)
    return report
  }

  function position(): number {
    return random() < 0.3 ? randomBelow(random, options.glanceMax) : randomBelow(random, 500_000)
  }

  async function report(client: Client, process: Process, inputs: ProgressInput[]): Promise<string> {
    client.sent = inputs
    const since = checker.tick()
    const now = scheduler.now() + process.life.skewMs
    const sent = inputs.map((each) => ({
      device: each.device ?? '',
      key: keyOf(client, each),
      isBad: each.business === 'vidoe',
      isNow: (each.viewedAt ?? now) >= now,
    }))
    const degraded: Degraded = new Set()
    const answers = await process.service.report(client.viewer, inputs, degraded)
    checker.checkAnswers(client.viewer.id, sent, answers, since, degraded.size > 0)
    return answers.map((answer) => answer.outcome).join(', ') + without(degraded)
  }

  function keyOf(client: Client, { viewer, business, oid }: ProgressInput): ProgressKey {
    return { viewer: viewer ?? client.viewer.id, business: business === 'comic' ? 2 : 1, oid }
  }

  async function readPage(client: Client, process: Process): Promise<string> {
    const browsing = (client.browsing ??= begin())
    const before: Place | undefined = browsing.cursor === undefined ? undefined : decodeCursor(browsing.cursor, browsing.businesses)
    const since = checker.tick()
    const degraded: Degraded = new Set()
    const page = await process.readTimeline(client.viewer.id, browsing.businesses, before, browsing.first, degraded)
    if (degraded.size > 0) {
      // Not the whole truth, and it says so.
      if (isQuiet) checker.fail(`line 6: after quiet a page is still answered${without(degraded)}`, client.viewer.id)
      client.browsing = undefined
      return `what there is${without(degraded)}`
    }
    checker.checkPage(client.viewer.id, browsing.businesses, before, browsing.first, page, since)
    for (const { business, oid } of page.entries)
      browsing.seen.set(`${business}:${oid}`, (browsing.seen.get(`${business}:${oid}`) ?? 0) + 1)
    const last = page.entries.at(-1)
    if (last !== undefined) browsing.cursor = encodeCursor(placeOf(last))
    if (!page.hasNextPage) endBrowsing(client, browsing)
    return page.entries.map((entry) => `${entry.business}:${entry.oid}`).join(' ') + (page.hasNextPage ? ' …' : ' (end)')
  }

  function begin(): Browsing {
    const numbers = random() < 0.6 ? [1, 2] : [pick([1, 2])]
    return { businesses: numbers, first: 1 + randomBelow(random, 3), cursor: undefined, since: checker.tick(), seen: new Map() }
  }

  /** What stood still meanwhile was listed exactly once. */
  function endBrowsing(client: Client, browsing: Browsing): void {
    client.browsing = undefined
    for (const { key } of checker.entriesOf(client.viewer.id)) {
      if (!browsing.businesses.includes(key.business) || checker.hasChangedSince(key, browsing.since)) continue
      const times = browsing.seen.get(`${key.business}:${key.oid}`) ?? 0
      if (times !== 1)
        checker.fail(`line 1: browsing listed ${key.business}:${key.oid} ${times} times, although it stood still`, client.viewer.id)
    }
  }

  async function lookUp(client: Client, process: Process): Promise<string> {
    const keys = Array.from({ length: 1 + randomBelow(random, 4) }, () => keyOf(client, { ...subject(), position: 0 }))
    const since = checker.tick()
    const degraded: Degraded = new Set()
    const found = await process.getProgressMany(keys, degraded)
    if (degraded.size > 0) return `what there is${without(degraded)}`
    keys.forEach((key, index) => checker.checkShown(key, found[index], since, 'a lookup'))
    return keys
      .map((key, index) => `${key.business}:${key.oid}${found[index] === undefined ? ' is not there' : ` at ${found[index].position}`}`)
      .join(', ')
  }

  async function remove(client: Client, process: Process): Promise<string> {
    const { business } = subject()
    const ids = Array.from({ length: 1 + randomBelow(random, 2) }, () => subject().oid)
    await process.service.deleteHistory(client.viewer, business, [...new Set(ids)], new Set())
    return `${business} ${ids.join(', ')}`
  }

  const actions: Action<Client, Process>[] = [
    [38, 'reports', (client, process) => report(client, process, [input(client)])],
    [
      10,
      'reports a batch',
      (client, process) =>
        report(
          client,
          process,
          Array.from({ length: 2 + randomBelow(random, 4) }, () => input(client)),
        ),
    ],
    [8, 'reports again', (client, process) => report(client, process, client.sent.length > 0 ? client.sent : [input(client)])],
    [22, 'browses', readPage],
    [12, 'looks up', lookUp],
    [6, 'deletes', remove],
    [2, 'clears', (client, process) => process.service.clearHistory(client.viewer, subject().business, new Set()).then(String)],
    [
      2,
      'pauses or resumes',
      async (client, process) => String((await process.service.setPaused(client.viewer, random() < 0.4, new Set())).paused),
    ],
  ]

  /** Nobody gets an error for a store being down; only a page cannot be null, if neither hot store nor record store answers. */
  function refused(error: unknown, since: number, client: Client, what: string, name: string): void {
    const isExplained = name === 'browses' && isTidemarkError(error) && scheduler.wasDownSince(error.code, since - NOTICED_MAX_MS)
    if (!isExplained)
      checker.fail(`line 6: ${what}, but: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, client.viewer.id)
  }

  return {
    ...makeDevices(clients, actions, { random, scheduler, history, start: options.start, sending: 'reports', refused }),
    readAll: async (process: Process): Promise<void> => {
      isQuiet = true
      for (const client of clients) {
        client.browsing = undefined
        do await readPage(client, process)
        while (client.browsing !== undefined)
        const keys = checker.entriesOf(client.viewer.id).map((model) => model.key)
        const since = checker.tick()
        const degraded: Degraded = new Set()
        const found = await process.getProgressMany(keys, degraded)
        if (degraded.size > 0) checker.fail(`line 6: after quiet a lookup is still answered${without(degraded)}`, client.viewer.id)
        keys.forEach((key, index) => checker.checkShown(key, found[index], since, 'a lookup after quiet'))
      }
    },
  }
}

function without(degraded: Degraded): string {
  return degraded.size === 0 ? '' : ` (without ${[...degraded].join(', ')})`
}
