/** Hot store contract: following the changes of a viewer, from this process and from others. */
import { expect, it } from 'vitest'
import type { ProgressChange, ProgressRecord } from '../../../core/domain.ts'
import { freshNamedViewer, freshViewer, keyOf, later, report, write, writtenRecord } from '../reports.ts'
import { until } from '../../../harness/until.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 100

export function changesContract({ store, another }: HotStoreSubject): void {
  it('a follower gets the writes, deletions and clearings of its viewer in order, and of no other viewer', async () => {
    const [viewer, other] = [freshNamedViewer(), freshViewer()]
    const changes: ProgressChange[] = []
    const stop = await store().followProgress(viewer, (change) => changes.push(change))
    const now = later()
    const [put] = await store().putProgress([write(viewer, '1', report(now)), write(other, '1', report(now))], { now, timelineCap })
    const [deletion] = await store().deleteProgress([keyOf(viewer, '1')], later())
    const clearedAt = await store().clearProgress(viewer, 2, later())
    const { version } = await store().getSettings(viewer)
    await until('three changes', () => changes.length >= 3)
    stop()
    expect(changes).toEqual([
      { kind: 'put', viewer, business: 1, oid: '1', record: writtenRecord(put) },
      { kind: 'deleted', viewer, business: 1, oid: '1', record: deletion?.record },
      { kind: 'cleared', viewer, business: 2, clearedAt, version },
    ])
  })

  it('a follower gets each switch and each claimed day once, the day after its report', async () => {
    const [viewer, named, other] = [freshViewer(), freshNamedViewer(), freshViewer()]
    for (const who of [viewer, named]) {
      const changes: ProgressChange[] = []
      const stop = await store().followProgress(who, (change) => changes.push(change))
      const paused = await store().setPaused(who, true, later())
      const resumed = await store().setPaused(who, false, later())
      await store().setPaused(other, true, later())
      const now = later()
      const writes = [
        write(who, '1', report(now), { day: 20_000 }),
        write(who, '2', report(now), { day: 20_000 }),
        write(who, '3', report(now), { day: 20_000, dayForAll: true, business: 2 }),
        write(who, '4', report(now)),
      ]
      const [first, second, third, last] = (await store().putProgress(writes, { now, timelineCap })).map(writtenRecord)
      await until('eight changes', () => changes.length >= 8)
      stop()
      const put = (oid: string, record: ProgressRecord | undefined, business = 1) => ({ kind: 'put', viewer: who, business, oid, record })
      expect(changes.filter(({ business }) => business === 1)).toEqual([
        put('1', first),
        { kind: 'day', viewer: who, business: 1, day: 20_000, version: first?.version },
        put('2', second),
        put('4', last),
      ])
      expect(changes.filter(({ business }) => business !== 1)).toEqual([
        { kind: 'paused', viewer: who, business: 0, paused: true, version: paused.version },
        { kind: 'paused', viewer: who, business: 0, paused: false, version: resumed.version },
        put('3', third, 2),
        { kind: 'day', viewer: who, business: 0, day: 20_000, version: third?.version },
      ])
    }
  })

  it('changes after a version are listed by version, with deletions, and without cleared or older entries', async () => {
    const [viewer, other] = [freshNamedViewer(), freshViewer()]
    const put = async (oid: string, business: number) => {
      const now = later()
      const writes = [write(viewer, oid, report(now), { business }), write(other, oid, report(now), { business })]
      return writtenRecord((await store().putProgress(writes, { now, timelineCap }))[0])
    }
    await put('cleared', 2)
    const since = (await put('old', 1)).version
    await put('cleared too', 2)
    const second = await put('second', 1)
    const [deletion] = await store().deleteProgress([keyOf(viewer, 'old')], later())
    await store().clearProgress(viewer, 2, later())
    const last = await put('last', 2)
    expect(await store().listChanges(viewer, [1, 2], since)).toEqual([
      { kind: 'put', viewer, business: 1, oid: 'second', record: second },
      { kind: 'deleted', viewer, business: 1, oid: 'old', record: deletion?.record },
      { kind: 'put', viewer, business: 2, oid: 'last', record: last },
    ])
    expect((await store().listChanges(viewer, [2], since)).map(({ oid }) => oid)).toEqual(['last'])
    expect(await store().listChanges(viewer, [1, 2], last.version)).toEqual([])
    expect(await store().listChanges(viewer, [], 0)).toEqual([])
  })

  it('changes of another process arrive too', async () => {
    const other = await another()
    try {
      const viewer = freshViewer()
      const changes: ProgressChange[] = []
      const stop = await store().followProgress(viewer, (change) => changes.push(change))
      const now = later()
      const [outcome] = await other.putProgress([write(viewer, '1', report(now, { device: '' }))], { now, timelineCap })
      await until('the change of the other process', () => changes.length > 0)
      stop()
      expect(changes).toEqual([{ kind: 'put', viewer, business: 1, oid: '1', record: writtenRecord(outcome) }])
    } finally {
      await other.close()
    }
  })

  it('a change is readable when followers receive it', async () => {
    const viewer = freshViewer()
    const seen: (number | undefined)[] = []
    const stop = await store().followProgress(viewer, (change) => {
      if (change.kind !== 'put') return
      void store()
        .getProgressMany([keyOf(viewer, change.oid)])
        .then(([lookup]) => seen.push(lookup?.record?.position))
    })
    for (const position of [1, 2, 3]) {
      const now = later()
      await store().putProgress([write(viewer, String(position), report(now, { position }))], { now, timelineCap })
    }
    await until('three lookups', () => seen.length >= 3)
    stop()
    expect(seen).toEqual([1, 2, 3])
  })

  it('stale and paused reports are not sent', async () => {
    const viewer = freshViewer()
    const changes: ProgressChange[] = []
    const now = later()
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    const stop = await store().followProgress(viewer, (change) => changes.push(change))
    await store().putProgress([write(viewer, '1', report(now - 1))], { now, timelineCap })
    await store().setPaused(viewer, true, later())
    await store().putProgress([write(viewer, '2', report(now))], { now, timelineCap })
    await store().setPaused(viewer, false, later())
    const [last] = await store().putProgress([write(viewer, '3', report(now))], { now, timelineCap })
    await until('the last put', () => changes.some(({ kind }) => kind === 'put'))
    stop()
    expect(changes.filter(({ kind }) => kind !== 'paused')).toEqual([
      { kind: 'put', viewer, business: 1, oid: '3', record: writtenRecord(last) },
    ])
  })

  it('each of several followers gets each change once, until it stops', async () => {
    const viewer = freshViewer()
    const [first, second]: [string[], string[]] = [[], []]
    const nameOf = (change: ProgressChange): string => ('oid' in change ? change.oid : change.kind)
    const stopFirst = await store().followProgress(viewer, (change) => first.push(nameOf(change)))
    const stopSecond = await store().followProgress(viewer, (change) => second.push(nameOf(change)))
    const put = async (oid: string): Promise<void> => {
      const now = later()
      await store().putProgress([write(viewer, oid, report(now))], { now, timelineCap })
    }
    await put('1')
    await until('both are told', () => first.length > 0 && second.length > 0)
    stopFirst()
    await put('2')
    await put('3')
    await until('the second is told of all', () => second.length >= 3)
    stopSecond()
    stopSecond()
    await put('4')
    expect(first).toEqual(['1'])
    expect(second).toEqual(['1', '2', '3'])
  })
}
