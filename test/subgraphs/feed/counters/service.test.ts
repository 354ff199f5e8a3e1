import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { persistCounts } from '../../../../subgraphs/feed/counters/persist.ts'
import { flushedCountsOf } from '../../../../subgraphs/feed/model/counts.ts'
import { SCHEMAS, ZERO, eventOf, freshSubject } from '../../../contracts/feed/counter-samples.ts'
import { openCounters, type OpenCounters } from './counter-stores.ts'

let open: OpenCounters
beforeEach(() => {
  open = openCounters()
})
afterEach(async () => {
  expect(open.errors).toEqual([])
  await open.close()
})

const read = async (...subjects: ReturnType<typeof freshSubject>[]) => {
  const degraded: Degraded = new Set()
  return { counts: await open.service.getMany(subjects, degraded), degraded: [...degraded] }
}
const persist = (...subjects: ReturnType<typeof freshSubject>[]) => persistCounts(open.stores, SCHEMAS, subjects)

describe('counting', () => {
  it('the first event of a subject adds to its persisted totals, and its key is aggregated', async () => {
    const post = freshSubject()
    await open.stores.records.putTotals([{ subject: post, counts: { read: 40 }, version: 5 }])
    expect(await open.service.adjust([eventOf(post, 2), eventOf(post, 1, 'like')])).toEqual(['counted', 'counted'])
    expect(await read(post)).toEqual({ counts: [{ ...ZERO, read: 42, like: 1 }], degraded: [] })
    expect(open.aggregated).toEqual([flushedCountsOf(post), flushedCountsOf(post)])
  })

  it('a repeated event aggregates its key again, and an invalid one does not', async () => {
    const post = freshSubject()
    const event = eventOf(post, 1)
    await open.service.adjust([event])
    open.aggregated.length = 0
    expect(await open.service.adjust([event, eventOf(post, -5)])).toEqual(['repeated', 'invalid'])
    expect(open.aggregated).toEqual([flushedCountsOf(post)])
  })

  it('while the hot store is down every event is refused with its code, and counts when it is sent again', async () => {
    const [one, other] = [freshSubject(), freshSubject()]
    const events = [eventOf(one, 1), eventOf(other, 1)]
    open.down.hot = true
    const refusal = { code: 'HOT_STORE_UNAVAILABLE' }
    expect(await open.service.adjust(events)).toMatchObject([refusal, refusal])
    open.down.hot = false
    expect(await open.service.adjust(events)).toEqual(['counted', 'counted'])
  })

  it('while the record store is down known subjects count, and events of unknown ones are refused', async () => {
    const [known, unknown] = [freshSubject(), freshSubject()]
    await open.service.adjust([eventOf(known, 1)])
    open.down.records = true
    const events = [eventOf(unknown, 1), eventOf(known, 1)]
    expect(await open.service.adjust(events)).toMatchObject([{ code: 'RECORD_STORE_UNAVAILABLE' }, 'counted'])
    open.down.records = false
    expect(await open.service.adjust(events)).toEqual(['counted', 'repeated'])
    expect((await read(known, unknown)).counts).toEqual([
      { ...ZERO, read: 2 },
      { ...ZERO, read: 1 },
    ])
  })

  it('an outage of a part of the hot store refuses the events of that part alone', async () => {
    const [one, other] = [freshSubject(), freshSubject()]
    open.down.part = one.oid
    expect(await open.service.adjust([eventOf(one, 1), eventOf(other, 1)])).toMatchObject([{ code: 'HOT_STORE_UNAVAILABLE' }, 'counted'])
  })
})

describe('reading', () => {
  it('a subject with persisted counts is looked up once, and then known to the hot store', async () => {
    const post = freshSubject()
    await open.stores.records.putTotals([{ subject: post, counts: { read: 9 }, version: 5 }])
    expect((await read(post)).counts).toEqual([{ ...ZERO, read: 9 }])
    await open.service.settled()
    open.calls.length = 0
    expect((await read(post)).counts).toEqual([{ ...ZERO, read: 9 }])
    expect(open.calls).toEqual(['getMany'])
  })

  it('a subject without counts is looked up once in a minute, and reads of any ids add nothing to the hot store', async () => {
    const post = freshSubject()
    expect(await read(post)).toEqual({ counts: [ZERO], degraded: [] })
    await open.service.settled()
    open.calls.length = 0
    expect(await read(post)).toEqual({ counts: [ZERO], degraded: [] })
    expect(open.calls).toEqual(['getMany'])
    expect(await open.stores.hot.getMany([post])).toEqual([undefined])
    open.clock.advance(60_001)
    open.calls.length = 0
    await read(post)
    expect(open.calls).toEqual(['getMany', 'getTotalsMany'])
  })

  it('the first event of a subject is read at once, by a process that remembers its zeros', async () => {
    const post = freshSubject()
    await read(post)
    await open.service.adjust([eventOf(post, 2)])
    expect((await read(post)).counts).toEqual([{ ...ZERO, read: 2 }])
  })

  it('stores in one process fill nothing after a read', async () => {
    await open.close()
    open = openCounters({ fillsReads: false })
    const post = freshSubject()
    await read(post)
    expect(await open.stores.hot.getMany([post])).toEqual([undefined])
  })

  it('while the hot store is down totals come from the record store, and the answer names it', async () => {
    const [persisted, never] = [freshSubject(), freshSubject()]
    await open.service.adjust([eventOf(persisted, 3)])
    await persist(persisted)
    await open.service.adjust([eventOf(persisted, 1)])
    open.down.hot = true
    expect(await read(persisted, never)).toEqual({ counts: [{ ...ZERO, read: 3 }, ZERO], degraded: ['hotStore'] })
    open.down.records = true
    expect(await read(persisted)).toEqual({ counts: [null], degraded: ['hotStore', 'recordStore'] })
    open.down.hot = false
    expect(await read(persisted)).toEqual({ counts: [{ ...ZERO, read: 4 }], degraded: [] })
  })

  it('totals that could not be read are null, and are not filled', async () => {
    const post = freshSubject()
    await open.stores.records.putTotals([{ subject: post, counts: { read: 9 }, version: 5 }])
    open.down.records = true
    expect(await read(post)).toEqual({ counts: [null], degraded: ['recordStore'] })
    await open.service.settled()
    open.down.records = false
    expect(await read(post)).toEqual({ counts: [{ ...ZERO, read: 9 }], degraded: [] })
  })

  it('a part of the hot store that is down degrades, and the other part answers with live totals', async () => {
    const [one, other] = [freshSubject(), freshSubject()]
    await open.service.adjust([eventOf(one, 1), eventOf(other, 2)])
    open.down.part = one.oid
    expect(await read(one, other)).toEqual({ counts: [ZERO, { ...ZERO, read: 2 }], degraded: ['hotStore'] })
  })
})

describe('persisting', () => {
  it('writes the dirty totals, clears their marks, and does nothing when it is repeated', async () => {
    const [one, clean] = [freshSubject(), freshSubject(true)]
    await open.service.adjust([eventOf(one, 3), eventOf(one, 1, 'like')])
    await read(clean)
    await open.service.settled()
    expect(await persist(one, clean, one)).toEqual({ rows: 1, missing: 0 })
    expect(await open.stores.records.getTotalsMany([one, clean])).toMatchObject([{ counts: { read: 3, like: 1 } }, undefined])
    expect(await open.stores.hot.countDirty()).toBe(0)
    expect(await persist(one)).toEqual({ rows: 0, missing: 0 })
  })

  it('a change between the read and the clearing stays dirty, and the next step has it', async () => {
    const post = freshSubject()
    await open.service.adjust([eventOf(post, 1)])
    const { hot, records } = open.stores
    const late = {
      ...records,
      async putTotals(rows: Parameters<typeof records.putTotals>[0]) {
        await records.putTotals(rows)
        await open.service.adjust([eventOf(post, 1)])
      },
    }
    await persistCounts({ hot, records: late }, SCHEMAS, [post])
    expect(await hot.countDirty()).toBe(1)
    await persist(post)
    expect(await records.getTotalsMany([post])).toMatchObject([{ counts: { read: 2 } }])
  })

  it('totals that one read of the hot store misses are written all the same, and their mark is cleared after that', async () => {
    const post = freshSubject()
    await open.service.adjust([eventOf(post, 3)])
    const { hot, records } = open.stores
    let reads = 0
    const missing = {
      ...hot,
      async readDirty(some: Parameters<typeof hot.readDirty>[0]) {
        const dirty = await hot.readDirty(some)
        return reads++ === 0 ? dirty.map((each) => each && { ...each, counts: undefined }) : dirty
      },
    }
    expect(await persistCounts({ hot: missing, records }, SCHEMAS, [post])).toEqual({ rows: 1, missing: 1 })
    expect(await records.getTotalsMany([post])).toMatchObject([{ counts: { read: 3 } }])
    expect(await hot.countDirty()).toBe(0)
  })

  it('a failed step leaves the marks, and a step of a removed business passes over it', async () => {
    const post = freshSubject()
    await open.service.adjust([eventOf(post, 1)])
    open.down.records = true
    await expect(persist(post)).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    open.down.records = false
    expect(await open.stores.hot.countDirty()).toBe(1)
    expect(await persist({ business: 77, oid: '1' }, post)).toEqual({ rows: 1, missing: 0 })
  })
})
