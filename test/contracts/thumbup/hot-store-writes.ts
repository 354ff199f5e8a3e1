/** Mark store contract: the effect of one write, in any order, and its visibility. */
import { expect, it } from 'vitest'
import type { Mark } from '../../../core/domain.ts'
import { CAP, UNDONE, fill, listedOids, lookUp, markOf, persist, putMark, withoutVersion, written } from './marks.ts'
import { freshNamedViewer, freshViewer, keyOf, later } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'

export function markWritesContract({ store, another, reopen }: MarkStoreSubject): void {
  async function completeViewer(): Promise<string> {
    const viewer = freshViewer()
    await fill(store(), viewer)
    return viewer
  }

  it('a mark is readable at once, in this process and another, and after reopening', async () => {
    const viewer = freshNamedViewer()
    await fill(store(), viewer)
    const at = later()
    const outcome = written(await putMark(store(), markOf(viewer, 'a b:ü', 'LIKE', at)))
    expect(outcome).toMatchObject({ old: 'NONE', record: { mark: 'LIKE', markedAt: at } })
    const seen = { mark: 'LIKE', counted: 'NONE', pending: true }
    expect(await lookUp(store(), viewer, 'a b:ü')).toEqual(seen)
    const other = await another()
    try {
      expect(await lookUp(other, viewer, 'a b:ü')).toEqual(seen)
    } finally {
      await other.close()
    }
    const again = await reopen()
    expect(await lookUp(again, viewer, 'a b:ü')).toEqual(seen)
    expect(await again.readDirtyMarks([keyOf(viewer, 'a b:ü')])).toEqual([{ key: keyOf(viewer, 'a b:ü'), record: outcome.record }])
  })

  it('each write returns the mark before it, and later writes of a call see earlier ones', async () => {
    const viewer = await completeViewer()
    const now = later(1_000)
    const marks: Mark[] = ['LIKE', 'DISLIKE', 'NONE', 'LIKE']
    const writes = marks.map((mark, index) => markOf(viewer, '1', mark, now + index))
    const outcomes = await store().putMarks(writes, { now, cap: CAP })
    expect(outcomes.map((outcome) => written(outcome).old)).toEqual(['NONE', 'LIKE', 'DISLIKE', 'NONE'])
    const versions = outcomes.map((outcome) => written(outcome).record.version)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(4)
    later(1_000)
  })

  it('an older write changes nothing and returns the stored mark', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const { record } = written(await putMark(store(), markOf(viewer, '1', 'LIKE', at)))
    for (const mark of ['NONE', 'LIKE', 'DISLIKE'] as const) {
      expect(await putMark(store(), markOf(viewer, '1', mark, at - 1))).toEqual({ status: 'stale', record })
    }
    expect(await listedOids(store(), viewer)).toEqual(['1'])
  })

  it('writes of different times end in the same mark in any order', async () => {
    const at = later(1_000)
    const steps: [Mark, number][] = [
      ['LIKE', at],
      ['NONE', at + 1],
      ['DISLIKE', at + 2],
    ]
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]) {
      const viewer = await completeViewer()
      for (const step of order) {
        const [mark, markedAt] = steps[step] ?? ['NONE', 0]
        await putMark(store(), markOf(viewer, '1', mark, markedAt))
      }
      const [read] = await store().readDirtyMarks([keyOf(viewer, '1')])
      expect(read?.record && withoutVersion(read.record), String(order)).toEqual({ mark: 'DISLIKE', markedAt: at + 2 })
      expect(await listedOids(store(), viewer)).toEqual([])
    }
  })

  it('at equal times the later arrival wins, unless it is the same mark', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at))
    const second = written(await putMark(store(), markOf(viewer, '1', 'NONE', at)))
    expect(second.old).toBe('LIKE')
    expect(await putMark(store(), markOf(viewer, '1', 'NONE', at))).toEqual({ status: 'stale', record: second.record })
    expect(written(await putMark(store(), markOf(viewer, '1', 'LIKE', at))).old).toBe('NONE')
    expect((await lookUp(store(), viewer, '1')).mark).toBe('LIKE')
  })

  it('a repetition at a later time moves only the time, and an undo from in between loses', async () => {
    const viewer = await completeViewer()
    const at = later(10_000)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at))
    await putMark(store(), markOf(viewer, '2', 'LIKE', at + 1))
    const repeated = written(await putMark(store(), markOf(viewer, '1', 'LIKE', at + 5)))
    expect(repeated).toMatchObject({ old: 'LIKE', record: { mark: 'LIKE', markedAt: at + 5 } })
    expect(await putMark(store(), markOf(viewer, '1', 'NONE', at + 3))).toEqual({ status: 'stale', record: repeated.record })
    expect((await store().listLikes(viewer, 1, undefined, 10)).entries).toEqual([
      { id: '1', markedAt: at + 5 },
      { id: '2', markedAt: at + 1 },
    ])
  })

  it('a repetition of a persisted mark counts nothing new, and is dirty until its time is persisted', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at))
    await persist(store(), [keyOf(viewer, '1')])
    expect(written(await putMark(store(), markOf(viewer, '1', 'LIKE', at + 1))).old).toBe('LIKE')
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'LIKE', counted: 'LIKE', pending: true })
  })

  it('an undo without a mark leaves a tombstone, and a late older mark loses to it', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    expect(written(await putMark(store(), markOf(viewer, '1', 'NONE', at)))).toMatchObject({ old: 'NONE', record: { mark: 'NONE' } })
    expect((await putMark(store(), markOf(viewer, '1', 'LIKE', at - 1))).status).toBe('stale')
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...UNDONE, pending: true })
  })

  it('equal ids of two businesses, and of two viewers, are different keys', async () => {
    const [viewer, other] = [await completeViewer(), await completeViewer()]
    await fill(store(), viewer, [], { business: 2 })
    const at = later(1_000)
    const writes = [markOf(viewer, '7', 'LIKE', at), markOf(viewer, '7', 'DISLIKE', at, { business: 2 }), markOf(other, '7', 'NONE', at)]
    await store().putMarks(writes, { now: later(), cap: CAP })
    const keys = [keyOf(viewer, '7', 2), keyOf(other, '7'), keyOf(viewer, '7'), keyOf(viewer, '7', 3)]
    expect((await store().getMarkMany(keys)).map(({ mark, older }) => older ?? mark)).toEqual(['DISLIKE', 'NONE', 'LIKE', 'unknown'])
    expect([await listedOids(store(), viewer, 1), await listedOids(store(), viewer, 2)]).toEqual([['7'], []])
  })

  it('viewers and subjects with unusual ids are separate', async () => {
    const stem = freshViewer()
    const viewers = [stem, `0${stem}`, ` ${stem}`, `${stem}:1`, `${stem}{x}`, `${stem}\u0000`, `${stem}é`, `${stem}e\u0301`, `${stem}*`]
    const oids = [
      '1',
      '01',
      '-1',
      ' 1',
      '1:1',
      '{1}',
      '\u0000',
      'é',
      'e\u0301',
      '9223372036854775807',
      '9223372036854775808',
      'x'.repeat(64),
    ]
    for (const viewer of viewers) await fill(store(), viewer)
    for (const [index, viewer] of viewers.entries()) {
      const at = later()
      const marked = oids.filter((_, place) => (place + index) % 2 === 0)
      await store().putMarks(
        marked.map((oid) => markOf(viewer, oid, 'LIKE', at)),
        { now: at, cap: CAP },
      )
    }
    for (const [index, viewer] of viewers.entries()) {
      const states = await store().getMarkMany(oids.map((oid) => keyOf(viewer, oid)))
      expect(states.map(({ mark }) => mark)).toEqual(oids.map((_, place) => ((place + index) % 2 === 0 ? 'LIKE' : 'NONE')))
    }
  })

  it('a multi-get answers in key order, with repeated keys and many viewers; no keys give no answers', async () => {
    const viewers = [await completeViewer(), await completeViewer(), await completeViewer()]
    const at = later(1_000)
    const writes = viewers.map((viewer, index) => markOf(viewer, String(index), 'DISLIKE', at))
    await store().putMarks(writes, { now: at, cap: CAP })
    const keys = [2, 0, 1, 2].flatMap((index) => [keyOf(viewers[index] ?? '', '1'), keyOf(viewers[index] ?? '', String(index))])
    const marks = (await store().getMarkMany(keys)).map(({ mark }) => mark)
    expect(marks).toEqual(['NONE', 'DISLIKE', 'NONE', 'DISLIKE', 'DISLIKE', 'DISLIKE', 'NONE', 'DISLIKE'])
    expect(await store().getMarkMany([])).toEqual([])
    expect(await store().putMarks([], { now: at, cap: CAP })).toEqual([])
  })

  it('writes of many processes to one key end as one of them, and each old mark is the new mark of another', async () => {
    const viewer = await completeViewer()
    const other = await another()
    try {
      const at = later(1_000)
      const marks = Array.from({ length: 40 }, (_, index): Mark => (index % 2 === 0 ? 'LIKE' : 'DISLIKE'))
      const outcomes = await Promise.all(
        marks.map(async (mark, index) => {
          const target = index % 3 === 0 ? other : store()
          return (await target.putMarks([markOf(viewer, '1', mark, at)], { now: at, cap: CAP }))[0]
        }),
      )
      const steps = outcomes.flatMap((outcome) => (outcome?.status === 'written' ? [outcome] : []))
      steps.sort((a, b) => a.record.version - b.record.version)
      expect(steps.map(({ old }) => old)).toEqual(['NONE', ...steps.slice(0, -1).map(({ record }) => record.mark)])
      expect((await lookUp(store(), viewer, '1')).mark).toBe(steps.at(-1)?.record.mark)
    } finally {
      await other.close()
    }
  })
}
