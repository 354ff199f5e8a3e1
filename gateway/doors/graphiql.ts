/**
 * GraphiQL, in development only: one prebuilt page with everything in it, so it opens without a network. It is rendered
 * and compressed on the first visit, off the event loop, and kept; it has 9 MB, 2 MB on the wire.
 *
 * The first tab works on the first click: it carries the header that names a viewer in development.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export type GraphiqlPage = { readonly html: Buffer; readonly compressed: Buffer }

const HEADERS = JSON.stringify({ 'x-viewer-id': '1' }, null, 2)

const READ = `# What viewer 1 watched, newest first.
# Run it with Ctrl-Enter. The viewer is named under
# "Headers" below. The next tabs report progress, and
# follow the changes.
query History {
  viewerHistory(first: 10) {
    edges {
      node {
        business
        oid
        position
        duration
        viewedAt
        finished
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`

const REPORT = `# What a player sends every few seconds.
# Readable at once: run it, then the first tab again.
mutation Report {
  reportProgress(input: { business: "video", oid: "42", position: 90000, duration: 600000, device: "tv" }) {
    outcome
    message
    progress {
      position
      viewedAt
    }
    dayToken
    firstOfDay
  }
}
`

const FOLLOW = `# Changes from any device, as they happen: run it,
# then report progress in the second tab.
subscription Follow {
  progressChanged {
    kind
    business
    oid
    progress {
      position
      finished
    }
    token
  }
}
`

export function makeGraphiql(endpoint: string): () => Promise<GraphiqlPage> {
  let page: Promise<GraphiqlPage> | undefined
  return () => (page ??= render(endpoint))
}

async function render(endpoint: string): Promise<GraphiqlPage> {
  const { renderGraphiQL } = (await import('@graphql-yoga/render-graphiql')) as { renderGraphiQL(options: object): string }
  const html = Buffer.from(
    renderGraphiQL({
      title: 'Tidemark',
      endpoint,
      // Over SSE the header of the tab goes along; a WebSocket opened by a browser has no headers.
      subscriptionsProtocol: 'SSE',
      defaultHeaders: HEADERS,
      defaultTabs: [READ, REPORT, FOLLOW].map((query) => ({ query, headers: HEADERS })),
    }).trim(),
  )
  return { html, compressed: await promisify(gzip)(html) }
}

export function wantsPage(request: FastifyRequest): boolean {
  return request.method === 'GET' && request.headers.accept?.includes('text/html') === true
}

export async function sendPage(request: FastifyRequest, reply: FastifyReply, graphiql: () => Promise<GraphiqlPage>): Promise<FastifyReply> {
  const { html, compressed } = await graphiql()
  const gzip = /\bgzip\b/.test(String(request.headers['accept-encoding']))
  reply.type('text/html; charset=utf-8').header('vary', 'accept, accept-encoding')
  return gzip ? reply.header('content-encoding', 'gzip').send(compressed) : reply.send(html)
}
