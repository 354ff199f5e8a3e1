/** A subscription to `homeFeedChanged` over an event stream. */
import { expect } from 'vitest'

export type WaitingPosts = { waiting: number; newest: string | null }

/** Resolves when the subscription is open. */
export async function followHomeFeed(url: string, viewer: string, since?: string) {
  const query = 'subscription ($since: ID) { homeFeedChanged(since: $since) { waiting newest } }'
  const ending = new AbortController()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-viewer-id': viewer },
    body: JSON.stringify({ query, variables: { since } }),
    signal: ending.signal,
  })
  expect(response.status).toBe(200)
  const events = eventsOf(response.body as ReadableStream<Uint8Array>)

  async function next(): Promise<WaitingPosts> {
    const { value } = (await events.next()) as { value: { data: { homeFeedChanged: WaitingPosts } } }
    return value.data.homeFeedChanged
  }

  return {
    next,
    /** Reads events until this one. */
    async until(expected: WaitingPosts): Promise<void> {
      for (;;) {
        const { waiting, newest } = await next()
        if (waiting === expected.waiting && newest === expected.newest) return
      }
    },
    end: () => ending.abort(),
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end)
      text = text.slice(end + 2)
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data !== undefined && data !== '') yield JSON.parse(data)
    }
  }
}
