/** Reads a subscription over server-sent events. */
import { setTimeout as wait } from 'node:timers/promises'
import { CheckFailed } from './outcome.ts'
import { reasonOf, type AnswerError } from './answer.ts'
import type { Change } from './operations.ts'

export type Changes = Events<Change>

export type Events<E> = {
  /** The next event; undefined if none comes within `maxMs`. Throws CheckFailed if the stream reported an error. */
  next(maxMs: number): Promise<E | undefined>
  /** The codes of the reported errors, as soon as the stream reports one, or after `maxMs`. */
  errorCodes(maxMs: number): Promise<(string | undefined)[]>
  end(): void
}

type Event = { data?: Record<string, unknown> | null; errors?: readonly AnswerError[] }

const LOOK_EVERY_MS = 10
const OPEN_MAX_MS = 30_000

/** `field`: the field of the subscription. */
export async function openEvents<E>(
  url: string,
  headers: Record<string, string>,
  query: string,
  variables: Record<string, unknown>,
  field: string,
): Promise<Events<E>> {
  const stop = new AbortController()
  const events: E[] = []
  const errors: AnswerError[] = []
  const late = setTimeout(() => stop.abort(), OPEN_MAX_MS)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ query, variables }),
    signal: stop.signal,
  })
    .catch((error: unknown) => {
      throw new CheckFailed(`a stream of events from ${url}`, `none: ${reasonOf(error)}`)
    })
    .finally(() => clearTimeout(late))

  function take(event: Event): void {
    errors.push(...(event.errors ?? []))
    const told = event.data?.[field]
    if (told !== undefined && told !== null) events.push(told as E)
  }

  // Authentication is checked before the stream begins: a rejection is a plain answer in JSON.
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
    // A stream that the audit ended, or that broke, has no more events. A check that waits for one fails on its own.
    readEvents(response, take).catch(() => {})
  } else {
    take(JSON.parse(await response.text()) as Event)
  }

  async function waitFor(maxMs: number, holds: () => boolean): Promise<void> {
    for (const until = Date.now() + maxMs; !holds() && Date.now() < until;) await wait(LOOK_EVERY_MS)
  }

  return {
    async next(maxMs) {
      await waitFor(maxMs, () => events.length > 0 || errors.length > 0)
      const [error] = errors
      if (error !== undefined) throw new CheckFailed('a stream without errors', `${error.extensions?.code ?? 'no code'}: ${error.message}`)
      return events.shift()
    },
    async errorCodes(maxMs) {
      await waitFor(maxMs, () => errors.length > 0)
      return errors.map((error) => error.extensions?.code)
    },
    end: () => stop.abort(),
  }
}

async function readEvents(response: Response, take: (event: Event) => void): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = /^event: next\ndata: (.*)$/m.exec(event)?.[1]
      if (data !== undefined) take(JSON.parse(data) as Event)
    }
  }
}
