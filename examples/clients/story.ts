/**
 * The steps that every example runs with its library: show a page, mark, report, remove, and follow another device. After each step its cache
 * must equal the cache of a new client. The video and the article have equal ids, unless a program gives the article another one.
 */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'

export type Progress = { position: number; finished: boolean } | null
export type Subject = { id: string; business: string; likeCount: number | null; viewerMark: string | null; viewerProgress: Progress }
export type Page = { videos: (Subject | null)[]; articles: (Subject | null)[] }

/** A client of one viewer with its cache. */
export type Client = {
  /** Reads the page from the server, into the cache. */
  load(): Promise<void>
  /** The page as the cache has it, without a request. Undefined if a part is missing. */
  cached(): Page | undefined
  like(business: string, id: string): Promise<void>
  report(business: string, id: string, position: number): Promise<void>
  remove(business: string, id: string): Promise<void>
  /** Follows the viewer's other devices. */
  follow(): () => void
  /** How many operations it has sent. */
  sent(): number
  close(): void | Promise<void>
}

export const ID = '42'

/** `open`: a new client of this viewer, with an empty cache. `articleId`: the id of the article. */
export async function tell(open: (viewer: string) => Client, articleId = ID): Promise<void> {
  const viewer = `story-${Date.now()}`
  const client = open(viewer)

  async function sameAsServer(step: string): Promise<void> {
    const fresh = open(viewer)
    await fresh.load()
    assert.deepEqual(client.cached(), fresh.cached(), step)
    await fresh.close()
    console.log(`${step}: the cache equals the server`)
  }

  await client.load()
  await sameAsServer('load')
  const before = client.sent()

  await client.like('video', ID)
  const [video, article] = [client.cached()?.videos[0], client.cached()?.articles[0]]
  assert.equal(video?.viewerMark, 'LIKE')
  assert.equal(article?.viewerMark, 'NONE', 'the article is another subject, also if it has the same id')
  await sameAsServer('like')

  await client.report('video', ID, 60_000)
  assert.equal(client.cached()?.videos[0]?.viewerProgress?.position, 60_000)
  await sameAsServer('report')
  assert.equal(client.sent() - before, 2, 'the cache needed no other request')

  const stop = client.follow()
  const tv = open(viewer)
  // The subscription may not be open yet when the other device reports, so it reports more than once.
  for (let position = 70_000; client.cached()?.videos[0]?.viewerProgress?.position === 60_000; position += 1_000) {
    await tv.report('video', ID, position)
    await wait(100)
    assert.ok(position < 200_000, 'no event arrived')
  }
  await tv.report('article', articleId, 3)
  await until(() => client.cached()?.articles[0]?.viewerProgress?.position === 3, 'the event of the article')
  await sameAsServer('another device, live')

  await client.remove('video', ID)
  assert.equal(client.cached()?.videos[0]?.viewerProgress, null)
  await sameAsServer('remove')
  await tv.remove('article', articleId)
  await until(() => client.cached()?.articles[0]?.viewerProgress === null, 'the event of the removal')
  await sameAsServer('another device removes, live')
  stop()
  await tv.close()
  await client.close()
}

async function until(isDone: () => boolean, event: string): Promise<void> {
  for (let left = 100; !isDone(); left--) {
    assert.ok(left > 0, `${event} did not arrive within 10 s`)
    await wait(100)
  }
}

/** The address of the API, and the headers of a viewer. In production the header is `authorization` with a token. */
export const URL_OF_API = process.argv[2] ?? 'http://localhost:4000/graphql'
export const headersOf = (viewer: string): Record<string, string> => ({ 'x-viewer-id': viewer })
/** A browser cannot set headers of a WebSocket: the credentials are in the first message, in production `{ authorization }`. */
export const parametersOf = (viewer: string): Record<string, string> => ({ viewerId: viewer })
