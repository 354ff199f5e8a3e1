/** What a business that has used up what it may mark or store still takes. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'

const MARK = `mutation ($id: ID!, $mark: Mark!, $business: String = "video", $markedAt: Timestamp) {
  mark(business: $business, id: $id, mark: $mark, markedAt: $markedAt) { outcome code message oldMark changed } }`

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
    (await served.ask(MARK, viewerOf(viewer), { id, mark, ...more })).data.mark
  const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)

  test('a tenant over its quota of marks a second is refused, others are not', async () => {
    serve(
      { number: 1, name: 'video', entity: 'Video', thumbup: { marksPerSecondMax: 3 } },
      { number: 2, name: 'article', entity: 'Article' },
    )
    const codes: unknown[] = []
    for (let at = 0; at < 5; at++) codes.push((await mark('7', `s${at}`, 'LIKE')).code)
    expect(codes.filter((code) => code === 'QUOTA_EXCEEDED').length).toBeGreaterThanOrEqual(1)
    expect(codes.slice(0, 3)).toEqual([null, null, null])
    expect((await mark('7', 's9', 'LIKE', { business: 'article' })).code).toBe(null)
  })

  test('a tenant that has stored what it may takes no more marks, and lets those that stand be said again, changed and undone', async () => {
    serve({ number: 1, name: 'video', entity: 'Video', thumbup: { marksMax: 2 } })
    job = await served.subgraph.startJob()
    await mark('1', 'a', 'LIKE')
    await mark('2', 'a', 'LIKE')
    await settled()
    // Who was taken before it is known has a mark by then.
    let next = 3
    await until(
      'the quota is known',
      async () => (await mark(String(next++), 'a', 'LIKE', { markedAt: 1_000_000_000_000 })).code === 'QUOTA_EXCEEDED',
    )
    // A mark where one stands stores no more.
    expect(await mark('1', 'a', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', changed: false })
    expect(await mark('1', 'a', 'DISLIKE')).toMatchObject({ outcome: 'ACCEPTED', oldMark: 'LIKE', changed: true })
    expect(await mark('1', 'b', 'LIKE')).toMatchObject({ outcome: 'REJECTED', code: 'QUOTA_EXCEEDED' })
    // In one batch each is judged by itself.
    const inputs = [
      { business: 'video', id: 'a', mark: 'LIKE' },
      { business: 'video', id: 'c', mark: 'DISLIKE' },
      { business: 'video', id: 'a', mark: 'NONE' },
    ]
    const answers = await served.subgraph.service.mark(viewerOf('2'), inputs, new Set())
    expect(answers.map(({ outcome }) => outcome)).toEqual(['ACCEPTED', 'REJECTED', 'ACCEPTED'])
    expect(await mark('1', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', changed: true })
  })

  test('a tenant that is full stores nothing for who undoes what he never marked, and lets undos be said again', async () => {
    serve({ number: 1, name: 'video', entity: 'Video', thumbup: { marksMax: 1 } })
    // As many as no undoing of this test takes below the quota.
    const rows = Array.from({ length: 9 }, (_, at) => ({
      key: { viewer: String(100 + at), business: 1, oid: 'a' },
      record: { mark: 'LIKE' as const, markedAt: 5 + at, version: 5 + at },
    }))
    await stores.plain.records.applyMarks(rows, [])
    let next = 200
    await until('the quota is known', async () => (await mark(String(next++), 'b', 'LIKE')).code === 'QUOTA_EXCEEDED')
    const inputs = ['a', 'x', 'y'].map((id) => ({ business: 'video', id, mark: 'NONE' }))
    // Of one of whom nothing is held, and of one who is known.
    for (const viewer of ['100', '100', '9']) {
      const answers = await served.subgraph.service.mark(viewerOf(viewer), inputs, new Set())
      expect(answers.map(({ outcome }) => outcome)).toEqual([viewer === '9' ? 'REJECTED' : 'ACCEPTED', 'REJECTED', 'REJECTED'])
      const keys = ['x', 'y'].map((oid) => ({ viewer, business: 1, oid }))
      expect((await stores.plain.hot.readDirtyMarks(keys)).map(({ record }) => record)).toEqual([undefined, undefined])
    }
    expect(await mark('9', 'x', 'NONE')).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      message: expect.stringContaining('nothing to undo at "x"'),
    })
    // With the record store down nobody can say that nothing stands for a viewer who is not known.
    stores.set('records', 'down')
    expect(await mark('101', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED' })
    stores.set('records', 'up')
  })

  test('an undo is taken by a tenant that is full while a like may wait that no store shows yet', async () => {
    serve({ number: 1, name: 'video', entity: 'Video', thumbup: { marksMax: 1 } })
    expect(await mark('7', 'other', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED' })
    stores.set('redis', 'down')
    expect(await mark('7', 'waits', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', oldMark: null })
    await stores.plain.records.applyMarks(
      [{ key: { viewer: '1', business: 1, oid: 'a' }, record: { mark: 'LIKE', markedAt: 5, version: 5 } }],
      [],
    )
    let next = 200
    await until('the quota is known', async () => (await mark(String(next++), 'b', 'LIKE')).code === 'QUOTA_EXCEEDED')
    // The hot store has this one, whatever the record store says.
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
