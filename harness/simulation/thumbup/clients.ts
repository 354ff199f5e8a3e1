/**
 * Viewers with several devices each, who like, undo, look and browse through whichever process they reach, and partners who
 * say whose the subjects are. A device does one thing at a time; where its process dies it never hears back, and may send
 * the same again.
 */
import type { BusinessConfig } from '../../../config/config.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Mark, MarkKey, MarkPlace, Subject, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { keyText } from '../../../core/progress-key.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { SCOPE_MARKS_WRITE_ANY, SCOPE_SUBJECTS_REGISTER, type Viewer } from '../../../core/viewer.ts'
import type { MarkInput } from '../../../subgraphs/thumbup/inputs.ts'
import { makeDevices, type Action } from '../devices.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import type { MarkChecker, SentMark } from './checker.ts'
import type { MarkProcess } from './process.ts'
import { nameOf } from './truth.ts'

export type MarkClientOptions = {
  start: number
  businesses: readonly BusinessConfig[]
  viewers: readonly ViewerId[]
  devices: number
  subjects: number
  /** Share of what is marked that is the first subject's. */
  hotShare: number
  owners: readonly ViewerId[]
  /** How far the clock of a device may be ahead, but for some that are far ahead. */
  aheadMaxMs: number
  lateMaxMs: number
}

type Browsing = { business: BusinessNumber; first: number; before: MarkPlace | undefined; since: number; seen: Map<string, number> }

type Client = {
  viewer: Viewer
  name: string
  /** Undefined while the device does nothing. */
  process: MarkProcess | undefined
  /** What it sent last and may send again. */
  sent: MarkInput[]
  browsing: Browsing | undefined
}

export function makeMarkClients(
  random: Random,
  scheduler: Scheduler,
  checker: MarkChecker,
  options: MarkClientOptions,
  history: History | undefined,
) {
  const { businesses } = options
  const { truths } = checker
  let isQuiet = false
  const acknowledged = new WeakMap<MarkProcess, SentMark[]>()
  const clients: Client[] = options.viewers.flatMap((viewer) =>
    Array.from({ length: options.devices }, (_, device): Client => {
      const scopes = device === 0 ? [SCOPE_MARKS_WRITE_ANY, SCOPE_SUBJECTS_REGISTER] : []
      return { viewer: { id: viewer, scopes }, name: `${viewer}/${device}`, process: undefined, sent: [], browsing: undefined }
    }),
  )
  const pick = <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T

  function subject(): Subject & { name: string } {
    if (random() < options.hotShare) return { business: 1, name: businesses[0]?.name ?? '', oid: '1' }
    const business = random() < 0.7 ? businesses[0] : businesses[1]
    return { business: business?.number ?? 1, name: business?.name ?? '', oid: String(1 + randomBelow(random, options.subjects)) }
  }

  function input(client: Client): MarkInput {
    const { name, oid } = subject()
    const mark: Mark = random() < 0.5 ? 'LIKE' : random() < 0.7 ? 'NONE' : 'DISLIKE'
    const sent: MarkInput = { business: name, id: oid, mark, markedAt: scheduler.now() }
    const chance = random()
    // Times are coarse now and then, so that two marks of one moment happen.
    if (chance < 0.25) sent.markedAt = Math.floor(scheduler.now() / 50) * 50
    else if (chance < 0.5) sent.markedAt = scheduler.now() - randomBelow(random, options.lateMaxMs)
    else if (chance < 0.55) sent.markedAt = scheduler.now() + randomBelow(random, options.aheadMaxMs)
    else if (chance < 0.56) sent.markedAt = scheduler.now() + 100 * options.aheadMaxMs
    else if (chance < 0.57) sent.business = 'vidoe'
    else if (chance < 0.6) sent.markedAt = null
    if (client.viewer.scopes.length > 0 && random() < 0.15) sent.viewer = pick(options.viewers)
    return sent
  }

  /** A time ahead counts as now; with several ahead in one call, this client does not predict their order. */
  function sentOf({ viewer }: Client, { business, id, mark, markedAt, viewer: other }: MarkInput, now: number, isAlone: boolean): SentMark {
    const found = businesses.find(({ name }) => name === business)
    const isBad = found === undefined || (mark === 'DISLIKE' && !found.thumbup.dislikes)
    const isNow = (markedAt ?? now) >= now
    const counted = isNow && (markedAt ?? now) > now && isAlone ? now : (markedAt ?? 0) > now ? undefined : (markedAt ?? undefined)
    return { key: { viewer: other ?? viewer.id, business: found?.number ?? 0, oid: id }, mark, markedAt: counted, isBad, isNow }
  }

  async function mark(client: Client, process: MarkProcess, inputs: MarkInput[]): Promise<string> {
    client.sent = inputs
    const now = scheduler.now() + process.life.skewMs
    const sent = inputs.map((each) => sentOf(client, each, now, inputs.length === 1))
    const degraded: Degraded = new Set()
    const since = truths.tick()
    const answers = await process.service.mark(client.viewer, inputs, degraded)
    checker.checkAnswers(client.viewer.id, sent, answers, since)
    acknowledged.set(process, [...owedBy(process), ...sent.filter((_, index) => answers[index]?.outcome === 'ACCEPTED')])
    return answers.map((each) => (each.outcome === 'REJECTED' ? each.code : `${each.outcome} ${each.mark}`)).join(', ') + without(degraded)
  }

  /** What this process has acknowledged and no put has brought into the hot store yet. */
  function owedBy(process: MarkProcess): SentMark[] {
    return (acknowledged.get(process) ?? []).filter((each) => !checker.hasLanded(each))
  }

  function failIfOwed([owed]: readonly SentMark[], what: string): void {
    if (owed === undefined) return
    const name = `${nameOf(owed.key)} ${owed.mark} at ${owed.markedAt}`
    checker.fail(`shown: ${what} does not say that it is without ${name}, which waits in the journal of its process`, owed.key.viewer)
  }

  async function lookUp(client: Client, process: MarkProcess): Promise<string> {
    const keys = distinct(
      Array.from({ length: 1 + randomBelow(random, 4) }, () => subject()),
      nameOf,
    ).map(({ business, oid }) => ({ viewer: client.viewer.id, business, oid }))
    return lookUpKeys(keys, process, 'a lookup')
  }

  async function lookUpKeys(keys: readonly MarkKey[], process: MarkProcess, what: string): Promise<string> {
    const since = truths.tick()
    const owed = owedBy(process).filter(({ key }) => keys.some((each) => keyText(each) === keyText(key)))
    const degraded: Degraded = new Set()
    const found = await process.getMarks(keys, degraded)
    if (degraded.size > 0) {
      if (isQuiet) checker.fail(`after quiet a lookup is still answered${without(degraded)}`, undefined)
      return `what there is${without(degraded)}`
    }
    failIfOwed(owed, what)
    keys.forEach((key, index) => checker.checkShown(key, found[index]?.mark ?? 'null', since, what))
    return keys.map((key, index) => `${key.business}:${key.oid} ${found[index]?.mark}`).join(', ')
  }

  async function count(_: Client, process: MarkProcess): Promise<string> {
    const subjects = distinct(
      Array.from({ length: 1 + randomBelow(random, 4) }, () => subject()),
      nameOf,
    ).map(({ business, oid }) => ({ business, oid }))
    const degraded: Degraded = new Set()
    const found = await process.getCounts(subjects, degraded)
    subjects.forEach((each, index) => {
      const counts = found[index] ?? undefined
      if (counts === undefined && degraded.size === 0) checker.fail(`nothing is counted of ${nameOf(each)}, and nothing is down`, undefined)
      if (counts !== undefined && (counts.likes < 0 || counts.dislikes < 0))
        checker.fail(`${nameOf(each)} is shown with ${JSON.stringify(counts)}`, undefined)
    })
    return subjects.map((each, index) => `${nameOf(each)} ${found[index]?.likes},${found[index]?.dislikes}`).join(', ') + without(degraded)
  }

  async function readPage(client: Client, process: MarkProcess): Promise<string> {
    const browsing = (client.browsing ??= begin())
    const { business, first, before } = browsing
    const viewer = client.viewer.id
    const since = truths.tick()
    const owed = owedBy(process).filter(({ key }) => key.viewer === viewer && key.business === business)
    const degraded: Degraded = new Set()
    const page = await process.likes(viewer, business, before, first, degraded)
    if (degraded.size > 0 || page === null) {
      client.browsing = undefined
      if (isQuiet) checker.fail(`after quiet a page is still read${without(degraded)}`, viewer)
      return `what there is${without(degraded)}`
    }
    failIfOwed(owed, `viewer ${viewer}'s page of likes in ${business}`)
    checker.checkLikes(viewer, business, before, first, page, since)
    // The device did not wait for this one any more, and has the page from another call.
    if (client.browsing !== browsing || browsing.before !== before) return 'too late'
    for (const { id } of page.entries) browsing.seen.set(id, (browsing.seen.get(id) ?? 0) + 1)
    const last = page.entries.at(-1)
    if (last !== undefined) browsing.before = last
    if (!page.hasNextPage) endBrowsing(client, browsing)
    return page.entries.map(({ id }) => `${business}:${id}`).join(' ') + (page.hasNextPage ? ' …' : ' (end)')
  }

  function begin(): Browsing {
    const business = random() < 0.7 ? 1 : 2
    return { business, first: 1 + randomBelow(random, 3), before: undefined, since: truths.tick(), seen: new Map() }
  }

  /** What stood still meanwhile was listed exactly once. */
  function endBrowsing(client: Client, browsing: Browsing): void {
    client.browsing = undefined
    const viewer = client.viewer.id
    for (const truth of checker.likesOf(viewer, browsing.business)) {
      if (checker.hasChangedSince(truth, browsing.since)) continue
      const times = browsing.seen.get(truth.key.oid) ?? 0
      if (times !== 1) checker.fail(`seam: browsing listed ${nameOf(truth.key)} ${times} times, although it stood still`, viewer)
    }
  }

  async function readLikers(client: Client, process: MarkProcess): Promise<string> {
    const { business, oid } = subject()
    const asked = { business, oid }
    const viewer = random() < 0.5 ? client.viewer.id : undefined
    const first = 1 + randomBelow(random, 3)
    let before: MarkPlace | undefined
    let told = ''
    for (let pages = 0; pages < 2; pages++) {
      const degraded: Degraded = new Set()
      const since = truths.tick()
      const page = await process.likers({ subject: asked, viewer, before, first }, degraded)
      if (page === null && degraded.size === 0) checker.fail(`the likers of ${nameOf(asked)} cannot be had, and nothing is down`, undefined)
      if (page === null) return `nothing${without(degraded)}`
      checker.checkLikers(asked, before, first, page)
      if (viewer !== undefined && degraded.size === 0) checker.checkOwnPlace({ viewer, ...asked }, before, page, since)
      told += page.entries.map(({ id }) => ` ${id}`).join('') + without(degraded)
      before = page.entries.at(-1)
      if (!page.hasNextPage || before === undefined) break
    }
    return `${nameOf(asked)}:${told}`
  }

  async function register(client: Client, process: MarkProcess): Promise<string> {
    const inputs = distinct(
      Array.from({ length: 1 + randomBelow(random, 3) }, () => subject()),
      nameOf,
    ).map(({ name, oid }) => ({ business: name, id: oid, owner: pick(options.owners) }))
    const viewer = { ...client.viewer, scopes: [SCOPE_SUBJECTS_REGISTER] }
    const answers = await process.service.registerSubjects(viewer, undefined, inputs)
    if (answers.some((each) => !each.registered)) checker.fail(`a registration was answered ${JSON.stringify(answers)}`, undefined)
    return inputs.map(({ business, id, owner }) => `${business} ${id} is ${owner}'s`).join(', ')
  }

  async function readOwners(_: Client, process: MarkProcess): Promise<string> {
    const asked = options.owners.map((owner) => ({ business: subject().business, owner }))
    const degraded: Degraded = new Set()
    const likes = await process.getOwnerLikes(asked, degraded)
    if (likes.some((each) => (each === null && degraded.size === 0) || (each ?? 0) < 0))
      checker.fail(`likes received are shown as ${JSON.stringify(likes)}`, undefined)
    return likes.join(', ') + without(degraded)
  }

  const actions: Action<Client, MarkProcess>[] = [
    [40, 'marks', (client, process) => mark(client, process, [input(client)])],
    [
      8,
      'marks a batch',
      (client, process) =>
        mark(
          client,
          process,
          Array.from({ length: 2 + randomBelow(random, 4) }, () => input(client)),
        ),
    ],
    [8, 'marks again', (client, process) => mark(client, process, client.sent.length > 0 ? client.sent : [input(client)])],
    [14, 'looks up', lookUp],
    [8, 'counts', count],
    [14, 'browses', readPage],
    [5, 'reads likers', readLikers],
    [3, 'registers', register],
    [2, 'reads owners', readOwners],
  ]

  /** Nobody gets an error for a store being down; only a registration needs the record store. */
  function refused(error: unknown, _since: number, client: Client, what: string, name: string): void {
    // It may have been held up for longer than anybody waits.
    const isExplained = name === 'registers' && isTidemarkError(error) && error.code === 'RECORD_STORE_UNAVAILABLE'
    if (!isExplained)
      checker.fail(`errors: ${what}, but: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, client.viewer.id)
  }

  /** Everything a viewer can see, to its end. */
  async function readAll(process: MarkProcess, isRead: (subject: Subject, counts: unknown, likers: MarkPlace[]) => void): Promise<void> {
    isQuiet = true
    for (const viewer of options.viewers) {
      const client = clients.find((each) => each.viewer.id === viewer) as Client
      for (const { number } of businesses) {
        client.browsing = { business: number, first: 2, before: undefined, since: truths.tick(), seen: new Map() }
        do await readPage(client, process)
        while (client.browsing !== undefined)
      }
    }
    const keys = Array.from(truths.all(), ({ key }) => key)
    for (const some of Map.groupBy(keys, ({ viewer }) => viewer).values()) await lookUpKeys(some, process, 'a lookup after quiet')
    for (const subject of distinct(keys, ({ business, oid }) => nameOf({ business, oid })).map(({ business, oid }) => ({
      business,
      oid,
    }))) {
      const degraded: Degraded = new Set()
      const [counts] = await process.getCounts([subject], degraded)
      const likers: MarkPlace[] = []
      for (let page: Awaited<ReturnType<MarkProcess['likers']>> | undefined; page === undefined || page?.hasNextPage === true;) {
        page = await process.likers({ subject, viewer: undefined, before: likers.at(-1), first: 3 }, degraded)
        likers.push(...(page?.entries ?? []))
      }
      if (degraded.size > 0) checker.fail(`after quiet ${nameOf(subject)} is still read${without(degraded)}`, undefined)
      isRead(subject, counts, likers)
    }
  }

  return {
    ...makeDevices(clients, actions, { random, scheduler, history, start: options.start, sending: 'marks', refused }),
    readAll,
  }
}

function distinct<T>(items: readonly T[], nameOfOne: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [nameOfOne(item), item])).values()]
}

function without(degraded: Degraded): string {
  return degraded.size === 0 ? '' : ` (without ${[...degraded].join(', ')})`
}
