/**
 * A node behind its breaker, so that a node that fails or stalls costs a bounded time. The first request that fails opens the breaker and
 * ends the connection, and all its requests fail. While the breaker is open, requests fail at once, quiet writes are dropped, and the node is
 * checked periodically over a new connection. No caller waits for a check.
 *
 * A request also fails if it waits for longer than the patience and the node has answered no other request meanwhile. In a burst of large
 * reads, requests wait behind others. To call the node dead then would move the burst to the next tier, and from there to the stores.
 *
 * A slow node answers, and its queue grows. A caller therefore waits for `PATIENCES_MAX` times the patience at most, and then gets undefined.
 * Until the node has answered all such requests, it is skipped as a node that is down. Its breaker stays closed.
 *
 * core/outage/breaker.ts has the same rule for stores. It rejects with the store's code, because a store has no replacement. A node has one,
 * the next tier, and it may fail for thousands of keys a second. Failures are therefore values here: undefined.
 */
import type { Clock, Timer } from '../core/clock.ts'
import type { NodeClient } from './node-client.ts'

export type GuardedNodeOptions = {
  /** Milliseconds that a node may take for an answer. Minimum 1. */
  patienceMs: number
  /** Milliseconds between two checks of a node that is down. Minimum 1. */
  checkEveryMs: number
}

export type GuardedNode = {
  address: string
  client: NodeClient
  /** The answer, or undefined if the node is down. Never rejects. */
  ask<T>(request: (client: NodeClient) => Promise<T>): Promise<T | undefined>
  /** True while requests fail at once: the breaker is open, or the node has overdue answers. */
  isDown(): boolean
  /** The number of times that the breaker opened. */
  opened(): number
  stop(): Promise<void>
}

/** A caller whose request is behind others waits for so many times the patience at most. */
const PATIENCES_MAX = 3

/** Notices of a node, for operators. */
export type NodeNotices = {
  /** The breaker opened. */
  down(address: string, reason: unknown): void
  /** The node answered a check, and gets requests again. */
  up(address: string): void
}

export function makeGuardedNode(
  clock: Clock,
  address: string,
  client: NodeClient,
  { patienceMs, checkEveryMs }: GuardedNodeOptions,
  notices: NodeNotices,
): GuardedNode {
  let isOpen = false
  let opened = 0
  let isStopped = false
  /** Requests whose callers have stopped waiting. */
  let overdue = 0
  let timer: Timer | undefined

  const bounded = makeBounded(clock, address, client, patienceMs)
  const isDown = (): boolean => isOpen || isStopped || overdue > 0

  function ask<T>(request: (client: NodeClient) => Promise<T>): Promise<T | undefined> {
    if (isDown()) return Promise.resolve(undefined)
    const openedBefore = opened
    return new Promise((resolve, reject) => {
      let isOverdue = false
      const onSlow = (): void => {
        isOverdue = true
        overdue++
        resolve(undefined)
      }
      bounded(() => request(client), onSlow)
        .catch((error: unknown) => {
          if (opened === openedBefore) open(error)
          return undefined
        })
        .then((answer) => {
          if (isOverdue) overdue--
          resolve(answer)
        }, reject)
    })
  }

  function open(error: unknown): void {
    if (isStopped) return
    isOpen = true
    opened++
    client.reset(new Error(`the connection to ${address} was ended after a failure`, { cause: error }))
    notices.down(address, error)
    planCheck()
  }

  function planCheck(): void {
    if (isStopped) return
    timer = clock.after(checkEveryMs, () => {
      bounded(() => client.check()).then(
        () => {
          isOpen = false
          if (!isStopped) notices.up(address)
        },
        (error: unknown) => {
          client.reset(new Error(`a check of ${address} failed`, { cause: error }))
          planCheck()
        },
      )
    })
  }

  return {
    address,
    client,
    ask,
    isDown,
    opened: () => opened,
    stop() {
      isStopped = true
      timer?.cancel()
      return client.stop()
    },
  }
}

function makeBounded(clock: Clock, address: string, client: NodeClient, patienceMs: number) {
  /** `onSlow` is called if the answer is overdue, and the node answers other requests. The promise waits on. */
  return <T>(request: () => Promise<T>, onSlow: () => void = () => undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      let isSettled = false
      let late = clock.after(patienceMs, makeCheck(1))
      request()
        .finally(() => {
          isSettled = true
          late.cancel()
        })
        .then(resolve, reject)

      /** If this process was busy for longer than the patience, the answer may have arrived already: the loop reads sockets after timers. */
      function makeCheck(patiences: number): () => void {
        const answersBefore = client.answers()
        return () =>
          setImmediate(() => {
            if (isSettled) return
            if (client.answers() === answersBefore) {
              reject(new Error(`${address} answered nothing in ${patienceMs} ms`))
              return
            }
            if (patiences === PATIENCES_MAX) onSlow()
            late = clock.after(patienceMs, makeCheck(patiences + 1))
          })
      }
    })
}
