/**
 * Viewers with several devices each. The devices report, browse, delete, clear and pause, each time through a random process. A device does
 * one thing at a time. If its process dies, it gets no answer and may send the same input again.
 */
import { isTidemarkError } from '../../../core/errors.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { ReportProgressInput } from '../../../subgraphs/history/inputs.ts'
import { makeDevices, type Action } from '../devices.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import { makeBrowse } from './browsing.ts'
import type { Checker } from './checker.ts'
import { keyOf, makeDevicesOf, makeInputs, without, type Client, type ClientOptions } from './client.ts'
import type { Process } from './process.ts'

/** Milliseconds for which a breaker may treat a recovered store as down. */
const NOTICED_MAX_MS = 5_000

export function makeClients(random: Random, scheduler: Scheduler, checker: Checker, options: ClientOptions, history: History | undefined) {
  const clients = makeDevicesOf(options)
  const { subject, input } = makeInputs(random, scheduler, options)
  const readPage = makeBrowse(random, checker)

  async function report(client: Client, process: Process, inputs: ReportProgressInput[]): Promise<string> {
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
    const ids = Array.from({ length: 1 + randomBelow(random, 2) }, () => subject().id)
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
    [22, 'browses', (client, process) => readPage(client, process)],
    [12, 'looks up', lookUp],
    [6, 'deletes', remove],
    [2, 'clears', (client, process) => process.service.clearHistory(client.viewer, subject().business, new Set()).then(String)],
    [
      2,
      'pauses or resumes',
      async (client, process) => String((await process.service.setPaused(client.viewer, random() < 0.4, new Set())).paused),
    ],
  ]

  /**
   * A store that is down causes no error. The exception is a page when neither the hot store nor the record store answers: it cannot be
   * null.
   */
  function refused(error: unknown, since: number, client: Client, what: string, name: string): void {
    const isExplained = name === 'browses' && isTidemarkError(error) && scheduler.wasDownSince(error.code, since - NOTICED_MAX_MS)
    if (!isExplained)
      checker.fail(`line 6: ${what}, but: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, client.viewer.id)
  }

  return {
    ...makeDevices(clients, actions, { random, scheduler, history, start: options.start, sending: 'reports', refused }),
    readAll: async (process: Process): Promise<void> => {
      for (const client of clients) {
        client.browsing = undefined
        do await readPage(client, process, true)
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
