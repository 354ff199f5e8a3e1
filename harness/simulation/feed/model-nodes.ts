/**
 * The nodes of the cache's pools. They keep no promise but that of the port: requests of one connection take effect in order. They take quiet
 * writes late or never, are emptied, do not answer, and come back with what they had.
 */
import { randomBelow, type Random } from '../../../core/random.ts'
import type { NodeClient } from '../../../cache/node-client.ts'
import type { History } from '../history-of-events.ts'
import type { Life } from '../life.ts'
import type { Scheduler } from '../scheduler.ts'
import { makeModelNode, type ModelNode, type NodeFaults } from './model-node.ts'

export type NodeOptions = NodeFaults & {
  /** The longest time from a request to its effect, and from there to the answer, in ms. */
  delayMaxMs: number
  /** The probability that a quiet write waits for up to `lateMaxMs` more. */
  lateChance: number
  lateMaxMs: number
}

export type Nodes = ReturnType<typeof makeNodes>

/** Runs after this time. */
type Later = (delayMs: number, act: () => void) => void

export function makeNodes(random: Random, scheduler: Scheduler, options: NodeOptions, history: History | undefined) {
  const nodes = new Map<string, ModelNode>()
  let state = 0
  let underWay = 0

  /** A request or an answer on its way. */
  const later: Later = (delayMs, act) => {
    underWay++
    scheduler.wait(delayMs, undefined, () => {
      underWay--
      act()
    })
  }

  function nodeAt(address: string): ModelNode {
    let node = nodes.get(address)
    if (node === undefined) nodes.set(address, (node = makeModelNode(random, scheduler.now, () => ++state, address, options)))
    return node
  }

  function setDown(node: ModelNode, isDown: boolean): void {
    node.isDown = isDown
    history?.note(scheduler.now(), `--- node ${node.address} ${isDown ? 'does not answer' : 'answers again'}`)
  }

  function pick(): ModelNode | undefined {
    const all = [...nodes.values()]
    return all[randomBelow(random, Math.max(1, all.length))]
  }

  return {
    /** Requests and answers on their way, also of processes that are dead. */
    underWay: () => underWay,
    connectFor: (life: Life) => (address: string) => open(random, scheduler.now, later, options, life, nodeAt(address)),
    breakOrMend(): void {
      const node = pick()
      if (node !== undefined) setDown(node, !node.isDown)
    },
    empty(): void {
      const node = pick()
      if (node === undefined) return
      node.empty()
      history?.note(scheduler.now(), `--- node ${node.address} is emptied`)
    },
    mendAll(): void {
      for (const node of nodes.values()) if (node.isDown) setDown(node, false)
    },
  }
}

/** The connection of a process. Requests take effect in order. A node that is down answers nothing. */
function open(random: Random, now: () => number, later: Later, options: NodeOptions, life: Life, node: ModelNode): NodeClient {
  const waiting = new Set<(reason: Error) => void>()
  const delay = (): number => randomBelow(random, options.delayMaxMs + 1)
  let connection = 1
  let answers = 0
  let lastAt = 0

  function send<T>(act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (life.dead) return
      waiting.add(reject)
      lastAt = Math.max(lastAt, now() + delay())
      later(lastAt - now(), () => {
        if (node.isDown) return
        const answer = act()
        later(delay(), () => {
          if (!waiting.delete(reject) || life.dead) return
          answers++
          resolve(answer)
        })
      })
    })
  }

  function sendQuietly(act: () => void): void {
    if (life.dead || random() < options.loseChance) return
    const lateMs = random() < options.lateChance ? randomBelow(random, options.lateMaxMs) : 0
    const at = Math.max(lastAt, now() + delay())
    if (lateMs === 0) lastAt = at
    later(at + lateMs - now(), () => {
      if (!node.isDown) act()
    })
  }

  return {
    getMany: (keys) => send(() => keys.map((key) => node.read(key))),
    set: (key, stamped, endsAt) => send(() => node.store(key, stamped, endsAt)),
    cas: (key, stamped, expected, endsAt) => send(() => node.stateOf(key) === expected && node.store(key, stamped, endsAt)),
    setQuietly: (key, stamped, endsAt) => sendQuietly(() => node.store(key, stamped, endsAt)),
    fillQuietly: (key, stamped, expected, endsAt) =>
      sendQuietly(() => {
        if (node.stateOf(key) === expected) node.store(key, stamped, endsAt)
      }),
    connection: () => connection,
    answers: () => answers,
    check: () => send(() => undefined),
    reset(reason) {
      connection++
      const rejects = [...waiting]
      waiting.clear()
      for (const reject of rejects) if (!life.dead) reject(reason)
    },
    stop: () => Promise.resolve(),
  }
}
