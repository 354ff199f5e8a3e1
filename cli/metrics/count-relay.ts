/**
 * Passes changed counts on to every process of `tidemark start --workers N`: the job is in the primary, and followers are in the workers.
 * Each process joins once and gives its relay to the count cache. The primary passes messages of a worker on to the others. A lost message
 * costs a follower one window, as the port allows.
 *
 * The messages of workers.ts have a `kind`, and these have none.
 */
import cluster, { type Worker } from 'node:cluster'
import type { CountRelay } from '../../stores/lmdb/changes.ts'
import type { CountedSubject } from '../../core/domain.ts'

type Message = { tidemarkCounts: CountedSubject[] }

/** The primary's side. Join before workers are forked, or without workers. */
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
      // One message per turn of the event loop: a window of the job changes thousands of counts at once.
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
