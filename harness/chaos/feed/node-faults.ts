/** Faults of Memcached nodes: each node in turn is killed, stopped or emptied. A killed node is started again, empty. */
import { connect } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../core/random.ts'
import type { MemcachedNode } from '../../deployment/memcached-nodes.ts'
import type { Fault } from '../history/faults.ts'

export type NodeFaultOptions = {
  kills: number
  stops: number
  flushes: number
  /** The longest time in milliseconds between a kill and the restart. */
  deadMaxMs: number
  /** Milliseconds that a node is stopped, at most. */
  stopMaxMs: number
}

/** `count`: called for each fault that happened. */
export function makeNodeFaults(
  nodes: readonly MemcachedNode[],
  names: readonly string[],
  random: Random,
  { kills, stops, flushes, deadMaxMs, stopMaxMs }: NodeFaultOptions,
  count: (name: string) => void,
): Fault[] {
  let struck = 0
  const times = (number: number, what: string, strike: (node: MemcachedNode, ms: number) => Promise<void>): Fault[] =>
    Array.from({ length: number }, () => {
      const place = struck++ % nodes.length
      const share = random()
      return {
        target: `node ${names[place]}`,
        async strike() {
          await strike(nodes[place] as MemcachedNode, share)
          count(`${names[place]}, ${what}`)
        },
      }
    })
  return [
    ...times(kills, 'killed', async (node, share) => {
      await node.kill()
      await sleep(share * deadMaxMs)
      await node.start()
    }),
    ...times(stops, 'stopped', async (node, share) => {
      await node.freeze()
      await sleep(share * stopMaxMs)
      node.thaw()
    }),
    ...times(flushes, 'emptied', empty),
  ]
}

async function empty({ port }: MemcachedNode): Promise<void> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  try {
    await once(socket, 'connect')
    socket.write('flush_all\r\n')
    const [answer] = (await once(socket, 'data')) as [string]
    if (answer !== 'OK\r\n') throw new Error(`the node on port ${port} answered "${answer}" to flush_all`)
  } finally {
    socket.destroy()
  }
}
