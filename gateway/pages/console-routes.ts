/**
 * The data of the console: `GET /console/state` and `GET /console/viewer?id=…`. A caller needs the scope `operator`, and is identified and
 * refused as at the API. Nothing is computed between two calls.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS, TidemarkError, isTidemarkError, publicMessage } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'
import { requireScope, SCOPE_OPERATOR } from '../../core/viewer.ts'
import { JSON_TYPE } from '../doors/accept.ts'
import { NOT_STORED, refusal } from '../doors/answers.ts'
import type { Front } from '../request/front.ts'
import type { ConsoleSource } from './console-source.ts'

export const CONSOLE_STATE_PATH = '/console/state'
export const CONSOLE_VIEWER_PATH = '/console/viewer'

export function addConsoleRoutes(
  app: FastifyInstance,
  { callerChecks, log }: Pick<Front, 'callerChecks' | 'log'>,
  source: ConsoleSource,
): void {
  async function answer(request: FastifyRequest, reply: FastifyReply, read: () => Promise<object>): Promise<FastifyReply> {
    reply.headers(NOT_STORED).type(JSON_TYPE)
    try {
      const caller = await callerChecks.callerOf(request.headers, request.socket.remoteAddress)
      if ('errors' in caller) return reply.code(ERRORS.RATE_LIMITED.status).send(JSON.stringify({ errors: caller.errors }))
      requireScope(caller.viewer, SCOPE_OPERATOR)
      return reply.send(JSON.stringify(await read()))
    } catch (error) {
      return refuse(reply, error)
    }
  }

  function refuse(reply: FastifyReply, error: unknown): FastifyReply {
    const known = isTidemarkError(error) ? error : new TidemarkError('INTERNAL', 'the console could not read its figures', { cause: error })
    const message = publicMessage(known)
    if (message !== known.message) log.warn({ err: error }, 'a request of the console failed')
    const { status, headers = {}, body } = refusal(new TidemarkError(known.code, message), JSON_TYPE)
    return reply.code(status).headers(headers).send(body)
  }

  app.get(CONSOLE_STATE_PATH, { exposeHeadRoute: true }, (request, reply) => answer(request, reply, () => source.state()))
  app.get<{ Querystring: { id?: string | string[] } }>(CONSOLE_VIEWER_PATH, { exposeHeadRoute: true }, (request, reply) =>
    answer(request, reply, async () => {
      const { id } = request.query
      checkId(typeof id === 'string' ? id : '', 'the id of the viewer')
      return source.viewer(id as string)
    }),
  )
}
