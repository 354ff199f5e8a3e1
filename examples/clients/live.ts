/**
 * The viewer's progress on all devices, live. It continues after a break of the connection:
 *
 *     node live.ts http://localhost:4000/graphql sse
 *     node live.ts http://localhost:4000/graphql ws
 *
 * It ends when the viewer finishes a video. The optional third argument is the address of a service that issues tokens.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { createClient as createStreams } from 'graphql-sse'
import { createClient as createSocket } from 'graphql-ws'
import { headersOf, parametersOf, URL_OF_API } from './story.ts'

const [transport = 'sse', addressOfTokens = ''] = process.argv.slice(3)

type Change = {
  kind: string
  token: string
  subject: { id: string; viewerProgress: { position: number; finished: boolean } | null } | null
}
type Event = { data?: { progressChanged: Change } | null; errors?: [{ message: string; extensions?: Record<string, unknown> }] }

const FOLLOW = `subscription Follow($since: String) {
  progressChanged(since: $since) {
    kind
    token
    subject { id viewerProgress { id position finished } }
  }
}`

async function authorization(): Promise<{ authorization: string }> {
  const response = await fetch(addressOfTokens)
  return { authorization: `Bearer ${await response.text()}` }
}

const credentials = addressOfTokens === '' ? { headers: headersOf('live'), parameters: parametersOf('live') } : undefined

// Both libraries call the function again for each connection, so a token can be renewed. They must not reconnect by themselves, because
// they would subscribe with the old `since`.
const streams = createStreams({ url: URL_OF_API, headers: credentials?.headers ?? authorization, retryAttempts: 0 })
const socket = createSocket({
  url: URL_OF_API.replace(/^http/, 'ws'),
  connectionParams: credentials?.parameters ?? authorization,
  retryAttempts: 0,
})

function subscribe(since: string | undefined): AsyncIterable<unknown> {
  const operation = { query: FOLLOW, variables: { since } }
  return transport === 'ws' ? socket.iterate(operation) : streams.iterate(operation)
}

/** The server refuses the operation, and would refuse it again. */
class Refused extends Error {}

/** All changes: none is lost during a break of the connection. */
async function* follow(): AsyncGenerator<Change> {
  let since: string | undefined
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const { data, errors } of subscribe(since) as AsyncIterable<Event>) {
        if (errors !== undefined) throw errorOf(errors[0])
        if (data == null) continue
        failures = 0
        since = data.progressChanged.token
        yield data.progressChanged
      }
    } catch (error) {
      if (error instanceof Refused) throw error
      // A WebSocket ends with a close event, which has a reason.
      const { reason, message } = error as { reason?: string; message?: string }
      console.error(`the connection ended: ${reason || message || 'the server cannot be reached'}`)
    }
    // Clients that lost the server at the same moment should not reconnect at the same moment.
    await wait(Math.min(30_000, 500 * 2 ** failures) * (0.5 + Math.random()))
  }
}

function errorOf({ message, extensions = {} }: { message: string; extensions?: Record<string, unknown> }): Error {
  const passes = extensions['retryable'] === true || extensions['code'] === 'TOKEN_EXPIRED'
  return passes ? new Error(message) : new Refused(message)
}

for await (const { kind, subject } of follow()) {
  console.log(`${kind} ${subject?.id} ${subject?.viewerProgress?.position}`)
  if (subject?.viewerProgress?.finished === true) break
}
await socket.dispose()
streams.dispose()
