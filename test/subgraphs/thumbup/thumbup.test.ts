import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { markStream } from '../../../subgraphs/thumbup/model/streams.ts'
import { systemClock } from '../../../core/clock.ts'
import { until } from '../../../harness/until.ts'

const MARK = `mutation ($input: SetMarkInput!) { setMark(input: $input) {
  outcome userErrors { code message path } oldMark mark changed state subject { id likeCount dislikeCount viewerMark }
} }`
const BATCH = `mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) {
  results { outcome userErrors { code path } } userErrors { code message path }
} }`
const REGISTER = `mutation ($subjects: [RegisterSubjectInput!]!) { registerSubjects(input: { business: "video", subjects: $subjects }) {
  results { registered subject { __typename id } userErrors { code path } } userErrors { code message path }
} }`
const READ = `query ($ids: [ID!]!, $business: String = "video") { subjects(business: $business, ids: $ids) { id likeCount dislikeCount viewerMark } }`

describe('thumbup', () => {
  const said = (message: RegExp) => expect.stringMatching(message) as string
  let stores: MarkedStores
  let served: ServedThumbup
  let job: ThumbupJob | undefined
  beforeEach(() => {
    stores = openMarkedStores()
    served = serveThumbup(stores)
  })
  afterEach(async () => {
    await served.stop()
    await job?.stop()
    job = undefined
    await stores.close()
  })

  const mark = async (viewer: string, id: string, mark: string, more: Record<string, unknown> = {}) =>
    (await served.ask(MARK, viewerOf(viewer), { input: { business: 'video', id, mark, ...more } })).data.setMark
  const read = async (viewer: string, ...ids: string[]) => (await served.ask(READ, viewerOf(viewer), { ids })).data.subjects
  const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)

  test('a viewer sees their own like and its effect on the count at once, and others within the window', async () => {
    expect(await mark('7', 'a', 'LIKE')).toEqual({
      ...{ outcome: 'ACCEPTED', userErrors: [], oldMark: 'NONE', mark: 'LIKE', changed: true, state: 'PENDING' },
      subject: { id: 'a', likeCount: 1, dislikeCount: 0, viewerMark: 'LIKE' },
    })
    expect(await read('7', 'a')).toEqual([{ id: 'a', likeCount: 1, dislikeCount: 0, viewerMark: 'LIKE' }])
    expect(await read('8', 'a')).toEqual([{ id: 'a', likeCount: 0, dislikeCount: 0, viewerMark: 'NONE' }])
    job = await served.subgraph.startJob()
    await settled()
    await until('others see it', async () => (await read('8', 'a'))[0].likeCount === 1)
    expect(await read('8', 'a')).toEqual([{ id: 'a', likeCount: 1, dislikeCount: 0, viewerMark: 'NONE' }])
    expect(await read('7', 'a')).toEqual([{ id: 'a', likeCount: 1, dislikeCount: 0, viewerMark: 'LIKE' }])
  })

  test('repeated marks and undos without a mark change nothing, and a change affects both counts', async () => {
    expect(await mark('7', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', changed: false, oldMark: 'NONE', subject: { likeCount: 0 } })
    await mark('7', 'a', 'LIKE')
    expect(await mark('7', 'a', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', changed: false, oldMark: 'LIKE', subject: { likeCount: 1 } })
    expect(await mark('7', 'a', 'DISLIKE')).toMatchObject({ changed: true, oldMark: 'LIKE', subject: { likeCount: 0, dislikeCount: 1 } })
    expect(await mark('7', 'a', 'NONE')).toMatchObject({ changed: true, oldMark: 'DISLIKE', subject: { likeCount: 0, dislikeCount: 0 } })
  })

  test('a mark with a time ahead of the clock counts as now and can be undone at once', async () => {
    for (const ahead of [290_000, 1e12]) {
      expect(await mark('7', 'a', 'LIKE', { markedAt: Date.now() + ahead })).toMatchObject({
        ...{ outcome: 'ACCEPTED', subject: { likeCount: 1 } },
      })
      expect(await mark('7', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', changed: true, subject: { likeCount: 0 } })
    }
    const now = Date.now()
    await mark('7', 'a', 'LIKE', { markedAt: now - 5_000 })
    expect(await read('7', 'a')).toMatchObject([{ viewerMark: 'NONE' }])
  })

  test('a like through a faster clock can be undone through a slower clock, and given again', async () => {
    const clock = { ...systemClock, now: () => Date.now() + 3_000 }
    const ahead = serveThumbup(stores, undefined, { clock, journal: false })
    const through = async (by: ServedThumbup, kind: string) =>
      (await by.ask(MARK, viewerOf('7'), { input: { business: 'video', id: 'a', mark: kind } })).data.setMark
    for (let round = 0; round < 3; round++) {
      expect(await through(ahead, 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', mark: 'LIKE', subject: { likeCount: 1 } })
      expect(await through(served, 'NONE')).toMatchObject({
        ...{ outcome: 'ACCEPTED', oldMark: 'LIKE', mark: 'NONE', subject: { likeCount: 0 } },
      })
      expect(await read('7', 'a')).toMatchObject([{ viewerMark: 'NONE' }])
    }
    await ahead.stop()
  })

  test('an older mark that arrives late is STALE and returns the stored mark', async () => {
    const now = Date.now()
    await mark('7', 'a', 'LIKE', { markedAt: now })
    expect(await mark('7', 'a', 'DISLIKE', { markedAt: now - 1_000 })).toMatchObject({
      ...{ outcome: 'STALE', mark: 'LIKE', changed: false, state: 'PENDING', subject: { likeCount: 1, viewerMark: 'LIKE' } },
    })
  })

  test('once persisted a mark is SETTLED', async () => {
    job = await served.subgraph.startJob()
    const now = Date.now()
    await mark('7', 'a', 'LIKE', { markedAt: now })
    await settled()
    expect(await mark('7', 'a', 'LIKE', { markedAt: now })).toMatchObject({ outcome: 'STALE', state: 'SETTLED', subject: { likeCount: 1 } })
    await job.stop()
    // The job has stopped, but these calls return only states that all viewers see.
    expect(await mark('7', 'a', 'LIKE', { markedAt: now + 1 })).toMatchObject({ outcome: 'ACCEPTED', changed: false, state: 'SETTLED' })
    expect(await mark('8', 'b', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', changed: false, state: 'SETTLED' })
    expect(await mark('8', 'b', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', changed: true, state: 'PENDING' })
    job = await served.subgraph.startJob()
  })

  test('an invalid time is refused with a message', async () => {
    expect(await mark('7', 'a', 'LIKE', { markedAt: 1.5 })).toMatchObject({
      ...{ outcome: 'REJECTED', subject: null, mark: null, oldMark: null, state: null },
      userErrors: [
        { code: 'MARKED_AT_INVALID', message: said(/^markedAt 1.5 is not a time: send milliseconds/), path: ['input', 'markedAt'] },
      ],
    })
    expect(await mark('7', 'a', 'LIKE', { markedAt: 'noon' })).toMatchObject({
      userErrors: [{ message: said(/^the value of markedAt is not a time: send milliseconds/) }],
    })
    expect(await mark('7', 'a', 'LIKE', { markedAt: Math.floor(Date.now() / 1_000) })).toMatchObject({
      outcome: 'REJECTED',
      userErrors: [{ code: 'MARKED_AT_INVALID', message: said(/^markedAt \d+ is in seconds, or before March 1973: send milliseconds/) }],
    })
  })

  test('two businesses with equal ids have separate marks and counts', async () => {
    await mark('7', 'a', 'LIKE')
    expect((await served.ask(READ, viewerOf('7'), { ids: ['a'], business: 'article' })).data.subjects).toEqual([
      { id: 'a', likeCount: 0, dislikeCount: 0, viewerMark: 'NONE' },
    ])
  })

  test('fifty states of a known viewer are one command of the hot store and none of the record store', async () => {
    await read('7', 'a')
    const ids = Array.from({ length: 50 }, (_, at) => `s${at}`)
    await read('7', ...ids)
    stores.calls.length = 0
    const found = await read('7', ...ids)
    expect(found).toHaveLength(50)
    expect(stores.calls.sort()).toEqual(['cache.getCountsMany', 'hot.getMarkMany'])
  })

  test('only the id of a representation counts, and its other fields are ignored', async () => {
    const mark = { mark: 'LIKE', counted: 'LIKE', pending: false }
    const foreseen = { counts: { likes: 12_345, dislikes: 0, version: 1 }, mark }
    const answer = await served.ask(
      'query ($of: [_Any!]!) { _entities(representations: $of) { ... on Video { likeCount viewerMark } } }',
      viewerOf('7'),
      { of: [{ __typename: 'Video', id: 'a', foreseen, likeCount: 5, counts: foreseen.counts, mark }] },
    )
    expect([answer.data._entities, answer.errors]).toEqual([[{ likeCount: 0, viewerMark: 'NONE' }], []])
  })

  test('two marks in one request each have their own effect in the answer, regardless of reads for the first', async () => {
    const set = (mark: string) => `setMark(input: { business: "video", id: "a", mark: ${mark} }) {
      oldMark state subject { viewerMark likeCount dislikeCount } }`
    const { data } = await served.ask(`mutation { one: ${set('LIKE')} two: ${set('DISLIKE')} three: ${set('NONE')} }`, viewerOf('7'))
    expect(data).toEqual({
      one: { oldMark: 'NONE', state: 'PENDING', subject: { viewerMark: 'LIKE', likeCount: 1, dislikeCount: 0 } },
      two: { oldMark: 'LIKE', state: 'PENDING', subject: { viewerMark: 'DISLIKE', likeCount: 0, dislikeCount: 1 } },
      three: { oldMark: 'DISLIKE', state: 'PENDING', subject: { viewerMark: 'NONE', likeCount: 0, dislikeCount: 0 } },
    })
  })

  test('an unknown viewer is filled once for many concurrent reads', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, at) => read('7', `s${at}`)))
    expect(stores.count('records.listMarks')).toBe(1)
  })

  test('misses of a truncated viewer are read from the record store in one batch, and undoing such a mark is exact', async () => {
    job = await served.subgraph.startJob()
    for (let at = 0; at < 15; at++) await mark('7', `s${at}`, 'LIKE', { markedAt: Date.now() - 100_000 + at })
    await settled()
    stores.calls.length = 0
    expect((await read('7', 's0', 's1', 's14', 'x')).map((each: any) => each.viewerMark)).toEqual(['LIKE', 'LIKE', 'LIKE', 'NONE'])
    expect(stores.count('records.getMarkMany')).toBe(1)
    expect(await mark('7', 's0', 'NONE')).toMatchObject({ oldMark: 'LIKE', changed: true })
    await settled()
    expect(stores.rows.counts.size).toBeGreaterThan(0)
    await until('the undo is counted', async () => (await read('8', 's0'))[0].likeCount === 0)
  })

  test('counts of a window are written once per subject, and every count equals its rows', async () => {
    served = await again(served, thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 300, sweepAfterMs: 60_000 } }))
    job = await served.subgraph.startJob()
    const marks = Array.from({ length: 400 }, (_, at) => ({ viewer: `${at}`, business: 'video', id: `s${at % 4}`, mark: 'LIKE' }))
    const { data } = await served.ask(BATCH, viewerOf('1', 'marks:write-any'), { marks })
    expect(data.setMarkBatch.results.every((each: any) => each.outcome === 'ACCEPTED')).toBe(true)
    // An import for many unknown viewers: their rows are read in one batch before the only put, and no viewer is filled.
    expect(['records.listMarks', 'records.getMarkMany', 'hot.beginReads', 'hot.putMarks'].map(stores.count)).toEqual([0, 1, 1, 1])
    await until('the windows have ended', () => job?.figures().marks === 400)
    const { countUpdates, transitions } = job.figures()
    expect(transitions).toBe(400)
    expect(countUpdates).toBeLessThanOrEqual(8)
    expect((await read('nobody', 's0', 's1', 's2', 's3')).map((each: any) => each.likeCount)).toEqual([100, 100, 100, 100])
  })

  test('errors are reported per input, and the other inputs count', async () => {
    const marks = [
      { business: 'video', id: 'a', mark: 'LIKE' },
      { business: 'vidoe', id: 'a', mark: 'LIKE' },
      { business: 'gone', id: 'a', mark: 'LIKE' },
      { business: 'plain', id: 'a', mark: 'LIKE' },
      { business: 'article', id: 'a', mark: 'DISLIKE' },
      { business: 'video', id: '', mark: 'LIKE' },
      { business: 'video', id: 'a', mark: 'LIKE', markedAt: -1 },
      { business: 'video', id: 'a', mark: 'LIKE', source: 'x'.repeat(65) },
      { business: 'video', id: 'a', mark: 'LIKE', viewer: '8' },
    ]
    const { results, userErrors } = (await served.ask(BATCH, viewerOf('7'), { marks })).data.setMarkBatch
    expect(results).toEqual([
      { outcome: 'ACCEPTED', userErrors: [] },
      ...[
        ...[
          ['BUSINESS_UNKNOWN', 'business'] as const,
          ['BUSINESS_DELETED', 'business'] as const,
          ['BUSINESS_UNKNOWN', 'business'] as const,
        ],
        ...[['DISLIKES_OFF', 'mark'] as const, ['ID_INVALID', 'id'] as const, ['MARKED_AT_INVALID', 'markedAt'] as const],
        ...[['SOURCE_INVALID', 'source'] as const, ['FORBIDDEN', 'viewer'] as const],
      ].map(([code, field], at) => ({ outcome: 'REJECTED', userErrors: [{ code, path: ['input', 'marks', String(at + 1), field] }] })),
    ])
    expect(userErrors).toEqual([])
    expect(await read('7', 'a')).toMatchObject([{ viewerMark: 'LIKE' }])
    const [invalid] = await served.subgraph.service.mark(viewerOf('7'), [{ business: 'video', id: 'a', mark: 'LOVE' }], new Set())
    expect(invalid).toMatchObject({ outcome: 'REJECTED', code: 'MARK_INVALID' })
  })

  test('calls that are too large or anonymous are refused as a whole', async () => {
    const codes = async (source: string, viewer?: ReturnType<typeof viewerOf>, variables: Record<string, unknown> = {}) =>
      (await served.ask(source, viewer, variables)).errors.map(({ code }) => code)
    const ids = Array.from({ length: 201 }, (_, at) => `${at}`)
    expect(await codes(READ, viewerOf('7'), { ids })).toEqual(['IDS_TOO_MANY'])
    const marks = Array.from({ length: 501 }, () => ({ business: 'video', id: 'a', mark: 'LIKE' }))
    const refused = (field: string) => ({
      results: [],
      userErrors: [{ code: 'INPUTS_TOO_MANY', message: `501 ${field} are too many: send at most 500 per batch`, path: ['input', field] }],
    })
    expect((await served.ask(BATCH, viewerOf('7'), { marks })).data.setMarkBatch).toEqual(refused('marks'))
    expect(await read('7', 'a')).toMatchObject([{ viewerMark: 'NONE' }])
    expect(await codes(BATCH, undefined, { marks: [] })).toEqual(['UNAUTHENTICATED'])
    const reconcile = '{ reconcile(business: "video", ids: ["a"]) { checked } }'
    expect(await codes(reconcile, viewerOf('7'))).toEqual(['FORBIDDEN'])
    const subjects = Array.from({ length: 501 }, () => ({ id: 'a', owner: '9' }))
    expect((await served.ask(REGISTER, viewerOf('svc', 'subjects:register'), { subjects })).data.registerSubjects).toEqual(
      refused('subjects'),
    )
    expect(await codes(REGISTER, viewerOf('7'), { subjects })).toEqual(['FORBIDDEN'])
    expect(await codes(REGISTER, undefined, { subjects: [] })).toEqual(['UNAUTHENTICATED'])
  })

  test('a request for a deleted business and others succeeds with null fields and their reason, and writes are refused', async () => {
    const query = `{
      subjects(business: "gone", ids: ["a"]) { id likeCount dislikeCount viewerMark likers { edges { cursor } } }
      others: subjects(business: "video", ids: ["a"]) { likeCount }
      _entities(representations: [{ __typename: "Gone", id: "a" }, { __typename: "Video", id: "a" }]) {
        ... on Gone { id likeCount viewerMark }
        ... on Video { id likeCount viewerMark }
      }
      thumbupUser { likes(business: "gone") { edges { cursor } } likesReceived(business: "gone") }
    }`
    const { data, errors } = await served.ask(query, viewerOf('7'))
    expect(data).toEqual({
      subjects: [{ id: 'a', likeCount: null, dislikeCount: null, viewerMark: null, likers: null }],
      others: [{ likeCount: 0 }],
      _entities: [
        { id: 'a', likeCount: null, viewerMark: null },
        { id: 'a', likeCount: 0, viewerMark: 'NONE' },
      ],
      thumbupUser: { likes: null, likesReceived: null },
    })
    const told = errors.map(({ code, path }) => `${String(code)} ${(path as unknown[]).join('.')}`)
    const fields = [
      ...['subjects.0.likeCount', 'subjects.0.dislikeCount', 'subjects.0.viewerMark', 'subjects.0.likers'],
      ...['_entities.0.likeCount', '_entities.0.viewerMark', 'thumbupUser.likes', 'thumbupUser.likesReceived'],
    ]
    expect(told.toSorted()).toEqual(fields.map((field) => `BUSINESS_DELETED ${field}`).toSorted())
    expect(await mark('7', 'a', 'LIKE', { business: 'gone' })).toMatchObject({
      ...{ outcome: 'REJECTED', subject: null, userErrors: [{ code: 'BUSINESS_DELETED', path: ['input', 'business'] }] },
    })
  })

  test('an anonymous caller gets counts, and no fields of a viewer', async () => {
    const answer = await served.ask(READ, undefined, { ids: ['a'] })
    expect(answer.data.subjects).toEqual([{ id: 'a', likeCount: 0, dislikeCount: 0, viewerMark: null }])
    expect(answer.errors).toMatchObject([{ code: 'UNAUTHENTICATED', path: ['subjects', 0, 'viewerMark'] }])
  })

  test('likes received add up for an owner, after late registration and a change of owner too', async () => {
    job = await served.subgraph.startJob()
    for (const viewer of ['1', '2', '3']) await mark(viewer, 'a', 'LIKE')
    await settled()
    const register = (owner: string) =>
      served.ask(REGISTER, viewerOf('svc', 'subjects:register'), { subjects: ['a', 'b', 'a'].map((id) => ({ id, owner })) })
    expect((await register('own')).data.registerSubjects).toEqual({
      results: [
        { registered: true, subject: { __typename: 'Video', id: 'a' }, userErrors: [] },
        { registered: true, subject: { __typename: 'Video', id: 'b' }, userErrors: [] },
        {
          ...{ registered: false, subject: null },
          userErrors: [{ code: 'REGISTERED_TWICE', path: ['input', 'subjects', '2', 'id'] }],
        },
      ],
      userErrors: [],
    })
    const received = async (id: string) =>
      (await served.ask('query ($id: ID) { thumbupUser(id: $id) { likesReceived(business: "video") } }', viewerOf('7'), { id })).data
        .thumbupUser.likesReceived
    expect([await received('own'), await received('other')]).toEqual([3, 0])
    await mark('4', 'b', 'LIKE')
    await settled()
    expect(await received('own')).toBe(4)
    await register('other')
    expect([await received('own'), await received('other')]).toEqual([0, 4])
  })

  test('reconciling finds a planted drift and no other', async () => {
    job = await served.subgraph.startJob()
    await mark('1', 'a', 'LIKE')
    await settled()
    const ask = () =>
      served.ask(
        '{ reconcile(business: "video", ids: ["a", "b"]) { checked drift { subject { __typename id } likeCount likeRows } } }',
        viewerOf('op', 'operator'),
      )
    expect((await ask()).data.reconcile).toEqual({ checked: 2, drift: [] })
    for (const { counts } of stores.rows.counts.values()) counts.likes = 5
    expect((await ask()).data.reconcile.drift).toEqual([{ subject: { __typename: 'Video', id: 'a' }, likeCount: 5, likeRows: 1 }])
  })

  test('marks are counted by their source for operators, up to a limited number of sources', async () => {
    for (let at = 0; at < 60; at++) await mark('7', `v${at}`, 'LIKE', { source: `s${at}` })
    const { sources } = served.subgraph.figures().marks
    expect([sources['s0'], sources['other'], Object.keys(sources).length]).toEqual([1, 10, 51])
  })

  test('changed counts are sent to subscribers once per window', async () => {
    job = await served.subgraph.startJob()
    const { subscribe, parse } = await import('graphql')
    const stream = (await subscribe({
      schema: served.subgraph.schema,
      document: parse(
        'subscription { countsChanged(business: "video", ids: ["a", "b"]) { subjects { __typename id business likeCount } } }',
      ),
      contextValue: { viewer: undefined, degraded: new Set(), loaders: served.subgraph.makeLoaders(new Set(), true) },
    })) as AsyncIterableIterator<any>
    const first = stream.next()
    await Promise.all([mark('1', 'a', 'LIKE'), mark('2', 'b', 'LIKE'), mark('3', 'c', 'LIKE')])
    const { countsChanged } = (await first).value.data
    expect(countsChanged.subjects[0]).toMatchObject({ __typename: 'Video', business: 'video' })
    const seen = new Map<string, number>(countsChanged.subjects.map((each: any) => [each.id, each.likeCount]))
    while (seen.size < 2) for (const each of (await stream.next()).value.data.countsChanged.subjects) seen.set(each.id, each.likeCount)
    expect([...seen].toSorted(([one], [other]) => one.localeCompare(other))).toEqual([
      ['a', 1],
      ['b', 1],
    ])
    await stream.return?.()
  })

  test('data of a deleted tenant is removed, dirty marks too, and nothing comes back', async () => {
    const key = { viewer: '7', business: 3, oid: 'x' }
    await stores.plain.hot.putMarks([{ ...key, mark: 'LIKE', markedAt: Date.now(), base: null, blind: true }], { now: Date.now(), cap: 10 })
    await stores.plain.records.applyMarks([{ key, record: { mark: 'LIKE', markedAt: 5, version: 5 } }], [])
    await stores.plain.log.appendFlushes([{ region: 3, keys: [key] }])
    served = await again(served, thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 60_000, purgeEveryMs: 30 } }))
    job = await served.subgraph.startJob()
    await until('it is gone', async () => (await stores.plain.records.getMarkMany([key]))[0] === undefined)
    await settled()
    await sleep(60)
    expect(await stores.plain.records.exportMarks(3, undefined, 10)).toEqual([])
  })

  test('data of a deleted tenant is not swept, and no other step scans for it', async () => {
    const now = Date.now() - 10_000
    const keys = [3, 1].map((business) => ({ viewer: '7', business, oid: 'x' }))
    const writes = keys.map((key) => ({ ...key, mark: 'LIKE' as const, markedAt: now, base: null, blind: true as const }))
    await stores.plain.hot.putMarks(writes, { now, cap: 10 })
    await stores.plain.log.appendFlushes([{ region: 3, keys }])
    served = await again(served, thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 60, sweepEveryMs: 20 } }))
    job = await served.subgraph.startJob()
    await until('the others are persisted', async () => (await stores.plain.records.getMarkMany(keys))[1] !== undefined)
    // The sweeper or the flush persists them, and the other comes right after.
    const offsets = () => stores.plain.records.getOffsets(markStream('tidemark', undefined))
    await until('the flush was taken', async () => (await offsets()).length > 0)
    await until('they are clean', async () => (await stores.plain.hot.countDirtyMarks()) === 1)
    await sleep(150)
    const { steps } = job.figures()
    await sleep(150)
    expect(await stores.plain.hot.listDirtyMarks([0, 1, 2, 3], Date.now(), 10)).toEqual([keys[0]])
    expect([job.figures().steps - steps, stores.count('hot.forgetBusiness'), served.errors]).toEqual([0, 0, []])
    expect((await stores.plain.records.getMarkMany(keys))[0]).toBeUndefined()
  })

  async function again(before: ServedThumbup, config: ReturnType<typeof thumbupConfig>): Promise<ServedThumbup> {
    await before.stop()
    return serveThumbup(stores, config)
  }
})
