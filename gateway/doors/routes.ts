/** The routes of the API, of GraphiQL and of the metrics. Most requests to the API are handled without them (`request-listener.ts`). */
import type { FastifyInstance } from 'fastify'
import { holdUnread } from '../limits/held-bytes.ts'
import type { Front } from '../request/front.ts'
import { textOf } from './body.ts'
import { sendPage, wantsPage } from '../pages/graphiql.ts'
import { OPERATION_PATH } from './parameters.ts'
import type { HandleRequest } from './request-handler.ts'
import type { StaticFile } from './static-file.ts'

/** `apiPaths`: the paths of the API. `graphiql`: absent in production. */
export function addApiRoutes(
  app: FastifyInstance,
  apiPaths: readonly string[],
  handle: HandleRequest,
  graphiql: (() => Promise<StaticFile>) | undefined,
): void {
  // Bodies stay text here. Their reader is chosen later, by the media type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    const body = textOf(bytes, request.headers)
    if (typeof body === 'string') done(null, body)
    else done(body)
  })

  for (const path of apiPaths) {
    app.all(path, async (request, reply) => {
      if (graphiql !== undefined && wantsPage(request)) return sendPage(request, reply, graphiql)
      reply.hijack()
      const { method, url, headers, body } = request
      return handle({ method, url, headers, body: typeof body === 'string' ? body : '', address: request.socket.remoteAddress }, reply.raw)
    })
  }
  app.all<{ Params: { id: string } }>(`${OPERATION_PATH}:id`, async ({ method, url, headers, body, params, socket }, reply) => {
    reply.hijack()
    const text = typeof body === 'string' ? body : ''
    return handle({ method, url, headers, body: text, address: socket.remoteAddress, pathId: params.id }, reply.raw)
  })
}

/** The replies of routes, such as the schema and pages, count as unread answers too. They are written right after this hook. */
export function holdReplies(app: FastifyInstance, held: Front['heldBytes']): void {
  app.addHook('onSend', async (_request, reply, payload) => {
    setImmediate(holdUnread, held, reply.raw)
    return payload
  })
}

export function addMetricsRoute(app: FastifyInstance, metrics: Front['metrics'], metricsOfAll: (() => Promise<string>) | undefined): void {
  app.get('/metrics', { exposeHeadRoute: true }, async (_request, reply) => {
    const { contentType, text } = await metrics.render(metricsOfAll)
    return reply.type(contentType).send(text)
  })
}
