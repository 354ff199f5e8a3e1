/** Entries that are applied late or twice. */
import { describe, expect, it } from 'vitest'
import type { ProgressKey, RewardEvent } from '../../../core/domain.ts'
import type { ProgressWrite } from '../../../subgraphs/history/stores/hot-store.ts'
import { makeReplay } from '../../../subgraphs/history/write/replay.ts'
import type { HistoryChange } from '../../../subgraphs/history/write/journaled-changes.ts'
import { report, write } from '../../contracts/reports.ts'
import { makeSwitchedStores, type SwitchedStores } from '../switched-stores.ts'

const T = 1_800_000_000_000
const timelineCap = 10
const key = (oid: string): ProgressKey => ({ viewer: '7', business: 1, oid })

function replayOn(stores: SwitchedStores, isUnderWay = false) {
  const told = { keys: [] as ProgressKey[], rewards: [] as RewardEvent[], without: [] as ProgressWrite[], dropped: 0 }
  const replay = makeReplay(stores.hot, stores.records, timelineCap, {
    aggregate: (each) => told.keys.push(each),
    reward: (events) => told.rewards.push(...events),
    mayBeUnderWay: () => isUnderWay,
    async withoutBase(writes) {
      await Promise.resolve()
      told.without.push(...writes)
    },
    dropped(count) {
      told.dropped += count
    },
  })
  /** Applies a change of viewer 7, or of the viewer that it names. */
  const apply = ({ now, viewer = '7', ...change }: HistoryChange & { now: number; viewer?: string }) =>
    replay.apply({ viewer, now, change })
  return { replay: { apply }, told }
}

const putAt = (stores: SwitchedStores, now: number, ...writes: ProgressWrite[]) => stores.hot.putProgress(writes, { now, timelineCap })
const oids = (stores: SwitchedStores) => stores.state.list('7', [1], undefined, 100).entries.map((entry) => entry.oid)

describe('replaying', () => {
  it('a deletion spares later reports, and deletes earlier ones', async () => {
    const stores = makeSwitchedStores()
    await putAt(stores, T - 10, write('7', 'before', report(T - 10)))
    await putAt(stores, T + 10, write('7', 'after', report(T + 10)))
    const { replay, told } = replayOn(stores)
    const entry = { kind: 'delete', now: T, keys: [key('before'), key('after'), key('unknown')] } as const
    expect(await replay.apply(entry)).toBe('applied')
    expect(oids(stores)).toEqual(['after'])
    expect(told.keys.map((each) => each.oid)).toEqual(['before', 'unknown'])
    expect(told.dropped).toBe(1)
    expect(stores.state.recordOf(key('before'))).toMatchObject({ deleted: true, since: T })
  })

  it('a deletion includes an earlier report of a device with a fast clock', async () => {
    const stores = makeSwitchedStores()
    await putAt(stores, T - 10, write('7', '1', report(T + 60_000)))
    await replayOn(stores).replay.apply({ kind: 'delete', now: T, keys: [key('1')] })
    expect(oids(stores)).toEqual([])
  })

  it('a deletion includes the put of the entry before it, however new its version is', async () => {
    const stores = makeSwitchedStores()
    await putAt(stores, T + 5_000, write('7', 'other', report(T)))
    const { replay } = replayOn(stores)
    await replay.apply({ kind: 'put', now: T - 5, writes: [write('7', '1', report(T + 60_000))] })
    await replay.apply({ kind: 'delete', now: T, keys: [key('1')] })
    expect(oids(stores)).toEqual(['other'])
  })

  it('a clearing removes every report up to its time, and no later report', async () => {
    const stores = makeSwitchedStores()
    for (let n = 0; n < 4; n++) await putAt(stores, T - 10 + n, write('7', `before ${n}`, report(T - 10 + n)))
    await stores.records.putProgress([{ key: key('only older'), record: report(T - 500, { version: (T - 500) * 1_024 }) }])
    await putAt(stores, T + 10, write('7', 'after', report(T + 10)))
    await replayOn(stores).replay.apply({ kind: 'clear', now: T, viewer: '7', business: 1 })
    expect(oids(stores)).toEqual(['after'])
    expect(stores.state.recordOf(key('only older'))).toMatchObject({ deleted: true, since: T })
  })

  it('a clearing without later reports is one watermark', async () => {
    const stores = makeSwitchedStores()
    await putAt(stores, T - 10, write('7', '1', report(T - 10)))
    await replayOn(stores).replay.apply({ kind: 'clear', now: T, viewer: '7', business: 1 })
    expect(stores.state.settingsOf('7').clearedAt).toEqual({ 1: T })
  })

  it('a repeated clearing removes nothing', async () => {
    const stores = makeSwitchedStores()
    const { replay } = replayOn(stores)
    await replay.apply({ kind: 'clear', now: T, viewer: '7', business: 1 })
    await putAt(stores, T + 10, write('7', 'after', report(T + 10)))
    await replay.apply({ kind: 'clear', now: T, viewer: '7', business: 1 })
    await replayOn(stores).replay.apply({ kind: 'clear', now: T, viewer: '7', business: 1 })
    expect(oids(stores)).toEqual(['after'])
  })

  it('a late clearing that needs the record store waits for it', async () => {
    const stores = makeSwitchedStores()
    await putAt(stores, T - 10, write('7', 'before', report(T - 10)))
    await putAt(stores, T + 10, write('7', 'after', report(T + 10)))
    stores.set('records', 'down')
    await expect(replayOn(stores).replay.apply({ kind: 'clear', now: T, viewer: '7', business: 1 })).rejects.toMatchObject({
      code: 'RECORD_STORE_UNAVAILABLE',
    })
  })

  it('a pause does not undo a later resume, and a clearing in between does not hide the resume', async () => {
    const stores = makeSwitchedStores()
    await stores.hot.setPaused('7', true, T + 5)
    await stores.hot.setPaused('7', false, T + 10)
    const first = replayOn(stores)
    await first.replay.apply({ kind: 'pause', now: T, viewer: '7', paused: true })
    expect(stores.state.settingsOf('7').paused).toBe(false)
    expect(first.told.dropped).toBe(1)
    await stores.hot.clearProgress('8', 1, T + 10)
    await replayOn(stores).replay.apply({ kind: 'pause', now: T, viewer: '8', paused: true })
    expect(stores.state.settingsOf('8').paused).toBe(true)
  })

  it('a report earns the reward of its day once, although it is applied twice', async () => {
    const stores = makeSwitchedStores()
    const { replay, told } = replayOn(stores)
    const entry = { kind: 'put', now: T, writes: [{ ...write('7', '1', report(T)), day: 20_833 }] } as const
    await replay.apply(entry)
    await replay.apply(entry)
    expect(told.rewards).toMatchObject([{ viewer: '7', business: 1, day: 20_833 }])
  })

  it('an old report does not change a newer one', async () => {
    const stores = makeSwitchedStores()
    await putAt(stores, T + 10, write('7', '1', report(T + 10, { position: 500 })))
    await replayOn(stores).replay.apply({ kind: 'put', now: T, writes: [write('7', '1', report(T, { position: 3 }))] })
    expect(stores.state.recordOf(key('1'))).toMatchObject({ position: 500, viewedAt: T + 10 })
  })

  it('a report of a paused viewer is dropped', async () => {
    const stores = makeSwitchedStores()
    await stores.hot.setPaused('7', true, T - 10)
    const { replay, told } = replayOn(stores)
    await replay.apply({ kind: 'put', now: T, writes: [write('7', '1', report(T))] })
    expect(oids(stores)).toEqual([])
    expect(told.dropped).toBe(1)
  })

  describe('a report that was put without its base', () => {
    const inRecords = (stores: SwitchedStores, record: ReturnType<typeof report>) => stores.records.putProgress([{ key: key('1'), record }])
    const merge = (stores: SwitchedStores) => replayOn(stores).replay.apply({ kind: 'base', now: T + 100, keys: [key('1')] })

    it('is removed if it was viewed before a deletion that only the record store knew', async () => {
      const stores = makeSwitchedStores()
      await inRecords(stores, report(T, { since: T, deleted: true, rank: 0, version: T * 1_024 }))
      await putAt(stores, T + 100, write('7', '1', report(T - 50, { position: 60_000 })))
      await merge(stores)
      expect(oids(stores)).toEqual([])
    })

    it('does not resurrect history deleted before the glance in the record store', async () => {
      const stores = makeSwitchedStores()
      const glanced = report(T + 10, { since: T, rank: T + 10, position: 2_000, version: (T + 10) * 1_024 })
      await inRecords(stores, glanced)
      await putAt(stores, T + 100, write('7', '1', report(T - 50, { position: 60_000 })))
      await merge(stores)
      expect(stores.state.recordOf(key('1'))).toMatchObject({ viewedAt: T + 10, since: T, position: 2_000, deleted: false })
    })

    it('waits for a put that is still under way, and is merged after it', async () => {
      const stores = makeSwitchedStores()
      await inRecords(stores, report(T - 500, { position: 60_000, version: (T - 500) * 1_024 }))
      const entry = { kind: 'base', now: T + 100, keys: [key('1')] } as const
      expect(await replayOn(stores, true).replay.apply(entry)).toBe('later')
      await putAt(stores, T + 100, write('7', '1', report(T, { rank: T, position: 1_000 })))
      expect(await replayOn(stores, false).replay.apply(entry)).toBe('applied')
      expect(stores.state.recordOf(key('1'))).toMatchObject({ viewedAt: T, position: 60_000 })
    })

    it('is merged although the viewer paused in the meantime', async () => {
      const stores = makeSwitchedStores()
      await inRecords(stores, report(T - 500, { position: 60_000, version: (T - 500) * 1_024 }))
      await putAt(stores, T + 100, write('7', '1', report(T, { rank: T, position: 1_000 })))
      await stores.hot.setPaused('7', true, T + 50)
      await merge(stores)
      expect(stores.state.recordOf(key('1'))).toMatchObject({ viewedAt: T, position: 60_000 })
    })

    it('keeps the resume point of the record store if it was a glance', async () => {
      const stores = makeSwitchedStores()
      await inRecords(stores, report(T - 500, { position: 60_000, version: (T - 500) * 1_024 }))
      await putAt(stores, T + 100, write('7', '1', report(T, { rank: T, position: 1_000 })))
      await merge(stores)
      expect(stores.state.recordOf(key('1'))).toMatchObject({ viewedAt: T, position: 60_000 })
    })
  })
})
