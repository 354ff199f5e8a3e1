/**
 * Fastify with the errors of the API. A request may fail outside GraphQL: unknown path, wrong method, malformed URL, failed handler. It
 * gets the same kind of answer as in GraphQL: a code, a sentence with advice, and `cache-control: no-store`.
 */
import type { Server } from 'node:http'
import Fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyReply } from 'fastify'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { JSON_TYPE } from './accept.ts'
import type { FormatError } from '../request/error-format.ts'
import { NOT_STORED, refusal, writeAnswer, type Answer } from './answers.ts'
import { refuseConnection } from './slow-clients.ts'

/** The longest operation id in a path. */
const ID_LENGTH_MAX = 1_000

/** The answer to a request that failed with this error. */
export type FailureOf = (error: unknown) => Answer

export function makeFailureOf(formatError: FormatError, bodyBytesMax: number): FailureOf {
  return function failureOf(error) {
    if (isTidemarkError(error)) return refusal(error, JSON_TYPE)
    const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
    if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499)
      return { status: 500, contentType: JSON_TYPE, body: JSON.stringify({ errors: [formatError(error, 'request')] }) }
    if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      const sentence = `the body has more than ${bodyBytesMax} bytes: send less at a time, or raise server.bodyBytesMax`
      return refusal(new TidemarkError('BODY_TOO_LARGE', sentence), JSON_TYPE)
    }
    return badRequest(statusCode, SENTENCES[String(code)] ?? `the request is malformed, correct it: ${String(message)}`)
  }
}

/** `paths`: the methods of each path. `advice`: names the existing paths. */
export function makeApp(
  options: FastifyHttpOptions<Server>,
  { paths, advice, bodyBytesMax }: { paths: Readonly<Record<string, readonly string[]>>; advice: string; bodyBytesMax: number },
  failureOf: FailureOf,
): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: bodyBytesMax,
    exposeHeadRoutes: false,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, _request, reply) => void sendAnswer(reply, failureOf(error)),
    ...options,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: ID_LENGTH_MAX },
  })

  app.setErrorHandler((error, _request, reply) => sendAnswer(reply, failureOf(error)))
  app.setNotFoundHandler(({ method, url }, reply) => {
    const methods = paths[url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? '']
    if (methods === undefined || methods.includes(method)) return sendAnswer(reply, badRequest(404, `there is nothing here: ${advice}`))
    const refused = badRequest(405, `this path does not take ${method}: use ${methods.join(' or ')}`)
    return sendAnswer(reply, { ...refused, headers: { allow: methods.join(', ') } })
  })
  app.server.on('checkExpectation', (_request, response) =>
    writeAnswer(response, badRequest(417, 'the header "expect" is not understood: leave it out, or send 100-continue')),
  )
  return app
}

const SENTENCES: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'the path is not percent-encoded UTF-8: encode its parts by encodeURIComponent',
  FST_ERR_MAX_PARAM_LENGTH: `the id in the path has more than ${ID_LENGTH_MAX} characters: send the id of an operation`,
}

/** A request refused with a status that says more than the code. */
export function badRequest(status: number, sentence: string): Answer {
  return { ...refusal(new TidemarkError('BAD_REQUEST', sentence), JSON_TYPE), status }
}

function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.status !== 200) reply.headers(NOT_STORED)
  if (answer.headers !== undefined) reply.headers(answer.headers)
  return reply.code(answer.status).header('content-type', answer.contentType).send(answer.body)
}
