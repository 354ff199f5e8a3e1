/**
 * The log of a process: one JSON object per line, on standard error, without viewer ids and secrets.
 *
 * - An error of a known kind (Tidemark's, a driver's, the network's) is logged as its message and code. Only unexpected errors have a
 *   stack. Other fields of an error are dropped: drivers attach the keys and values that they sent.
 * - Messages that name a viewer are logged as `viewer "…"`. Tools that print for an operator keep the id.
 * - A message that repeats within ten seconds, equal but for its figures, is held back and counted. After the ten seconds the newest one is
 *   logged, with `repeated`: the number of messages that the line stands for. Every message is counted, even if no further one follows. An
 *   outage causes the same message at each request, and other events must stay visible.
 * - A message has at most 20 distinct reasons at a time. Further reasons count as one, since clients may vary the words.
 */
import { pino, type DestinationStream, type Level, type Logger } from 'pino'
import { systemClock, type Clock, type Timer } from '../../core/clock.ts'
import { isTidemarkError } from '../../core/errors.ts'

const REPEAT_MS = 10_000
const KINDS_MAX = 1_000
const KINDS_PER_MESSAGE_MAX = 20
const WARN = 40

export type LogOptions = {
  /** Default info. */
  level?: Level
  /** Default: standard error. */
  destination?: DestinationStream
  clock?: Clock
}

export function makeLog(options: LogOptions = {}): Logger {
  const { level = 'info', destination = pino.destination({ dest: 2, sync: true }), clock = systemClock } = options
  const secrets = ['authorization', 'password', 'secret', 'token'].flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const repeats = makeRepeats(clock)
  if (options.destination === undefined) atExit(repeats.end)
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
          const { err, business, what, reason } = fields as Record<string, unknown>
          const kind = [message, business, withoutFigures(what), withoutFigures(reason), sentenceOf(err)].join(' ')
          return repeats.say(message ?? '', kind, (repeated) =>
            method.apply(this, [repeated === 0 ? fields : { ...fields, repeated }, message]),
          )
        },
      },
    },
    destination,
  )
}

/** One listener for all logs of this process: Node warns of a leak if there are many. */
const endings: (() => void)[] = []

function atExit(end: () => void): void {
  if (endings.push(end) > 1) return
  process.once('exit', () => {
    for (const each of endings) each()
  })
}

type Line = (repeated: number) => void
type Kind = { message: string; heldBack: number; newest: Line; timer: Timer; until: number }

/** `end` logs all held back messages at once, at the end of the process. */
function makeRepeats(clock: Clock) {
  const kinds = new Map<string, Kind>()
  /** Kinds per message. */
  const perMessage = new Map<string, number>()

  function isRoomFor(message: string): boolean {
    return (perMessage.get(message) ?? 0) < KINDS_PER_MESSAGE_MAX
  }

  function begin(text: string, line: Line, message: string): void {
    perMessage.set(message, (perMessage.get(message) ?? 0) + 1)
    if (kinds.size >= KINDS_MAX) {
      // Evict the oldest: a Map keeps the order of insertion.
      const [oldest] = kinds.keys()
      if (oldest !== undefined) close(oldest)
    }
    const timer = clock.after(REPEAT_MS, () => {
      // A message that goes on is one line in ten seconds.
      if (close(text)) begin(text, line, message)
    })
    kinds.set(text, { message, heldBack: 0, newest: line, timer, until: clock.now() + REPEAT_MS })
  }

  /** True if something was held back. */
  function close(text: string): boolean {
    const kind = kinds.get(text)
    kinds.delete(text)
    if (kind === undefined) return false
    kind.timer.cancel()
    const left = (perMessage.get(kind.message) ?? 1) - 1
    if (left === 0) perMessage.delete(kind.message)
    else perMessage.set(kind.message, left)
    if (kind.heldBack === 0) return false
    kind.newest(kind.heldBack)
    return true
  }

  return {
    say(message: string, ofKind: string, line: Line): void {
      // Clients can vary reasons. Further reasons count as one kind, so that each is not a line of its own.
      const text = kinds.has(ofKind) || isRoomFor(message) ? ofKind : `${message}: others`
      const kind = kinds.get(text)
      if (kind === undefined) {
        begin(text, line, message)
        line(0)
        return
      }
      kind.heldBack++
      kind.newest = line
      // The timer is late, because this process is busy.
      if (clock.now() >= kind.until && close(text)) begin(text, line, message)
    },
    end(): void {
      for (const text of [...kinds.keys()]) close(text)
    },
  }
}

/** Messages of one kind differ only in their numbers, such as the length of an id. */
function withoutFigures(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, SENTENCE_MAX).replace(/\d+/g, '#') : ''
}

/** Node's codes for failures of the network. */
const NETWORK = /^(E(CONN|HOST|NET|TIMEDOUT|PIPE|ADDR|AI_)|ENOTFOUND|UND_ERR)/
const DEPTH_MAX = 3
/** Some messages of drivers contain the values that they were sent. */
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
