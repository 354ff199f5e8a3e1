/**
 * Tells every process of `tidemark start --workers N` of counts that one of them put: the job is in the primary, those who
 * follow are in the workers. Each process joins once and gives its relay to the count cache; the primary passes on what a
 * worker says to the others. Lost messages cost a follower one window, as the port allows.
 *
 * The messages are apart from those of workers.ts, which have a `kind`.
 */
import cluster, { type Worker } from 'node:cluster'
import type { CountRelay } from '../../stores/lmdb/changes.ts'
import type { CountedSubject } from '../../core/domain.ts'

type Message = { tidemarkCounts: CountedSubject[] }

/** The primary's side, to be joined before workers are forked; as well where there are none. */
export function joinCountsAsPrimary(): CountRelay {
  const members = makeMembers((message) => tellWorkers(message))
  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isCounts(message)) return
    tellWorkers(message, worker.id)
    members.hear(message)
  })
  return members.relay
}

/** A worker's side. */
export function joinCountsAsWorker(): CountRelay {
  const members = makeMembers((message) => {
    if (process.connected) process.send?.(message)
  })
  process.on('message', (message: unknown) => {
    if (isCounts(message)) members.hear(message)
  })
  return members.relay
}

function tellWorkers(message: Message, except?: number): void {
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker !== undefined && worker.id !== except && worker.isConnected()) worker.send(message)
  }
}

function makeMembers(send: (message: Message) => void): { relay: CountRelay; hear(message: Message): void } {
  const listeners = new Set<(changed: CountedSubject) => void>()
  let unsent: CountedSubject[] = []

  function sendAll(): void {
    send({ tidemarkCounts: unsent })
    unsent = []
  }

  return {
    relay: {
      // One message a turn: a window of the job changes thousands of counts at once.
      publish(changed) {
        if (unsent.length === 0) setImmediate(sendAll)
        unsent.push(changed)
      },
      onChange(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    hear({ tidemarkCounts }) {
      for (const changed of tidemarkCounts) listeners.forEach((listener) => listener(changed))
    },
  }
}

function isCounts(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'tidemarkCounts' in message
}
