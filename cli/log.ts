/** The log of a process: one JSON object a line, on standard error, without what identifies viewers or opens doors. */
import { pino, type Logger } from 'pino'

export function makeLog(): Logger {
  const secrets = ['authorization', 'password', 'secret', 'token'].flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  return pino({ level: 'info', base: null, redact: secrets }, pino.destination({ dest: 2, sync: true }))
}
