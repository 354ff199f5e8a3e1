/**
 * How many bytes does the gateway keep for a WebSocket, for a subscription and for a followed subject? The whole product on the
 * embedded stores, in production mode, compared with `ws` and `graphql-ws` alone. Live bytes: heap and external memory after a collection.
 *
 *     npm run bench -- open-bytes [--quick] [--json]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { freePorts } from '../../harness/deployment/ports.ts'
import { makeRole, metricsOf, type Role } from '../../harness/deployment/role.ts'
import { subscriptionOf } from '../../harness/abuse/attacks/sockets.ts'
import { inspectHeap, type Heap } from './open-bytes/heap.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const MANY = 1_000_000_000
const SUBSCRIPTIONS = 49
const IDS = 200
const PATIENCE_MS = 60_000
const SETTINGS = {
  server: { mode: 'production', subscriptionsCostMax: 100_000 },
  auth: { secret: 'the secret of the tokens of this benchmark' },
  limits: {
    ...{ anonymous: 'none', abuse: 'none' },
    openConnections: { address: MANY, viewer: MANY, process: MANY },
    openCost: { address: MANY, viewer: MANY, process: MANY },
  },
}

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const sockets = quick ? 100 : 500
  progress(`${sockets} sockets of ws and graphql-ws alone`)
  const floor = await floorBytes(sockets)
  progress(
    `${sockets} sockets of the gateway, then ${SUBSCRIPTIONS} subscriptions of ${IDS} ids on ${sockets / 10}, then of one id on others`,
  )
  const product = await productBytes(sockets)
  return [
    { metric: 'socket, ws and graphql-ws alone', value: floor, unit: 'bytes' },
    { metric: 'socket, gateway', value: product.socket, unit: 'bytes' },
    { metric: 'socket, gateway beyond ws and graphql-ws', value: product.socket - floor, unit: 'bytes', target: 2_048, atMost: true },
    { metric: 'followed subject, all of its 200th of a subscription', value: product.subject, unit: 'bytes', target: 200, atMost: true },
    { metric: 'subscription of one id', value: product.subscription, unit: 'bytes' },
  ]
}

async function floorBytes(count: number): Promise<number> {
  const [port, inspector] = (await freePorts(2)) as [number, number]
  const child = spawn(process.execPath, [
    `--inspect=127.0.0.1:${inspector}`,
    join(import.meta.dirname, 'open-bytes', 'floor.ts'),
    String(port),
  ])
  try {
    await once(child.stdout, 'data')
    const heap = await inspectHeap(inspector)
    const { perSocket } = await socketBytes(heap, `ws://127.0.0.1:${port}`, count)
    heap.close()
    return perSocket
  } finally {
    child.kill('SIGKILL')
  }
}

async function productBytes(count: number): Promise<{ socket: number; subject: number; subscription: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-open-bytes-'))
  const [port, inspector] = (await freePorts(2)) as [number, number]
  const settings = { ...SETTINGS, stores: { data: join(folder, 'data') } }
  const role = makeRole({ name: 'start', command: ['start'], port, folder, settings, nodeOptions: [`--inspect=127.0.0.1:${inspector}`] })
  await role.start()
  try {
    const heap = await inspectHeap(inspector)
    const { perSocket, sockets } = await socketBytes(heap, role.url.replace('http', 'ws'), count)
    const following = sockets.slice(0, count / 10)
    const before = await heap.bytes()
    await follow(role, following, 0, IDS)
    const followed = await heap.bytes()
    await follow(role, sockets.slice(count / 10, count / 5), following.length * SUBSCRIPTIONS, 1)
    const single = await heap.bytes()
    const subscriptions = following.length * SUBSCRIPTIONS
    heap.close()
    for (const socket of sockets) socket.terminate()
    return { socket: perSocket, subject: (followed - before) / (subscriptions * IDS), subscription: (single - followed) / subscriptions }
  } finally {
    await role.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The first sockets are not counted, because they fill caches and compile code that stays. */
async function socketBytes(heap: Heap, url: string, count: number): Promise<{ perSocket: number; sockets: WebSocket[] }> {
  const warm = await openSockets(url, count / 5)
  const before = await heap.bytes()
  const sockets = await openSockets(url, count)
  const perSocket = ((await heap.bytes()) - before) / count
  for (const socket of warm) socket.terminate()
  await sleep(1_000)
  return { perSocket, sockets }
}

async function openSockets(url: string, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = []
  for (let index = 0; index < count; index += 1) {
    const socket = new WebSocket(url, 'graphql-transport-ws', { perMessageDeflate: false })
    socket.once('open', () => socket.send('{"type":"connection_init"}'))
    await once(socket, 'message')
    sockets.push(socket)
  }
  return sockets
}

async function follow(role: Role, sockets: readonly WebSocket[], openAlready: number, ids: number): Promise<void> {
  for (const [index, socket] of sockets.entries())
    for (let place = 0; place < SUBSCRIPTIONS; place += 1) {
      const { query, variables } = subscriptionOf(index + openAlready, place)
      const payload = { query, variables: { ids: variables.ids.slice(0, ids) } }
      socket.send(JSON.stringify({ id: String(place), type: 'subscribe', payload }))
    }
  const wanted = openAlready + sockets.length * SUBSCRIPTIONS
  for (const begun = performance.now(); performance.now() - begun < PATIENCE_MS; await sleep(250))
    if ((await metricsOf(role))?.get('tidemark_gateway_subscriptions_open') === wanted) return
  throw new Error(`${wanted} subscriptions were not open after ${PATIENCE_MS} ms`)
}
