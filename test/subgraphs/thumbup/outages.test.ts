import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const READ = `query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likeCount viewerMark likers { edges { node { id } } } } }`
const LIKES = '{ thumbupUser { likes(business: "video") { edges { node { id } } } likesReceived(business: "video") } }'

describe('outages of stores', () => {
  let stores: MarkedStores
  let served: ServedThumbup
  let job: ThumbupJob
  beforeEach(async () => {
    stores = openMarkedStores({ records: 'lmdb' })
    served = serveThumbup(stores)
    job = await served.subgraph.startJob()
  })
  afterEach(async () => {
    for (const name of ['hot', 'cache', 'log', 'records', 'events'] as const) stores.set(name, 'up')
    await served.stop()
    await job.stop()
    await stores.close()
  })

  async function mark(viewer: string, id: string, mark: string, more: Record<string, unknown> = {}) {
    const answer = await served.ask(
      `mutation ($id: ID!, $mark: Mark!, $markedAt: Timestamp) { setMark(input: { business: "video", id: $id, mark: $mark, markedAt: $markedAt }) {
        outcome oldMark mark changed state subject { viewerMark likeCount } } }`,
      viewerOf(viewer),
      { id, mark, ...more },
    )
    expect(answer.errors).toEqual([])
    return { ...answer.data.setMark, degraded: answer.degraded }
  }
  async function read(viewer: string, ...ids: string[]) {
    const { data, errors, degraded } = await served.ask(READ, viewerOf(viewer), { ids })
    expect(errors).toEqual([])
    return { subjects: data.subjects, degraded }
  }
  const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
  const likers = (...ids: string[]) => ({ edges: ids.map((id) => ({ node: { id } })) })

  test('the record store: a recount names the subjects it could not count, and counts them after the outage', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    const recount = async () => {
      const query =
        '{ reconcile(business: "video", ids: ["a", "b"]) { checked unchecked drift { subject { id } } ownerDrift { owner { id } } } }'
      const { data, errors, degraded } = await served.ask(query, viewerOf('op', 'operator'))
      expect(errors).toEqual([])
      return { ...data.reconcile, degraded }
    }
    stores.set('records', 'down')
    expect(await recount()).toEqual({ checked: 0, unchecked: ['a', 'b'], drift: [], ownerDrift: [], degraded: ['recordStore'] })
    stores.set('records', 'up')
    await until('it is counted', async () => (await recount()).checked === 2)
    expect(await recount()).toEqual({ checked: 2, unchecked: [], drift: [], ownerDrift: [], degraded: [] })
  })

  test('the record store: a viewer whose marks are hot gets a complete answer beside one who needs the record store', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    stores.set('records', 'down')
    const query = '{ subjects(business: "video", ids: ["a", "b"]) { viewerMark } }'
    const answers = await Promise.all(['7', '9'].map((viewer) => served.ask(query, viewerOf(viewer))))
    expect(answers.map(({ data, errors, degraded }) => ({ subjects: data.subjects, errors, degraded }))).toEqual([
      { subjects: [{ viewerMark: 'LIKE' }, { viewerMark: 'NONE' }], errors: [], degraded: [] },
      { subjects: [{ viewerMark: null }, { viewerMark: null }], errors: [], degraded: ['recordStore'] },
    ])
  })

  test('the hot tier: reads come from the record store, marks wait in the journal and are applied when it is back', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    stores.set('redis', 'down')
    expect(await read('7', 'a', 'b')).toEqual({
      subjects: [
        { likeCount: 1, viewerMark: 'LIKE', likers: likers('7') },
        { likeCount: 0, viewerMark: 'NONE', likers: likers() },
      ],
      degraded: ['hotStore'],
    })
    expect(await mark('8', 'a', 'LIKE')).toMatchObject({
      outcome: 'ACCEPTED',
      oldMark: null,
      mark: 'LIKE',
      changed: null,
      state: 'PENDING',
      subject: { viewerMark: 'LIKE' },
      degraded: ['hotStore'],
    })
    expect(await mark('7', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', mark: 'NONE', subject: { viewerMark: 'NONE' } })
    const { data, errors } = await served.ask(LIKES, viewerOf('7'))
    expect([data.thumbupUser, errors]).toEqual([{ likes: { edges: [{ node: { id: 'a' } }] }, likesReceived: 0 }, []])
    stores.set('redis', 'up')
    await until('the journal is applied', () => served.subgraph.figures().journal.replayed === 2)
    await settled()
    await until(
      'it is seen',
      async () =>
        JSON.stringify((await read('8', 'a')).subjects) === JSON.stringify([{ likeCount: 1, viewerMark: 'LIKE', likers: likers('8') }]),
    )
    expect(await stores.plain.records.recount([{ business: 1, oid: 'a' }])).toEqual([])
  })

  test('the hot tier, back again: a viewer with unapplied marks is told so, and other viewers are not', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    stores.set('redis', 'down')
    expect(await mark('7', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', degraded: ['hotStore'] })
    const applying = Promise.withResolvers<void>()
    stores.before('hot.putMarks', () => applying.promise)
    stores.set('redis', 'up')
    await until('it is known to be back', () => !served.subgraph.figures().outages.hotStore.isDown)
    const reads = async () => {
      // Sent together, because the lookups of several requests leave as one.
      const [his, others, list] = await Promise.all([read('7', 'a'), read('9', 'a'), served.ask(LIKES, viewerOf('7'))])
      return [his.degraded, others.degraded, list.degraded]
    }
    const before = await reads().finally(applying.resolve)
    expect(before).toEqual([['hotStore'], [], ['hotStore']])
    await until('nothing is lacking', async () => {
      const { subjects, degraded } = await read('7', 'a')
      if (degraded.length === 0) expect(subjects[0].viewerMark).toBe('NONE')
      return degraded.length === 0
    })
    expect(await reads()).toEqual([[], [], []])
  })

  test('the hot tier: a viewer who gives, changes or removes a mark sees the effect on the counts in the answer', async () => {
    for (const id of ['a', 'b', 'c']) await mark('7', id, 'LIKE')
    await mark('8', 'a', 'LIKE')
    await settled()
    stores.set('redis', 'down')
    const counts = async (id: string, kind: string) => {
      const query = `mutation ($id: ID!, $mark: Mark!) {
        setMark(input: { business: "video", id: $id, mark: $mark }) { outcome mark state subject { viewerMark likeCount dislikeCount } }
      }`
      const { data, degraded } = await served.ask(query, viewerOf('7'), { id, mark: kind })
      const { outcome, mark, state, subject } = data.setMark
      expect([outcome, mark, state, subject.viewerMark, degraded]).toEqual(['ACCEPTED', kind, 'PENDING', kind, ['hotStore']])
      return [subject.likeCount, subject.dislikeCount]
    }
    expect(await counts('a', 'NONE')).toEqual([1, 0])
    expect(await counts('b', 'DISLIKE')).toEqual([0, 1])
    expect(await counts('c', 'LIKE')).toEqual([1, 0])
    expect(await counts('d', 'LIKE')).toEqual([1, 0])
    expect(await counts('d', 'NONE')).toEqual([0, 0])
    stores.set('redis', 'up')
    await until('the journal is applied', () => served.subgraph.figures().journal.replayed === 5)
    await settled()
    const shown = async () => (await served.ask(READ, viewerOf('9'), { ids: ['a', 'b', 'c', 'd'] })).data.subjects
    await until('the counts show all marks', async () => (await shown()).map((each: any) => each.likeCount).join() === '1,0,1,0')
  })

  test('a full hot store: reads continue, marks wait in the journal in their order, and are applied once there is room', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    for (const call of ['hot.putMarks', 'hot.fillMarks', 'hot.check']) stores.refuse(call, 'STORE_FULL')
    expect(await mark('7', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', mark: 'NONE', state: 'PENDING', degraded: ['hotStore'] })
    expect(await mark('8', 'a', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', state: 'PENDING', degraded: ['hotStore'] })
    // The store lacks the waiting marks, and their viewers are told so.
    expect(await read('7', 'a')).toEqual({
      subjects: [{ likeCount: 1, viewerMark: 'LIKE', likers: likers('7') }],
      degraded: ['hotStore'],
    })
    // The store has no marks of this viewer, and takes none.
    expect((await read('9', 'a')).subjects).toEqual([{ likeCount: 1, viewerMark: 'NONE', likers: likers('7') }])
    const { data, errors, degraded } = await served.ask(LIKES, viewerOf('9'))
    expect([data.thumbupUser, errors, degraded]).toEqual([{ likes: { edges: [] }, likesReceived: 0 }, [], ['hotStore']])
    const { degraded: anonymous } = await served.ask('{ subjects(business: "video", ids: ["a"]) { likeCount } }')
    expect(anonymous).toEqual([])
    stores.calls.length = 0
    expect(await mark('7', 'b', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', state: 'PENDING' })
    // While the store says that it is full, no mark is sent there.
    expect(stores.count('hot.putMarks')).toBe(0)
    expect(served.subgraph.figures().journal.replayed).toBe(0)
    for (const call of ['hot.putMarks', 'hot.fillMarks', 'hot.check']) stores.refuse(call, undefined)
    await until('the journal is applied', () => served.subgraph.figures().journal.replayed === 3)
    await settled()
    const shown = async () => {
      const { subjects, degraded } = await read('7', 'a', 'b')
      return JSON.stringify([...subjects.map((each: any) => [each.likeCount, each.viewerMark]), degraded])
    }
    await until('it is seen', async () => (await shown()) === '[[1,"NONE"],[1,"LIKE"],[]]')
    expect(await stores.plain.records.recount([{ business: 1, oid: 'a' }])).toEqual([])
  })

  test('the hot tier, many readers: the record store gets no more reads at once than its limit, and no answer is an error', async () => {
    const limited = openMarkedStores({ records: 'lmdb', readsAtOnceMax: 2 })
    const process = serveThumbup(limited)
    try {
      const ask = (viewer: string, id: string) => process.ask(READ, viewerOf(viewer), { ids: [id] })
      await ask('1', 's0')
      limited.set('redis', 'down')
      let [underWay, most] = [0, 0]
      const hold = async () => {
        most = Math.max(most, ++underWay)
        await sleep(20)
        underWay--
      }
      for (const call of ['getMarkMany', 'getCountsMany', 'listLikers', 'listMarks']) limited.before(`records.${call}`, hold)
      const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => ask(`v${at}`, `s${at % 4}`)))
      for (const { errors, degraded } of answers) expect([errors, degraded.includes('hotStore')]).toEqual([[], true])
      expect(most).toBe(2)
      expect(process.subgraph.figures().recordReads).toMatchObject({ underWay: 0, waiting: 0 })
    } finally {
      await process.stop()
      await limited.close()
    }
  })

  test('the hot tier: repeated reads of one subject are answered by the process itself', async () => {
    stores.set('redis', 'down')
    const ask = () => served.ask('{ subjects(business: "video", ids: ["a"]) { likeCount } }')
    await ask()
    stores.calls.length = 0
    const began = Date.now()
    for (let at = 0; at < 100; at++) expect((await ask()).data.subjects).toEqual([{ likeCount: 0 }])
    expect(stores.count('records.getCountsMany')).toBeLessThanOrEqual(2 + (Date.now() - began) / 50)
  })

  test('hot tier and record store: counts are the last known ones, unknown values are null, and no answer is an error', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    await until('it is seen', async () => (await read('8', 'a')).subjects[0].likeCount === 1)
    // Persisted by this process, and not read since.
    await mark('7', 'z', 'LIKE')
    await settled()
    await until('the outbox is empty', async () => (await stores.plain.records.listOutbox(10)).length === 0)
    stores.set('redis', 'down')
    stores.set('records', 'down')
    await read('8', 'x')
    await sleep(100)
    expect((await read('8', 'z')).subjects[0].likeCount).toBe(1)
    expect(await read('8', 'a', 'unknown')).toEqual({
      subjects: [
        { likeCount: 1, viewerMark: null, likers: likers('7') },
        { likeCount: null, viewerMark: null, likers: null },
      ],
      degraded: ['hotStore', 'recordStore'],
    })
    const { data, errors } = await served.ask(LIKES, viewerOf('7'))
    expect([data.thumbupUser, errors]).toEqual([{ likes: null, likesReceived: null }, []])
    expect(await mark('8', 'a', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', state: 'PENDING' })
  })

  test('the record store: marks of unknown viewers are accepted blindly, and are exact in the end', async () => {
    await mark('7', 'a', 'LIKE', { markedAt: Date.now() - 10_000 })
    await settled()
    await stores.plain.hot.forgetBusiness(1, 1_000)
    stores.set('records', 'down')
    await read('7', 'a')
    // The viewer liked the subject before, which cannot be known now.
    const answer = await mark('7', 'a', 'DISLIKE')
    expect(answer).toMatchObject({ outcome: 'ACCEPTED', oldMark: null, mark: 'DISLIKE', changed: null, state: 'PENDING' })
    expect(answer.degraded).toContain('recordStore')
    expect((await read('7', 'a')).subjects[0].viewerMark).toBe('DISLIKE')
    stores.set('records', 'up')
    await settled()
    expect(await stores.plain.records.getCountsMany([{ business: 1, oid: 'a' }])).toMatchObject([{ likes: 0, dislikes: 1 }])
    await until('it is seen', async () => (await read('7', 'a')).subjects[0].likeCount === 0)
  })

  test('the record store: known viewers lose nothing, counts come from the cache, unknown marks are null', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    await until('it is seen', async () => (await read('7', 'a')).subjects[0].likeCount === 1)
    stores.set('records', 'down')
    expect((await read('7', 'a')).subjects[0]).toMatchObject({ likeCount: 1, viewerMark: 'LIKE' })
    expect((await read('stranger', 'a', 'never')).subjects).toEqual([
      { likeCount: 1, viewerMark: null, likers: likers('7') },
      { likeCount: null, viewerMark: null, likers: null },
    ])
    expect(await mark('7', 'b', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', oldMark: 'NONE', changed: true })
  })

  test('the log: flushes are persisted directly, and answers name the log', async () => {
    stores.set('log', 'down')
    await mark('7', 'x', 'LIKE')
    await settled()
    await until('the log is known to be down', async () => (await mark('7', 'a', 'LIKE')).degraded.includes('log'))
    await settled()
    expect(served.subgraph.figures().flushes.direct).toBeGreaterThan(0)
    await until('it is seen', async () => (await read('8', 'a')).subjects[0].likeCount === 1)
  })

  test('the events: nothing waits for them, and every event arrives when they are back', async () => {
    stores.set('events', 'down')
    await mark('7', 'a', 'LIKE')
    await settled()
    await mark('7', 'a', 'NONE')
    await settled()
    expect(await stores.plain.records.listOutbox(10)).toHaveLength(2)
    const seen: number[] = []
    const consumer = await stores.plain.events.consumeCounts(
      'test',
      async (events) => void seen.push(...events.map(({ counts }) => counts.version)),
    )
    stores.set('events', 'up')
    await until('the outbox is empty', async () => (await stores.plain.records.listOutbox(10)).length === 0)
    await until('the events came', () => seen.length === 2)
    await consumer.stop()
    expect(job.figures().published).toBeGreaterThan(0)
  })

  test('a failed refresh of the caches is made up for, and no older value comes back', async () => {
    await mark('7', 'a', 'LIKE')
    await settled()
    stores.refuse('cache.putCounts', 'HOT_STORE_UNAVAILABLE')
    await mark('8', 'a', 'LIKE')
    await settled()
    stores.refuse('cache.putCounts', undefined)
    await until('the cache has followed', async () => (await stores.plain.cache.getCountsMany([{ business: 1, oid: 'a' }]))[0]?.likes === 2)
    const old = { business: 1, oid: 'a', counts: { likes: 1, dislikes: 0, version: 1 } }
    await served.subgraph.refreshOf(1).apply([old])
    expect(await stores.plain.cache.getCountsMany([{ business: 1, oid: 'a' }])).toMatchObject([{ likes: 2 }])
  })

  test('a step that fails at any of its calls is repeated, and counts nothing twice', async () => {
    for (const call of [
      'cache.putCounts',
      'hot.clearDirtyMarks',
      'events.appendEvents',
      'records.dropOutbox',
      'hot.readDirtyMarks',
      'records.applyMarks',
    ]) {
      const before = (await stores.plain.records.getCountsMany([{ business: 1, oid: 'a' }]))[0]?.likes ?? 0
      stores.refuse(call, 'RECORD_STORE_UNAVAILABLE')
      await mark(`v-${call}`, 'a', 'LIKE')
      await until('it was tried', () => stores.count(call) > 1)
      stores.refuse(call, undefined)
      await settled()
      await until('it is told', async () => (await stores.plain.records.listOutbox(10)).length === 0)
      expect(await stores.plain.records.getCountsMany([{ business: 1, oid: 'a' }])).toMatchObject([{ likes: before + 1 }])
    }
    expect(await stores.plain.records.recount([{ business: 1, oid: 'a' }])).toEqual([])
    await until('the cache has followed', async () => (await stores.plain.cache.getCountsMany([{ business: 1, oid: 'a' }]))[0]?.likes === 6)
  })

  test('marks in the aggregator of a dead process are swept, and none is lost', async () => {
    const now = Date.now()
    await stores.plain.hot.putMarks([{ viewer: '7', business: 1, oid: 'a', mark: 'LIKE', markedAt: now, base: null, blind: true }], {
      now,
      cap: 10,
    })
    await settled()
    await until('the sweep has ended', () => job.figures().swept === 1)
    expect(await stores.plain.records.getCountsMany([{ business: 1, oid: 'a' }])).toMatchObject([{ likes: 1 }])
  })
})
