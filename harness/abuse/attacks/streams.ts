/** 5,000 event streams without a token, each with 200 ids that no other client follows. From one address, then from 200 addresses. */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKER_ADDRESS, type Attack, type Target } from '../attack.ts'
import { subscriptionOf } from './sockets.ts'

const STREAMS = 5_000
const PER_SECOND = 200
const ADDRESSES = 200

async function keepStreams(target: Target, signal: AbortSignal, addressOf: (index: number) => string): Promise<Record<string, number>> {
  const counts: Record<string, number> = { tried: 0, 'open at most': 0 }
  const count = (name: string) => (counts[name] = (counts[name] ?? 0) + 1)
  const ends = new Set<() => void>()

  function open(index: number): void {
    count('tried')
    const call = request(target.url, {
      method: 'POST',
      agent: false,
      localAddress: addressOf(index),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    })
    const end = (): void => void call.destroy()
    ends.add(end)
    call.on('response', (response) => {
      count(`status ${response.statusCode}`)
      response.resume()
    })
    call.on('error', () => signal.aborted || count('failed'))
    call.on('close', () => ends.delete(end))
    call.end(JSON.stringify(subscriptionOf(index, 0)))
    counts['open at most'] = Math.max(counts['open at most'] ?? 0, ends.size)
  }

  const begun = performance.now()
  for (let index = 0; !signal.aborted;) {
    if (ends.size < STREAMS && index <= ((performance.now() - begun) / 1_000) * PER_SECOND) open(index++)
    else await sleep(5)
  }
  for (const end of ends) end()
  return counts
}

export const attacks: readonly Attack[] = [
  { title: '5,000 streams', role: 'start', run: (target, signal) => keepStreams(target, signal, () => ATTACKER_ADDRESS) },
  {
    title: '5,000 streams from 200 addresses',
    role: 'start',
    run: (target, signal) => keepStreams(target, signal, (index) => `127.0.3.${1 + (index % ADDRESSES)}`),
  },
]
