/** WebSockets of an attacker: opened at a rate up to a number, and opened again when they are closed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Target } from './attack.ts'

export type SocketPlan = {
  /** Sockets to have open. */
  count: number
  openPerSecond: number
  addressOf(index: number): string
  params?: Readonly<Record<string, unknown>>
  /** Called once the socket is acknowledged. */
  begin(socket: WebSocket, index: number): void
  onMessage?(type: string, socket: WebSocket): void
}

export async function keepSockets({ webSocketUrl }: Target, signal: AbortSignal, plan: SocketPlan): Promise<Record<string, number>> {
  const counts: Record<string, number> = { tried: 0, acknowledged: 0, 'open at most': 0 }
  const count = (name: string) => (counts[name] = (counts[name] ?? 0) + 1)
  const sockets = new Set<WebSocket>()
  const begun = performance.now()
  for (let index = 0; !signal.aborted;) {
    if (sockets.size >= plan.count || index > ((performance.now() - begun) / 1_000) * plan.openPerSecond) {
      await sleep(10)
      continue
    }
    open(index++)
  }

  function open(index: number): void {
    count('tried')
    const socket = new WebSocket(webSocketUrl, 'graphql-transport-ws', { localAddress: plan.addressOf(index), perMessageDeflate: false })
    sockets.add(socket)
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: plan.params })))
    socket.on('message', (data: Buffer) => {
      // Long answers are not parsed: the attacker must not be slower than the product.
      const type = /"type":"(\w+)"/.exec(data.length > 10_000 ? data.toString('utf8', data.length - 1_000) : data.toString())?.[1] ?? 'next'
      if (type === 'error') count('operations refused')
      if (type !== 'connection_ack') return plan.onMessage?.(type, socket)
      count('acknowledged')
      plan.begin(socket, index)
    })
    socket.on('error', (error) => count(/\b(\d{3})\b/.exec(error.message)?.[0] ?? 'failed'))
    socket.on('close', (code) => {
      if (!signal.aborted && code !== 1006) count(`closed with ${code}`)
      sockets.delete(socket)
    })
    counts['open at most'] = Math.max(counts['open at most'] ?? 0, sockets.size)
  }

  for (const socket of sockets) socket.terminate()
  return counts
}
