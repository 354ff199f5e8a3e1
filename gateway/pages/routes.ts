/**
 * The web pages: home at `/`, the demo at `/demo` and the console at `/console`. They use the public API, and the console also the routes of
 * console-routes.ts. They call no other machine, and run no inline script but their import map.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { sendStaticFile } from '../doors/static-file.ts'
import { makePageFiles } from './page-files.ts'

export type PageName = NonNullable<Config['server']['pages']>[number]

/** The paths of pages, for messages about methods. */
export const PAGE_PATHS: Readonly<Record<PageName, string>> = { home: '/', demo: '/demo', console: '/console' }

const IMPORT_MAP = JSON.stringify({
  imports: {
    preact: '/pages/library/preact/dist/preact.mjs',
    'preact/hooks': '/pages/library/preact/hooks/dist/hooks.mjs',
    htm: '/pages/library/htm/dist/htm.mjs',
    uplot: '/pages/library/uplot/dist/uPlot.esm.js',
    'graphql-ws': '/pages/library/graphql-ws/dist/client.js',
  },
})

/** Inline styles set the sizes of bars and charts. WebSockets of the same origin are 'self' as well. */
const POLICY = `default-src 'self'; script-src 'self' 'sha256-${createHash('sha256').update(IMPORT_MAP).digest('base64')}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

export function addPageRoutes(app: FastifyInstance, pages: readonly PageName[], isTaken: (path: string) => boolean): void {
  if (pages.length === 0) return
  for (const page of pages) {
    const path = PAGE_PATHS[page]
    if (!isTaken(path)) app.get(path, { exposeHeadRoute: true }, (request, reply) => send(request, reply, `pages/${page}/index.html`))
  }
  app.get('/pages/*', { exposeHeadRoute: true }, (request, reply) => send(request, reply, pathOf(request)))
  app.get('/examples/*', (request, reply) => send(request, reply, pathOf(request)))
}

function pathOf({ url }: FastifyRequest): string {
  return (url.split('?', 1)[0] ?? '').slice(1)
}

const readPageFile = makePageFiles((html) => html.replace('<!-- import map -->', `<script type="importmap">${IMPORT_MAP}</script>`))

async function send(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
  const file = await readPageFile(path)
  if (file === undefined) {
    reply.callNotFound()
    return reply
  }
  reply.headers({ ...HEADERS, etag: file.etag })
  return sendStaticFile(request, reply, file)
}
