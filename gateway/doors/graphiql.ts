/**
 * GraphiQL, in development only. It is one prebuilt page that contains all of its files, so it opens without a network. The first visit
 * renders the page and compresses it off the event loop. Later visits get the same page. It has 9 MB, and 2 MB on the wire.
 *
 * The first tab works at the first click: it has the header that names a viewer in development.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export type GraphiqlPage = { readonly html: Buffer; readonly compressed: Buffer }

const HEADERS = JSON.stringify({ 'x-viewer-id': '1' }, null, 2)

const READ = `# The history of viewer 1, newest first.
# Run it with Ctrl-Enter. The viewer is named under
# "Headers" below. The next tabs report progress and
# follow the changes.
query History {
  viewerHistory(first: 10) {
    edges {
      viewedAt
      node {
        __typename
        id
        viewerProgress {
          position
          duration
          finished
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`

const REPORT = `# A player sends this every few seconds. It can be read
# at once: run it, then run the first tab again.
mutation Report {
  reportProgress(input: { business: "video", id: "42", position: 90000, duration: 600000, device: "tv" }) {
    outcome
    userErrors {
      message
    }
    subject {
      id
      viewerProgress {
        position
        viewedAt
      }
    }
    dayToken
    firstOfDay
  }
}
`

const FOLLOW = `# Changes from any device, as they happen. Run it,
# then report progress in the second tab.
subscription Follow {
  progressChanged {
    kind
    subject {
      __typename
      id
      viewerProgress {
        position
        finished
      }
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
      // A request over SSE has the headers of the tab. A WebSocket that a browser opens has no such headers.
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
