/**
 * Viewers with several devices each. The devices like, undo, look up and browse, each time through a random process. They also register
 * owners of subjects, as partners do. A device does one thing at a time. If its process dies, it gets no answer and may send the same input
 * again.
 */
import type { MarkPlace, Subject } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { SCOPE_SUBJECTS_REGISTER } from '../../../core/viewer.ts'
import type { SetMarkInput } from '../../../subgraphs/thumbup/inputs.ts'
import { makeDevices, type Action } from '../devices.ts'
import { makeDice } from '../dice.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import { makeBrowse } from './browsing.ts'
import type { MarkChecker } from './checker.ts'
import { distinct, makeDevicesOf, makeMarkInputs, without, type Client, type MarkClientOptions } from './client.ts'
import { makeOwed } from './owed.ts'
import type { MarkProcess } from './process.ts'
import { makeReads } from './reads.ts'
import { nameOf } from './truth.ts'

export function makeMarkClients(
  random: Random,
  scheduler: Scheduler,
  checker: MarkChecker,
  options: MarkClientOptions,
  history: History | undefined,
) {
  const { truths } = checker
  const { pick } = makeDice(random)
  const clients = makeDevicesOf(options)
  const inputs = makeMarkInputs(random, scheduler, options)
  const { subjects, input, importOf, sentOf } = inputs
  const owed = makeOwed(checker)
  const readPage = makeBrowse(random, checker, owed)
  const { lookUp, lookUpKeys, count, readLikers, readOwners } = makeReads(random, checker, options, inputs, owed)

  async function mark(client: Client, process: MarkProcess, inputs: SetMarkInput[]): Promise<string> {
    client.sent = inputs
    const now = scheduler.now() + process.life.skewMs
    const sent = inputs.map((each) => sentOf(client, each, now, inputs.length === 1))
    const degraded: Degraded = new Set()
    const since = truths.tick()
    const answers = await process.service.mark(client.viewer, inputs, degraded)
    checker.checkAnswers(client.viewer.id, sent, answers, since)
    owed.note(
      process,
      sent.filter((_, index) => answers[index]?.outcome === 'ACCEPTED'),
    )
    return answers.map((each) => (each.outcome === 'REJECTED' ? each.code : `${each.outcome} ${each.mark}`)).join(', ') + without(degraded)
  }

  async function register(client: Client, process: MarkProcess): Promise<string> {
    const inputs = subjects(3).map(({ name, oid }) => ({ business: name, id: oid, owner: pick(options.owners) }))
    const viewer = { ...client.viewer, scopes: [SCOPE_SUBJECTS_REGISTER] }
    const answers = await process.service.registerSubjects(viewer, undefined, inputs)
    if (answers.some((each) => 'outcome' in each)) checker.fail(`a registration was answered ${JSON.stringify(answers)}`, undefined)
    return inputs.map(({ business, id, owner }) => `${business} ${id} is ${owner}'s`).join(', ')
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
    [
      3,
      'imports',
      (client, process) =>
        mark(
          client,
          process,
          [...options.viewers, ...options.viewers].map((viewer) => importOf(client, viewer)),
        ),
    ],
    [8, 'marks again', (client, process) => mark(client, process, client.sent.length > 0 ? client.sent : [input(client)])],
    [14, 'looks up', lookUp],
    [8, 'counts', count],
    [14, 'browses', (client, process) => readPage(client, process)],
    [5, 'reads likers', readLikers],
    [3, 'registers', register],
    [2, 'reads owners', readOwners],
  ]

  /** A store that is down causes no error, except that a registration needs the record store. */
  function refused(error: unknown, _since: number, client: Client, what: string, name: string): void {
    // The call may have been held up for longer than the timeout.
    const isExplained = name === 'registers' && isTidemarkError(error) && error.code === 'RECORD_STORE_UNAVAILABLE'
    if (!isExplained)
      checker.fail(`errors: ${what}, but: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, client.viewer.id)
  }

  /** Reads everything that every viewer can see. */
  async function readAll(process: MarkProcess, isRead: IsRead): Promise<void> {
    for (const viewer of options.viewers) {
      const client = clients.find((each) => each.viewer.id === viewer) as Client
      for (const { number } of options.businesses) {
        client.browsing = { business: number, first: 2, before: undefined, since: truths.tick(), seen: new Map() }
        do await readPage(client, process, true)
        while (client.browsing !== undefined)
      }
    }
    const keys = Array.from(truths.all(), ({ key }) => key)
    for (const some of Map.groupBy(keys, ({ viewer }) => viewer).values()) await lookUpKeys(some, process, 'a lookup after quiet', true)
    for (const { business, oid } of distinct(keys, ({ business, oid }) => nameOf({ business, oid }))) {
      await readSubject(process, checker, { business, oid }, isRead)
    }
  }

  return {
    ...makeDevices(clients, actions, { random, scheduler, history, start: options.start, sending: 'marks', refused }),
    readAll,
  }
}

type IsRead = (subject: Subject, counts: unknown, likers: MarkPlace[]) => void

async function readSubject(process: MarkProcess, checker: MarkChecker, subject: Subject, isRead: IsRead): Promise<void> {
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
