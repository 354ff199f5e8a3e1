/** How a process is seen from outside: the listener for operators, and its log. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'

export const adminSchema = z
  .object({
    host: z.string().min(1).default('127.0.0.1').describe('The address to listen on.'),
    port: count(0, 65_535).describe('The port to listen on. 0 picks a free one.'),
  })
  .strict()
  .optional()
  .describe(
    'A separate listener for metrics, health checks and the console. The listener of the API then serves health checks only. A job has one listener, that of `host` and `port`.',
  )

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export const logLevelSchema = z.enum(LOG_LEVELS).default('info').describe('The lowest level of messages in the log.')

export const accessLogSchema = z
  .boolean()
  .default(false)
  .describe(
    'Whether the log has a line per HTTP request: method, path, status, time and bytes. It has no address, viewer or operation text.',
  )

type Server = {
  host: string
  port: number
  admin?: { host: string; port: number } | undefined
  logLevel: (typeof LOG_LEVELS)[number]
  accessLog: boolean
}

/** Relations between values, each with its reason. */
export function observingMistakes({ host, port, admin, logLevel, accessLog }: Server): string[] {
  const mistakes: string[] = []
  if (
    admin !== undefined &&
    admin.port !== 0 &&
    admin.port === port &&
    (admin.host === host || isEverywhere(admin.host) || isEverywhere(host))
  )
    mistakes.push(`server.admin.port: ${port} is the port of the API: choose another, or leave server.admin out`)
  if (accessLog && LOG_LEVELS.indexOf(logLevel) > LOG_LEVELS.indexOf('info'))
    mistakes.push(`server.accessLog writes lines of the level info, and server.logLevel "${logLevel}" drops them: set info or debug`)
  return mistakes
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
