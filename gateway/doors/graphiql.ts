/**
 * GraphiQL, in development only. It is one prebuilt page that contains all of its files, so it opens without a network. The first visit
 * renders the page. Later visits get the same page. It has 9 MB, and 2 MB on the wire.
 *
 * The first tab works at the first click: it has the header that names a viewer in development.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { makeStaticFile, sendStaticFile, type StaticFile } from './static-file.ts'

const HEADERS = JSON.stringify({ 'x-viewer-id': '1' }, null, 2)

const READ = `# The history of viewer 1, newest first.
# Run it with Ctrl-Enter. The viewer is named under
# "Headers" below. The next tabs report progress and
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

const REPORT = `# A player sends this every few seconds. It can be read
# at once: run it, then run the first tab again.
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

const FOLLOW = `# Changes from any device, as they happen. Run it,
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

export function makeGraphiql(endpoint: string): () => Promise<StaticFile> {
  let page: Promise<StaticFile> | undefined
  return () => (page ??= render(endpoint))
}

async function render(endpoint: string): Promise<StaticFile> {
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
  return makeStaticFile('text/html; charset=utf-8', html)
}

export function wantsPage(request: FastifyRequest): boolean {
  return request.method === 'GET' && request.headers.accept?.includes('text/html') === true
}

/** The same address answers GraphQL to clients that do not ask for a page. */
export async function sendPage(request: FastifyRequest, reply: FastifyReply, graphiql: () => Promise<StaticFile>): Promise<FastifyReply> {
  return sendStaticFile(request, reply, await graphiql(), 'accept')
}
