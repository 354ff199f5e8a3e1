/**
 * 5,000 WebSockets without a token, each with 49 subscriptions of 200 ids that no other socket follows. The product's memory per socket
 * counts 5,000 times, and its memory per followed subject 49 million times. From one address, then from 200 addresses.
 */
import { ATTACKER_ADDRESS, type Attack } from '../attack.ts'
import { keepSockets } from '../open-sockets.ts'

const SOCKETS = 5_000
const SUBSCRIPTIONS = 49
const IDS = 200
const PER_SECOND = 50
const ADDRESSES = 200

export function subscriptionOf(index: number, place: number): { query: string; variables: { ids: string[] } } {
  const ids = Array.from({ length: IDS }, (_, at) => `s${index}-${place}-${at}`)
  return {
    query: 'subscription($ids: [ID!]!) { countsChanged(business: "video", ids: $ids) { subjects { likeCount } } }',
    variables: { ids },
  }
}

function sockets(title: string, addressOf: (index: number) => string): Attack {
  return {
    title,
    role: 'start',
    run: (target, signal) =>
      keepSockets(target, signal, {
        ...{ count: SOCKETS, openPerSecond: PER_SECOND, addressOf },
        begin(socket, index) {
          for (let place = 0; place < SUBSCRIPTIONS; place += 1)
            socket.send(JSON.stringify({ id: String(place), type: 'subscribe', payload: subscriptionOf(index, place) }))
        },
      }),
  }
}

export const attacks: readonly Attack[] = [
  sockets('5,000 sockets', () => ATTACKER_ADDRESS),
  sockets('5,000 sockets from 200 addresses', (index) => `127.0.3.${1 + (index % ADDRESSES)}`),
]
