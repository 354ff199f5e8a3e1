/**
 * The log of a process: one JSON object a line, on standard error, without what identifies viewers or opens doors.
 *
 * - An error that explains itself (ours, a driver's, the network's) is its sentence and code; only what nobody expected comes
 *   with its stack. Nothing else of an error is written: drivers hang onto theirs what they were sent, with all keys and values.
 * - Sentences that name a viewer are written without him: `viewer "…"`. What a tool prints for an operator has him.
 * - What is said again within ten seconds, word for word, is counted instead, and the next line of the kind has the count
 *   as `repeated`. An outage says the same thing at each request, and what happens beside it must stay visible.
 */
import { pino, type DestinationStream, type Level, type Logger } from 'pino'
import { isTidemarkError } from '../core/errors.ts'

const REPEAT_MS = 10_000
const KINDS_MAX = 1_000
const WARN = 40

export type LogOptions = {
  /** Default info. */
  level?: Level
  /** Default: standard error. */
  destination?: DestinationStream
  /** Milliseconds. */
  now?: () => number
}

export function makeLog(options: LogOptions = {}): Logger {
  const { level = 'info', destination = pino.destination({ dest: 2, sync: true }), now = Date.now } = options
  const secrets = ['authorization', 'password', 'secret', 'token'].flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const countRepeated = makeRepeatCounter(now)
  return pino(
    {
      level,
      base: null,
      redact: secrets,
      serializers: { err: describeError },
      hooks: {
        logMethod(args, method, levelNumber) {
          const [fields, message] = args as unknown as [unknown, string | undefined]
          if (levelNumber < WARN || typeof fields !== 'object' || fields === null) return method.apply(this, args)
          const { err, business } = fields as { err?: unknown; business?: unknown }
          const repeated = countRepeated(`${message ?? ''} ${String(business)} ${sentenceOf(err)}`)
          if (repeated === 'not yet') return undefined
          return method.apply(this, [repeated === 0 ? fields : { ...fields, repeated }, message])
        },
      },
    },
    destination,
  )
}

/** How often this was held back since it was last said; "not yet" = hold it back. */
function makeRepeatCounter(now: () => number): (kind: string) => number | 'not yet' {
  const kinds = new Map<string, { saidAt: number; heldBack: number }>()
  return (kind) => {
    const known = kinds.get(kind)
    const at = now()
    if (known !== undefined && at - known.saidAt < REPEAT_MS) {
      known.heldBack++
      return 'not yet'
    }
    // The oldest goes first: a Map keeps the order in which keys came.
    kinds.delete(kind)
    if (kinds.size >= KINDS_MAX) kinds.delete(kinds.keys().next().value as string)
    kinds.set(kind, { saidAt: at, heldBack: 0 })
    return known?.heldBack ?? 0
  }
}

/** Codes of Node's for what happens on a network. */
const NETWORK = /^(E(CONN|HOST|NET|TIMEDOUT|PIPE|ADDR|AI_)|ENOTFOUND|UND_ERR)/
const DEPTH_MAX = 3
/** Drivers put what they were sent into some of their sentences, too. */
const SENTENCE_MAX = 2_000
const STACK_MAX = 4_000

function describeError(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { message: withoutViewers(String(error), SENTENCE_MAX) }
  const { cause, stack } = error
  return {
    type: error.name,
    message: withoutViewers(error.message, SENTENCE_MAX),
    ...('code' in error ? { code: error.code } : {}),
    ...(explainsItself(error) || stack === undefined ? {} : { stack: withoutViewers(stack, STACK_MAX) }),
    ...(cause === undefined || depth >= DEPTH_MAX ? {} : { cause: describeError(cause, depth + 1) }),
  }
}

function withoutViewers(text: string, max: number): string {
  const shown = text.replace(/\bviewer "[^"]*"/g, 'viewer "…"')
  return shown.length > max ? `${shown.slice(0, max)}… (${shown.length} characters)` : shown
}

function explainsItself(error: Error): boolean {
  return isTidemarkError(error) || error.name.startsWith('KafkaJS') || ('code' in error && NETWORK.test(String(error.code)))
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? withoutViewers(error.message, SENTENCE_MAX) : (JSON.stringify(error) ?? '')
}
