import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const LIKES = `query ($id: ID, $first: Int! = 4, $after: String, $business: String! = "video") {
  thumbupUser(id: $id) { likes(business: $business, first: $first, after: $after) {
    edges { cursor markedAt node { __typename id likeCount } } pageInfo { hasNextPage endCursor } } } }`
const LIKERS = `query ($id: ID!, $first: Int! = 4, $after: String) { subjects(business: "video", ids: [$id]) {
  likers(first: $first, after: $after) { edges { node { id } markedAt } pageInfo { hasNextPage endCursor } } } }`

describe('lists of marks', () => {
  let stores: MarkedStores
  let served: ServedThumbup
  let job: ThumbupJob
  const past = Date.now() - 1_000_000
  beforeEach(async () => {
    stores = openMarkedStores({ records: 'lmdb' })
    served = serveThumbup(stores)
    job = await served.subgraph.startJob()
  })
  afterEach(async () => {
    await served.stop()
    await job.stop()
    await stores.close()
  })

  const mark = (viewer: string, id: string, mark: string, markedAt: number) =>
    served.subgraph.service.mark(viewerOf(viewer), [{ business: 'video', id, mark, markedAt }], new Set())
  const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)

  /** Reads all pages in order; `between` runs after each. */
  async function walkLikes(viewer: string, first = 4, between?: (page: number) => Promise<unknown>): Promise<string[]> {
    const seen: string[] = []
    for (let after: string | null = null, page = 0; ; page++) {
      const { data, errors }: { data: any; errors: unknown[] } = await served.ask(LIKES, viewerOf(viewer), { first, after })
      expect(errors).toEqual([])
      const { edges, pageInfo } = data.thumbupUser.likes
      seen.push(...edges.map((edge: any) => edge.node.id))
      if (!pageInfo.hasNextPage) return seen
      after = pageInfo.endCursor
      await between?.(page)
    }
  }

  test('the likes of a viewer are one list across hot store and record store, newest first', async () => {
    for (let at = 0; at < 25; at++) await mark('7', `s${at}`, at % 5 === 4 ? 'DISLIKE' : 'LIKE', past + at)
    await settled()
    const liked = Array.from({ length: 25 }, (_, at) => 24 - at).filter((at) => at % 5 !== 4)
    for (const first of [1, 3, 4, 7, 100]) expect(await walkLikes('7', first)).toEqual(liked.map((at) => `s${at}`))
    const answer = await served.ask(LIKES, viewerOf('7'), { first: 1 })
    expect(answer.data.thumbupUser.likes.edges[0]).toMatchObject({
      ...{ markedAt: past + 23, node: { __typename: 'Video', id: 's23', likeCount: 1 } },
    })
  })

  test('likes of the same time are in the order of their ids, below the floor too', async () => {
    const ids = Array.from({ length: 24 }, (_, at) => String(at))
    for (const id of ids) await mark('7', id, 'LIKE', past)
    await settled()
    for (const first of [1, 4, 5]) expect(await walkLikes('7', first)).toEqual(ids)
  })

  test('a mark below the floor that was undone, disliked or liked again leaves its old place', async () => {
    for (let at = 0; at < 25; at++) await mark('7', `s${at}`, 'LIKE', past + at)
    await settled()
    await mark('7', 's1', 'NONE', past + 100)
    await mark('7', 's2', 'DISLIKE', past + 101)
    await mark('7', 's3', 'LIKE', past + 102)
    const expected = [
      's3',
      ...Array.from({ length: 25 }, (_, at) => 24 - at)
        .filter((at) => at > 3 || at === 0)
        .map((at) => `s${at}`),
    ]
    expect(await walkLikes('7')).toEqual(expected)
    await settled()
    expect(await walkLikes('7')).toEqual(expected)
  })

  test('marks that change between pages skip and repeat no other entry', async () => {
    for (let at = 0; at < 30; at++) await mark('7', `s${at}`, 'LIKE', past + at)
    await settled()
    const seen = await walkLikes('7', 4, async (page) => {
      await mark('7', `s${29 - page * 4}`, 'NONE', past + 200 + page)
      await mark('7', `new${page}`, 'LIKE', past + 300 + page)
    })
    expect(seen).toEqual(Array.from({ length: 30 }, (_, at) => `s${29 - at}`))
  })

  test('a subject that is liked again during a page read is at its new place, and is not missing', async () => {
    for (let at = 0; at < 25; at++) await mark('7', `s${at}`, 'LIKE', past + at)
    await settled()
    let isFirst = true
    stores.before('records.listMarks', async () => {
      if (!isFirst) return
      isFirst = false
      await mark('7', 's1', 'LIKE', past + 500)
    })
    const seen = await walkLikes('7', 100)
    expect([seen[0], seen.length, new Set(seen).size]).toEqual(['s1', 25, 25])
  })

  test('a viewer without the scope reads only their own likes', async () => {
    await mark('7', 'a', 'LIKE', past)
    const foreign = await served.ask(LIKES, viewerOf('8'), { id: '7' })
    expect(foreign.data.thumbupUser.likes).toBe(null)
    expect(foreign.errors).toMatchObject([{ code: 'FORBIDDEN' }])
    const service = await served.ask(LIKES, viewerOf('8', 'marks:read-any'), { id: '7' })
    expect(service.data.thumbupUser.likes.edges).toHaveLength(1)
  })

  test('cursors of other lists, broken cursors and invalid page sizes are refused', async () => {
    await mark('7', 'a', 'LIKE', past)
    const cursor = (await served.ask(LIKES, viewerOf('7'))).data.thumbupUser.likes.edges[0].cursor
    const codes = async (source: string, variables: Record<string, unknown>) =>
      (await served.ask(source, viewerOf('7', 'marks:read-any'), variables)).errors.map(({ code }) => code)
    expect(await codes(LIKES, { id: '8', after: cursor })).toEqual(['CURSOR_INVALID'])
    expect(await codes(LIKES, { business: 'article', after: cursor })).toEqual(['CURSOR_INVALID'])
    expect(await codes(LIKERS, { id: 'a', after: cursor })).toEqual(['CURSOR_INVALID'])
    for (const after of ['', 'x', `${cursor}A`, cursor.slice(1), 'A'.repeat(500)])
      expect(await codes(LIKES, { after })).toEqual(['CURSOR_INVALID'])
    expect(await codes(LIKES, { after: cursor })).toEqual([])
    for (const first of [0, -1, 101]) expect(await codes(LIKES, { first })).toEqual(['FIRST_INVALID'])
  })

  async function walkLikers(viewer: string, id: string, first = 4): Promise<string[]> {
    const seen: string[] = []
    for (let after: string | null = null; ;) {
      const { data, errors }: { data: any; errors: unknown[] } = await served.ask(LIKERS, viewerOf(viewer), { id, first, after })
      expect(errors).toEqual([])
      const { edges, pageInfo } = data.subjects[0].likers
      seen.push(...edges.map((edge: any) => edge.node.id))
      if (!pageInfo.hasNextPage) return seen
      after = pageInfo.endCursor
    }
  }

  test('the likers of a subject are one list across cache and record store, and follow the counts', async () => {
    for (let at = 0; at < 120; at++) await mark(`v${at}`, 'a', 'LIKE', past + at)
    await settled()
    const all = Array.from({ length: 120 }, (_, at) => `v${119 - at}`)
    for (const first of [7, 100]) expect(await walkLikers('x', 'a', first)).toEqual(all)
    stores.calls.length = 0
    await walkLikers('x', 'a', 100).then((seen) => expect(seen).toEqual(all))
    expect(stores.count('records.listLikers')).toBe(1)
    await mark('v3', 'a', 'NONE', past + 500)
    await mark('new', 'a', 'LIKE', past + 501)
    await settled()
    await until(
      'the list has followed',
      async () => (await walkLikers('x', 'a', 7)).join() === ['new', ...all.filter((id) => id !== 'v3')].join(),
    )
  })

  test('a cached page of likers needs no read of the record store, and many misses share one read', async () => {
    for (let at = 0; at < 10; at++) await mark(`v${at}`, 'a', 'LIKE', past + at)
    await settled()
    stores.calls.length = 0
    await Promise.all(Array.from({ length: 20 }, () => walkLikers('x', 'a', 5)))
    expect(stores.count('records.listLikers')).toBeLessThanOrEqual(2)
    stores.calls.length = 0
    await walkLikers('x', 'a', 5)
    expect(stores.calls.filter((call) => call.startsWith('records.'))).toEqual([])
  })

  test('a viewer sees their own like among the likers at once, and others see it when it is persisted', async () => {
    for (let at = 0; at < 6; at++) await mark(`v${at}`, 'a', 'LIKE', past + at)
    await settled()
    const shown = ['v5', 'v4', 'v3', 'v2', 'v1', 'v0']
    await until('the list has followed', async () => (await walkLikers('x', 'a')).join() === shown.join())
    stores.set('records', 'down')
    await mark('v2', 'a', 'NONE', past + 50)
    await mark('v0', 'a', 'LIKE', past + 51)
    await mark('v9', 'a', 'LIKE', past + 3)
    expect(await walkLikers('x', 'a')).toEqual(shown)
    for (const first of [1, 2, 3, 4, 10]) {
      expect(await walkLikers('v2', 'a', first)).toEqual(['v5', 'v4', 'v3', 'v1', 'v0'])
      expect(await walkLikers('v0', 'a', first)).toEqual(['v0', 'v5', 'v4', 'v3', 'v2', 'v1'])
      expect(await walkLikers('v9', 'a', first)).toEqual(['v5', 'v4', 'v3', 'v9', 'v2', 'v1', 'v0'])
    }
    stores.set('records', 'up')
  })
})
