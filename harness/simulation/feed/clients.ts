/**
 * Viewers with one or two devices each. The devices publish, delete, follow, set filter words, scroll, look up and count, each time through a
 * random process. A device does one thing at a time. If its process dies, it gets no answer and may send the same input again.
 */
import type { Random } from '../../../core/random.ts'
import { makeDevices, type Action } from '../devices.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import type { FeedChecker } from './checker.ts'
import { makeDevicesOf, makeFeedInputs, type Client } from './client.ts'
import type { FeedClientOptions } from './draws.ts'
import { makeCounting } from './counting.ts'
import { makeFollowing } from './following.ts'
import { makeLookups } from './lookups.ts'
import type { FeedProcess } from './process.ts'
import { codeOf, makePublishing } from './publishing.ts'
import { makeScrolling } from './scrolling.ts'

export function makeFeedClients(
  random: Random,
  scheduler: Scheduler,
  checker: FeedChecker,
  options: FeedClientOptions,
  history: History | undefined,
) {
  const { truths, fail } = checker
  const clients = makeDevicesOf(options)
  const inputs = makeFeedInputs(random, truths, options)
  const { publish, publishAgain, remove, newPost } = makePublishing(random, scheduler, checker, inputs, options)
  const { setWords, follow, readFollows } = makeFollowing(random, scheduler, checker, inputs, options)
  const { count, newEvents, oldEvents, readCounts, checkAll } = makeCounting(random, scheduler, checker, inputs, options)
  const { readPage, readNewest, beginScroll } = makeScrolling(random, scheduler, checker, options)
  const lookups = makeLookups(random, scheduler, checker, inputs)

  const actions: Action<Client, FeedProcess>[] = [
    [18, 'publishes', (client, process) => publish(client, process, newPost())],
    [5, 'publishes again', publishAgain],
    [7, 'deletes', remove],
    [8, 'follows', (client, process) => follow(client, process, true)],
    [4, 'unfollows', (client, process) => follow(client, process, false)],
    [4, 'sets words', setWords],
    [30, 'scrolls', readPage],
    [5, 'asks for new posts', (client, process) => readNewest(client, process, inputs.knownPost())],
    [10, 'looks up', lookups.lookUp],
    [5, 'reads follows', readFollows],
    [5, 'counts', (client, process) => count(client, process, newEvents())],
    [4, 'counts again', (client, process) => count(client, process, oldEvents())],
    [3, 'reads counts', readCounts],
  ]

  function refused(error: unknown, since: number, { viewer }: Client, what: string): void {
    const code = codeOf(error)
    if (code !== undefined && checker.mayLack(code, since)) return
    fail(`healthy: ${what}, but: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, viewer.id)
  }

  /** Reads everything that every viewer can see. All stores are up, so no answer lacks one. */
  async function readAll(process: FeedProcess): Promise<void> {
    for (const id of truths.posts.keys()) truths.acknowledged(id)
    for (const viewer of options.viewers) {
      const client = clients.find((each) => each.viewer.id === viewer) as Client
      for (const kind of ['home', 'posts'] as const) {
        client.scroll = beginScroll({ kind, owner: viewer }, 3)
        do await readPage(client, process)
        while (client.scroll !== undefined)
      }
      await lookups.lookUpIds(client, process, [...truths.posts.keys()])
    }
    await checkAll(clients[0] as Client, process)
  }

  return {
    ...makeDevices(clients, actions, { random, scheduler, history, start: options.start, sending: 'publishes', refused }),
    readAll,
  }
}
