/** The live heap of another process, read by its inspector after a garbage collection. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

export type Heap = { bytes(): Promise<number>; close(): void }
type Reply = { id: number; result: { result?: { value?: number } } }

export async function inspectHeap(port: number): Promise<Heap> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '', { perMessageDeflate: false })
  const waiting = new Map<number, (reply: Reply) => void>()
  let last = 0
  socket.on('message', (data: Buffer) => {
    const reply = JSON.parse(data.toString()) as Reply
    waiting.get(reply.id)?.(reply)
    waiting.delete(reply.id)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const call = (method: string, params: object = {}): Promise<Reply> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  return {
    async bytes() {
      await call('HeapProfiler.collectGarbage')
      await sleep(500)
      await call('HeapProfiler.collectGarbage')
      const expression = 'process.memoryUsage().heapUsed + process.memoryUsage().external'
      return (await call('Runtime.evaluate', { expression })).result.result?.value ?? NaN
    },
    close: () => socket.terminate(),
  }
}
