/**
 * GraphiQL, in development only. It is one prebuilt page that contains all of its files, so it opens without a network. The first visit
 * renders the page and compresses it off the event loop. Later visits get the same page. It has 9 MB, or 2 MB compressed.
 *
 * The first tab works at the first click: it has the header that names a viewer in development.
 */
import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { makeStaticFile, sendStaticFile, type StaticFile } from '../doors/static-file.ts'

const HEADERS = JSON.stringify({ 'x-viewer-id': '1' }, null, 2)

const TABS = [
  `# Videos as viewer 1 sees them: progress, likes,
# and whether a feed showed them. Ctrl-Enter runs
# it. "Headers" below names the viewer. The next
# tabs change the data.
query Videos {
  subjects(business: "video", ids: ["41", "42", "43"]) {
    id
    likeCount
    viewerMark
    viewerSeen
    viewerProgress {
      position
      duration
      device
    }
  }
}
`,
  `# A player sends this every few seconds. It can be
# read at once: run it, then the first tab again.
mutation Report {
  reportProgress(
    input: { business: "video", id: "42", position: 90000, duration: 600000, device: "tv" }
  ) {
    outcome
    userErrors {
      code
      message
    }
    subject {
      id
      viewerProgress {
        position
        viewedAt
      }
    }
  }
}
`,
  `# A like. NONE undoes it.
mutation Like {
  setMark(input: { business: "video", id: "42", mark: LIKE }) {
    outcome
    userErrors {
      code
      message
    }
    subject {
      id
      viewerMark
      likeCount
    }
  }
}
`,
  `# For a feed: the candidates that the viewer was
# not shown lately and has not watched. Video 42
# is missing after the report of the second tab.
query Feed {
  unseen(business: "video", candidates: ["41", "42", "43"]) {
    ids
    droppedIssued
    droppedStaged
    droppedFiltered
  }
}
`,
  `# The history of viewer 1, newest first.
query History {
  viewerHistory(first: 10) {
    edges {
      viewedAt
      node {
        id
        business
        viewerProgress {
          position
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
`,
  `# Changes from any device, as they happen. It ends
# when you leave this tab. Open this page in a second
# window, run this tab there, and report here.
subscription Follow {
  progressChanged {
    kind
    token
    subject {
      id
      viewerProgress {
        position
        device
      }
    }
  }
}
`,
]

const MARK = new URL('../../pages/shared/mark.svg', import.meta.url)

/**
 * GraphiQL gives each tab an offset and animates it to zero. A press on the tab ends the animation: the tab then jumps away under the
 * pointer, and does not open. This style removes the offset.
 */
const TABS_STAY = '<style>.graphiql-tabs > * { transform: none !important }</style>'

export function makeGraphiql(endpoint: string): () => Promise<StaticFile> {
  let page: Promise<StaticFile> | undefined
  return () => (page ??= render(endpoint))
}

async function render(endpoint: string): Promise<StaticFile> {
  const { renderGraphiQL } = (await import('@graphql-yoga/render-graphiql')) as { renderGraphiQL(options: object): string }
  const mark = (await readFile(MARK, 'utf8')).trim()
  const html = Buffer.from(
    renderGraphiQL({
      title: 'Tidemark',
      endpoint,
      // A request over SSE has the headers of the tab. A WebSocket that a browser opens has no such headers.
      subscriptionsProtocol: 'SSE',
      defaultHeaders: HEADERS,
      defaultTabs: TABS.map((query) => ({ query, headers: HEADERS })),
      logo: mark.replace('<svg ', '<svg width="32" height="32" '),
      favicon: `data:image/svg+xml;base64,${Buffer.from(mark).toString('base64')}`,
    })
      .trim()
      .replace('</head>', `${TABS_STAY}</head>`),
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
