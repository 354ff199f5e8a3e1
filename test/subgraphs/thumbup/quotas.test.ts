/** The calls that a business at its quota of marks or storage still accepts. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'

const MARK = `mutation ($id: ID!, $mark: Mark!, $business: String = "video", $markedAt: Timestamp) {
  setMark(input: { business: $business, id: $id, mark: $mark, markedAt: $markedAt }) { outcome userErrors { code message path } oldMark changed } }`

describe('quotas', () => {
  let stores: MarkedStores
  let served: ServedThumbup
  let job: ThumbupJob | undefined
  beforeEach(() => {
    stores = openMarkedStores()
  })
  afterEach(async () => {
    await served.stop()
    await job?.stop()
    job = undefined
    await stores.close()
  })

  const serve = (...businesses: object[]): void => void (served = serveThumbup(stores, thumbupConfig({ businesses })))
  const mark = async (viewer: string, id: string, mark: string, more: Record<string, unknown> = {}) =>
    (await served.ask(MARK, viewerOf(viewer), { id, mark, ...more })).data.setMark
  const codeOf = (payload: any): string | undefined => payload.userErrors[0]?.code
  const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)

  test('a tenant over its quota of marks per second is refused, and others are not', async () => {
    serve(
      { number: 1, name: 'video', entity: 'Video', thumbup: { marksPerSecondMax: 3 } },
      { number: 2, name: 'article', entity: 'Article' },
    )
    const codes: unknown[] = []
    for (let at = 0; at < 5; at++) codes.push(codeOf(await mark('7', `s${at}`, 'LIKE')))
    expect(codes.filter((code) => code === 'QUOTA_EXCEEDED').length).toBeGreaterThanOrEqual(1)
    expect(codes.slice(0, 3)).toEqual([undefined, undefined, undefined])
    expect(await mark('7', 's9', 'LIKE', { business: 'article' })).toMatchObject({ outcome: 'ACCEPTED', userErrors: [] })
  })

  test('a tenant at its storage quota refuses new marks, and accepts repeated, changed and undone ones', async () => {
    serve({ number: 1, name: 'video', entity: 'Video', thumbup: { marksMax: 2 } })
    job = await served.subgraph.startJob()
    await mark('1', 'a', 'LIKE')
    await mark('2', 'a', 'LIKE')
    await settled()
    // A viewer accepted before the quota is known has a mark by then.
    let next = 3
    await until(
      'the quota is known',
      async () => codeOf(await mark(String(next++), 'a', 'LIKE', { markedAt: 1_000_000_000_000 })) === 'QUOTA_EXCEEDED',
    )
    // A mark that replaces another one stores nothing more.
    expect(await mark('1', 'a', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', changed: false })
    expect(await mark('1', 'a', 'DISLIKE')).toMatchObject({ outcome: 'ACCEPTED', oldMark: 'LIKE', changed: true })
    expect(await mark('1', 'b', 'LIKE')).toMatchObject({
      ...{ outcome: 'REJECTED', userErrors: [{ code: 'QUOTA_EXCEEDED', path: ['input', 'business'] }] },
    })
    // Each input of a batch is judged by itself.
    const inputs = [
      { business: 'video', id: 'a', mark: 'LIKE' },
      { business: 'video', id: 'c', mark: 'DISLIKE' },
      { business: 'video', id: 'a', mark: 'NONE' },
    ]
    const answers = await served.subgraph.service.mark(viewerOf('2'), inputs, new Set())
    expect(answers.map(({ outcome }) => outcome)).toEqual(['ACCEPTED', 'REJECTED', 'ACCEPTED'])
    expect(await mark('1', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', changed: true })
  })

  test('a tenant at its storage quota stores nothing for an undo without a mark, and accepts repeated undos', async () => {
    serve({ number: 1, name: 'video', entity: 'Video', thumbup: { marksMax: 1 } })
    // Enough marks that no undo of this test goes below the quota.
    const rows = Array.from({ length: 9 }, (_, at) => ({
      key: { viewer: String(100 + at), business: 1, oid: 'a' },
      record: { mark: 'LIKE' as const, markedAt: 5 + at, version: 5 + at },
    }))
    await stores.plain.records.applyMarks(rows, [])
    let next = 200
    await until('the quota is known', async () => codeOf(await mark(String(next++), 'b', 'LIKE')) === 'QUOTA_EXCEEDED')
    const inputs = ['a', 'x', 'y'].map((id) => ({ business: 'video', id, mark: 'NONE' }))
    // For a viewer without marks in the hot store, and for a known one.
    for (const viewer of ['100', '100', '9']) {
      const answers = await served.subgraph.service.mark(viewerOf(viewer), inputs, new Set())
      expect(answers.map(({ outcome }) => outcome)).toEqual([viewer === '9' ? 'REJECTED' : 'ACCEPTED', 'REJECTED', 'REJECTED'])
      const keys = ['x', 'y'].map((oid) => ({ viewer, business: 1, oid }))
      expect((await stores.plain.hot.readDirtyMarks(keys)).map(({ record }) => record)).toEqual([undefined, undefined])
    }
    expect(await mark('9', 'x', 'NONE')).toMatchObject({
      userErrors: [{ code: 'QUOTA_EXCEEDED', message: expect.stringContaining('nothing to undo at "x"') as string }],
    })
    // With the record store down it is unknown whether an unknown viewer has marks.
    stores.set('records', 'down')
    expect(await mark('101', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED' })
    stores.set('records', 'up')
  })

  test('a tenant at its storage quota accepts an undo while a like may wait in a journal', async () => {
    serve({ number: 1, name: 'video', entity: 'Video', thumbup: { marksMax: 1 } })
    expect(await mark('7', 'other', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED' })
    stores.set('redis', 'down')
    expect(await mark('7', 'waits', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', oldMark: null })
    await stores.plain.records.applyMarks(
      [{ key: { viewer: '1', business: 1, oid: 'a' }, record: { mark: 'LIKE', markedAt: 5, version: 5 } }],
      [],
    )
    let next = 200
    await until('the quota is known', async () => codeOf(await mark(String(next++), 'b', 'LIKE')) === 'QUOTA_EXCEEDED')
    // The hot store has this mark, regardless of the record store.
    expect(await mark('7', 'other', 'NONE')).toMatchObject({ outcome: 'ACCEPTED' })
    const replay = Promise.withResolvers<void>()
    stores.before('hot.putMarks', () => replay.promise)
    stores.set('redis', 'up')
    stores.calls.length = 0
    const key = { viewer: '7', business: 1, oid: 'waits' }
    await until('the replay is under way', () => stores.calls.includes('hot.putMarks'))
    expect((await stores.plain.hot.readDirtyMarks([key]))[0]?.record).toBe(undefined)
    const undo = await mark('7', 'waits', 'NONE')
    stores.before('hot.putMarks', undefined)
    replay.resolve()
    expect(undo).toMatchObject({ outcome: 'ACCEPTED' })
    await until('the undo is applied', async () => (await stores.plain.hot.readDirtyMarks([key]))[0]?.record?.mark === 'NONE')
  })
})
