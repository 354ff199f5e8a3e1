/**
 * The processes of `tidemark start --workers N`. The primary forks the workers and replaces dead ones. It passes a change of one worker on
 * to the others, and adds up the metrics of all, so `/metrics` is the same from every worker.
 */
import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import type { ProgressChange } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { ChangeRelay } from '../../stores/lmdb/changes.ts'
import { endAtOnce } from './shutdown.ts'

type ToPrimary = { kind: 'changes'; changes: ProgressChange[] } | { kind: 'ready'; url: string } | { kind: 'metrics-wanted'; id: number }
type ToWorker = { kind: 'changes'; changes: ProgressChange[] } | { kind: 'reload' } | { kind: 'metrics'; id: number; text: string }

export type Workers = {
  /** The address, once every worker listens. */
  listening: Promise<string>
  /** Asks every worker to check its supergraph now. */
  reload(): void
  /** Asks every worker to drain, and waits until the last one has ended. */
  stop(): Promise<void>
}

/** Delay before a dead worker is replaced. Without it, a worker that dies at once would be forked in a tight loop. */
const FORK_AGAIN_MS = 500

/** Forks `count` workers. `registry` holds the metrics of this process. */
export function startWorkers(count: number, registry: Registry, log: Logger): Workers {
  const aggregated = new AggregatorRegistry()
  AggregatorRegistry.setRegistries(registry)
  const ready = new Set<number>()
  let stopping = false
  let allReady: (url: string) => void = () => {}
  let neverReady: (reason: Error) => void = () => {}
  const listening = new Promise<string>((resolve, reject) => {
    allReady = resolve
    neverReady = reject
  })

  function fork(): void {
    if (stopping) return
    const worker = cluster.fork()
    worker.on('error', (err) => {
      if (worker.process.pid === undefined) throw err
      // A worker closes its channel, or dies, before this process knows it. Messages of that moment fail, and its exit follows.
      log.debug({ worker: worker.id, err }, 'a message did not reach a worker')
    })
  }

  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isOurs<ToPrimary>(message)) return
    if (message.kind === 'changes') {
      for (const other of Object.values(cluster.workers ?? {})) if (other?.id !== worker.id) send(other, message)
    } else if (message.kind === 'ready') {
      ready.add(worker.id)
      if (ready.size === count) allReady(message.url)
    } else {
      aggregated.clusterMetrics().then(
        (text) => send(worker, { kind: 'metrics', id: message.id, text }),
        (err: unknown) => {
          log.error({ err }, 'the metrics of the workers could not be added')
          send(worker, { kind: 'metrics', id: message.id, text: '' })
        },
      )
    }
  })
  cluster.on('exit', (worker, code, signal) => {
    if (stopping) return
    if (ready.size < count) neverReady(new TidemarkError('CONFIG_INVALID', 'a worker ended before it was ready: see its message above'))
    log.error({ worker: worker.id, code, signal }, 'a worker ended and is started again')
    setTimeout(fork, FORK_AGAIN_MS).unref()
  })
  for (let i = 0; i < count; i++) fork()

  return {
    listening,
    reload() {
      for (const worker of Object.values(cluster.workers ?? {})) send(worker, { kind: 'reload' })
    },
    async stop() {
      stopping = true
      const running = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
      // A signal and no message: a worker that still starts listens to no message.
      for (const worker of running) worker.process.kill('SIGTERM')
      // `once` of node:events would reject at an error of the worker.
      await Promise.all(
        running.filter((worker) => !worker.isDead()).map((worker) => new Promise((resolve) => worker.once('exit', resolve))),
      )
      await aggregated.shutdown()
    },
  }
}

export type Primary = {
  relay: ChangeRelay
  /** The metrics of all processes as one text. */
  metricsOfAll(): Promise<string>
  ready(url: string): void
  /** The primary wants this worker to look at its supergraph now. */
  onReload(listener: () => void): void
  leave(): void
}

/** The worker's side. `registry` holds the metrics of this worker. */
export function connectToPrimary(registry: Registry): Primary {
  // The constructor registers the listener that answers the primary's request for metrics.
  new AggregatorRegistry()
  AggregatorRegistry.setRegistries(registry)
  const followers = new Set<(change: ProgressChange) => void>()
  const asked = new Map<number, (text: string) => void>()
  let unsent: ProgressChange[] = []
  let reload = () => {}
  let leaving = false

  // Node would call process.exit here, which may hang (see shutdown.ts). Without its primary a worker is of no use.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
  process.once('disconnect', () => {
    if (!leaving) endAtOnce()
  })
  let nextId = 0

  process.on('message', (message: unknown) => {
    if (!isOurs<ToWorker>(message)) return
    if (message.kind === 'changes') {
      for (const change of message.changes) followers.forEach((follower) => follower(change))
    } else if (message.kind === 'reload') reload()
    else {
      asked.get(message.id)?.(message.text)
      asked.delete(message.id)
    }
  })

  // One message per turn of the event loop: a batch of reports makes hundreds of changes at once.
  function publish(change: ProgressChange): void {
    if (unsent.length === 0) setImmediate(sendChanges)
    unsent.push(change)
  }

  function sendChanges(): void {
    tellPrimary({ kind: 'changes', changes: unsent })
    unsent = []
  }

  return {
    relay: {
      publish,
      onChange(listener) {
        followers.add(listener)
        return () => followers.delete(listener)
      },
    },
    metricsOfAll: () =>
      new Promise((resolve) => {
        const id = nextId++
        asked.set(id, resolve)
        tellPrimary({ kind: 'metrics-wanted', id })
      }),
    ready: (url) => tellPrimary({ kind: 'ready', url }),
    onReload(listener) {
      reload = listener
    },
    leave() {
      leaving = true
      process.disconnect()
    },
  }
}

/** A message that does not reach the primary is no bug: the primary has ended, and "disconnect" follows. */
function tellPrimary(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, {}, () => {})
}

function send(worker: Worker | undefined, message: ToWorker): void {
  if (worker?.isConnected()) worker.send(message)
}

/** Other libraries use the same channel. Messages of this file have a `kind`. */
function isOurs<M extends { kind: string }>(message: unknown): message is M {
  return typeof message === 'object' && message !== null && 'kind' in message
}
