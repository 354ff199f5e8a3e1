/**
 * Clients with open WebSockets, each with one subscription: players that follow their viewer's progress on other devices, pages that follow
 * counts of popular videos, and home feeds that count new posts. The process counts the updates, and remembers each viewer's last position.
 */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { answerParent, settingOf } from './child.ts'
import { watcherAt } from './population.ts'

/** `progress`: clients that follow the progress of watchers. `counts`: clients that follow counts. */
export type LiveSetting = { urls: readonly string[]; progress: number; counts: number; homeViewers: readonly string[] }
export type LiveReply = {
  updates: Record<LiveKind, number>
  /** Milliseconds from the acceptance of each report to its update. They are then forgotten. */
  progressMs: number[]
  followed: string[]
  /** The last reported video and position of each followed watcher. */
  last: Map<string, { id: string; position: number }>
  failures: string[]
}
type LiveKind = 'progress' | 'counts' | 'home'

type Message = {
  type: string
  payload?: {
    errors?: unknown
    data?: { progressChanged?: { kind: string; subject: { id: string; viewerProgress: { position: number; viewedAt: number } } | null } }
  }
}

/** Watchers report in the order of their places. Those that are followed are far apart, so their updates are spread over time. */
const STEP = 100
const POPULAR = Array.from({ length: 20 }, (_, at) => String(1 + at))
const OPERATIONS: Record<LiveKind, { query: string; variables?: object }> = {
  progress: { query: 'subscription { progressChanged { kind subject { id viewerProgress { position viewedAt } } } }' },
  counts: {
    query: 'subscription ($ids: [ID!]!) { countsChanged(business: "video", ids: $ids) { subjects { id likeCount } } }',
    variables: { ids: POPULAR },
  },
  home: { query: 'subscription { homeFeedChanged { __typename } }' },
}

const { urls, progress, counts, homeViewers } = settingOf<LiveSetting>()
const followed = Array.from({ length: progress }, (_, place) => watcherAt(place * STEP))
const told: LiveReply = { updates: { progress: 0, counts: 0, home: 0 }, progressMs: [], followed, last: new Map(), failures: [] }

function take(kind: LiveKind, viewer: string, { type, payload }: Message): void {
  if (type === 'error' || type === 'complete' || payload?.errors !== undefined) told.failures.push(JSON.stringify({ kind, type, payload }))
  if (type !== 'next') return
  const change = payload?.data?.progressChanged
  if (change !== undefined && change.kind !== 'REPORTED') return
  told.updates[kind]++
  if (change?.subject == null) return
  const { id, viewerProgress } = change.subject
  told.progressMs.push(Date.now() - viewerProgress.viewedAt)
  told.last.set(viewer, { id, position: viewerProgress.position })
}

let opened = 0

/** The gateways take turns. */
async function follow(kind: LiveKind, viewer: string): Promise<void> {
  const url = urls[opened++ % urls.length] as string
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', {
    perMessageDeflate: false,
    headers: { 'x-viewer-id': viewer },
  })
  socket.once('close', (code) => told.failures.push(`a socket of ${kind} was closed with ${code}`))
  await once(socket, 'open')
  socket.send('{"type":"connection_init"}')
  await once(socket, 'message')
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message
    if (message.type === 'ping') socket.send('{"type":"pong"}')
    else take(kind, viewer, message)
  })
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: OPERATIONS[kind] }))
}

for (const viewer of followed) await follow('progress', viewer)
for (let place = 0; place < counts; place++) await follow('counts', watcherAt(place))
for (const viewer of homeViewers) await follow('home', viewer)

answerParent<'updates', LiveReply>(() => {
  const reply = { ...told, progressMs: told.progressMs }
  told.progressMs = []
  return reply
})
