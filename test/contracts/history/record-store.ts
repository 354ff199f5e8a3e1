/**
 * The contract of the record store port, run unchanged by every adapter:
 *
 *     recordStoreContract('mariadb', async () => ({ store, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold rows of earlier runs, but no other process writes to it during the suite.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Place, ProgressKey, ProgressRecord, ViewerSettings, ProgressRow } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { mergeProgress } from '../../../subgraphs/history/model/merge.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { placeOf } from './hot-store-timelines.ts'
import { freshNamedViewer, freshViewer, glance, keyOf, later, numbered, report, unversioned } from '../reports.ts'

export type OpenedRecordStore = {
  store: RecordStore
  /** Closes `store` and opens the same data again. */
  reopen(): Promise<RecordStore>
  /** Closes all open handles and removes the data of the suite. */
  dispose(): Promise<void>
}

let lastVersion = Date.now() * 1024

/** A row with a version newer than all before it, unless `fields` has one. */
function row(viewer: string, oid: string, record: ProgressRecord, business = 1): ProgressRow {
  lastVersion += 1
  return { key: { viewer, business, oid }, record: { ...record, version: record.version === 0 ? lastVersion : record.version } }
}

function compareKeys(a: ProgressKey, b: ProgressKey): number {
  return compareIds(a.viewer, b.viewer) || a.business - b.business || compareIds(a.oid, b.oid)
}

/** Other tests of the store have rows before it. */
function keyBefore(viewer: string): ProgressKey {
  return { viewer, business: 0, oid: '0' }
}

function tombstone(deletedAt: number, version = 0): ProgressRecord {
  return { ...report(deletedAt), since: deletedAt, rank: 0, version, position: 0, duration: 0, device: '', deleted: true }
}

export function recordStoreContract(name: string, open: () => Promise<OpenedRecordStore>): void {
  describe(`record store contract: ${name}`, () => {
    let opened: OpenedRecordStore | undefined
    const store = (): RecordStore => {
      if (opened === undefined) throw new Error('the record store could not be opened')
      return opened.store
    }
    const readOne = async (viewer: string, oid: string, business = 1): Promise<ProgressRecord | undefined> =>
      (await store().getProgressMany([keyOf(viewer, oid, business)]))[0]
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => opened?.dispose())

    it('rows are read back with all their fields, in key order', async () => {
      const viewer = freshNamedViewer()
      const now = later()
      const rows = [
        row(
          viewer,
          '1',
          report(now, {
            position: 2 ** 31 - 1,
            duration: 2 ** 31 - 1,
            device: 'téléviseur 📺',
            finished: true,
            rank: 2 ** 53 - 1,
            since: now - 1,
          }),
        ),
        row(viewer, 'ü', report(now, { position: 0, duration: 0, device: '', rank: 0 }), 65_535),
        row(freshViewer(), '9223372036854775807', tombstone(now)),
        row(freshViewer(), 'x'.repeat(64), glance(now)),
      ]
      await store().putProgress(rows)
      const asked = [rows[2], rows[0], rows[3], rows[1], rows[0]].flatMap((found) => found ?? [])
      expect(await store().getProgressMany(asked.map((item) => item.key))).toEqual(asked.map((item) => item.record))
    })

    it('a missing row is a miss, in its place', async () => {
      const viewer = freshViewer()
      const stored = row(viewer, '1', report(later()))
      await store().putProgress([stored])
      const keys = [keyOf(viewer, '2'), keyOf(viewer, '1', 2), keyOf(viewer, '1'), keyOf(freshViewer(), '1'), keyOf(viewer, '01')]
      expect(await store().getProgressMany(keys)).toEqual([undefined, undefined, stored.record, undefined, undefined])
    })

    it('empty calls return nothing', async () => {
      await store().putProgress([])
      await store().putSettings([])
      expect(await store().getProgressMany([])).toEqual([])
      expect(await store().getSettingsMany([])).toEqual([])
      expect(await store().listProgress(freshViewer(), [], undefined, 10)).toEqual([])
    })

    it('an older row changes nothing, a newer one replaces', async () => {
      const viewer = freshViewer()
      const now = later(1_000)
      const middle = row(viewer, '1', report(now, { position: 2 }))
      await store().putProgress([middle])
      await store().putProgress([row(viewer, '1', report(now - 1, { position: 1 }))])
      expect(await readOne(viewer, '1')).toEqual(middle.record)
      const newest = row(viewer, '1', report(now + 1, { position: 3 }))
      await store().putProgress([newest])
      expect(await readOne(viewer, '1')).toEqual(newest.record)
    })

    it('the visit and the resume point are merged separately', async () => {
      const viewer = freshViewer()
      const now = later(1_000)
      await store().putProgress([row(viewer, '1', report(now - 500, { position: 300_000, device: 'phone' }))])
      await store().putProgress([row(viewer, '1', glance(now))])
      expect(await readOne(viewer, '1')).toMatchObject({ viewedAt: now, position: 300_000, device: 'phone' })
      expect((await store().listProgress(viewer, [1], undefined, 10)).map(placeOf)).toEqual([{ viewedAt: now, business: 1, oid: '1' }])
    })

    it('a tombstone voids reports that are not newer, in either order of arrival', async () => {
      const viewer = freshViewer()
      const now = later(1_000)
      await store().putProgress([
        row(viewer, 'before', report(now - 1)),
        row(viewer, 'after', tombstone(now)),
        row(viewer, 'newer', tombstone(now)),
      ])
      await store().putProgress([
        row(viewer, 'before', tombstone(now)),
        row(viewer, 'after', report(now)),
        row(viewer, 'newer', report(now + 1)),
      ])
      expect(await readOne(viewer, 'before')).toMatchObject({ deleted: true, viewedAt: now, since: now })
      expect(await readOne(viewer, 'after')).toMatchObject({ deleted: true, viewedAt: now, since: now })
      expect(await readOne(viewer, 'newer')).toMatchObject({ deleted: false, viewedAt: now + 1, since: now })
      expect((await store().listProgress(viewer, [1], undefined, 10)).map((entry) => entry.oid)).toEqual(['newer'])
    })

    it('any order, repetition and batching of rows ends as with mergeProgress', async () => {
      const oid = fc.constantFrom('1', 'b', '30')
      const spec = fc.record({
        oid,
        viewedAt: fc.integer({ min: 1, max: 12 }),
        since: fc.nat({ max: 6 }),
        rank: fc.nat({ max: 4 }),
        version: fc.integer({ min: 1, max: 30 }),
        deleted: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(spec, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (batches) => {
          const viewer = freshViewer()
          const base = later(100)
          const expected = new Map<string, ProgressRecord>()
          for (const batch of batches) {
            const rows = new Map<string, ProgressRow>()
            for (const item of batch) {
              const viewedAt = base + Math.max(item.viewedAt, item.deleted ? 0 : item.since + 1)
              const record: ProgressRecord = item.deleted
                ? tombstone(viewedAt, item.version)
                : report(viewedAt, {
                    since: item.since === 0 ? 0 : base + item.since,
                    rank: item.rank,
                    version: item.version,
                    position: item.version,
                  })
              rows.set(item.oid, { key: keyOf(viewer, item.oid), record })
            }
            for (const [name, item] of rows) expected.set(name, mergeProgress(expected.get(name), item.record))
            await store().putProgress([...rows.values()])
          }
          const names = [...expected.keys()]
          const stored = await store().getProgressMany(names.map((name) => keyOf(viewer, name)))
          expect(stored).toEqual(names.map((name) => expected.get(name)))
          const places = names.flatMap((name) => {
            const record = expected.get(name)
            return record === undefined || record.deleted ? [] : [{ viewedAt: record.viewedAt, business: 1, oid: name }]
          })
          expect((await store().listProgress(viewer, [1], undefined, 10)).map(placeOf)).toEqual(places.toSorted(comparePlaces))
        }),
        { numRuns: 60 },
      )
    })

    it('a batch of thousands is stored completely, and storing it again changes nothing', async () => {
      const viewers = Array.from({ length: 300 }, () => freshViewer())
      const now = later()
      const rows = viewers.flatMap((viewer) => numbered(10).map((oid) => row(viewer, oid, report(now, { position: Number(oid) }))))
      const before = await store().countProgress()
      await store().putProgress(rows)
      await store().putProgress(rows.toReversed())
      expect(await store().countProgress()).toBe(before + 3_000)
      expect(await store().getProgressMany(rows.map((item) => item.key))).toEqual(rows.map((item) => item.record))
    })

    it('concurrent writers of the same keys end as if one after the other', async () => {
      const viewer = freshViewer()
      const now = later(1_000)
      const calls = numbered(8).map((call) =>
        store().putProgress(
          numbered(50).map((oid) => row(viewer, oid, report(now + ((Number(call) * 7 + Number(oid)) % 8), { position: Number(call) }))),
        ),
      )
      await Promise.all(calls)
      const records = await store().getProgressMany(numbered(50).map((oid) => keyOf(viewer, oid)))
      expect(records.map((record) => record?.viewedAt)).toEqual(numbered(50).map(() => now + 7))
    })

    it('tombstones are read by key, and neither listed nor counted', async () => {
      const viewer = freshViewer()
      const before = await store().countProgress()
      await store().putProgress([row(viewer, '1', report(later())), row(viewer, '2', tombstone(later()))])
      expect(await store().countProgress()).toBe(before + 1)
      expect((await store().listProgress(viewer, [1], undefined, 10)).map((entry) => entry.oid)).toEqual(['1'])
      expect(await readOne(viewer, '2')).toMatchObject({ deleted: true })
      await store().putProgress([row(viewer, '1', tombstone(later()))])
      expect(await store().countProgress()).toBe(before)
    })

    it('pages of any size join without gaps or duplicates, newest first, businesses merged, ties in order', async () => {
      const oid = fc.oneof(
        fc.nat({ max: 40 }).map(String),
        fc.constantFrom('a', 'bb', 'ü', '01', '9223372036854775807', '9223372036854775808'),
      )
      const entry = fc.record({ oid, business: fc.constantFrom(1, 2, 300), age: fc.nat({ max: 6 }) })
      const entries = fc.uniqueArray(entry, { selector: (item) => `${item.business}:${item.oid}`, maxLength: 40 })
      await fc.assert(
        fc.asyncProperty(entries, fc.integer({ min: 1, max: 9 }), fc.subarray([1, 2, 300]), async (items, limit, businesses) => {
          const viewer = freshViewer()
          const now = later(1_000)
          await store().putProgress(items.map((item) => row(viewer, item.oid, report(now - item.age), item.business)))
          const places: Place[] = []
          for (;;) {
            const page = await store().listProgress(viewer, businesses, places.at(-1), limit)
            expect(page.length).toBeLessThanOrEqual(limit)
            places.push(...page.map(placeOf))
            if (page.length < limit) break
          }
          const expected = items
            .filter((item) => businesses.includes(item.business))
            .map((item) => ({ viewedAt: now - item.age, business: item.business, oid: item.oid }))
          expect(places).toEqual(expected.toSorted(comparePlaces))
        }),
        { numRuns: 40 },
      )
    })

    it('a page begins strictly after its place, with or without a row there', async () => {
      const viewer = freshViewer()
      const now = later()
      await store().putProgress(['1', '2', '4', 'a'].map((oid) => row(viewer, oid, report(now))))
      const after = async (place: Place): Promise<string[]> => (await store().listProgress(viewer, [1], place, 10)).map((item) => item.oid)
      expect(await after({ viewedAt: now, business: 1, oid: '2' })).toEqual(['4', 'a'])
      expect(await after({ viewedAt: now, business: 1, oid: '3' })).toEqual(['4', 'a'])
      expect(await after({ viewedAt: now + 1, business: 9, oid: 'z' })).toEqual(['1', '2', '4', 'a'])
      expect(await after({ viewedAt: now, business: 2, oid: '1' })).toEqual([])
      expect(await after({ viewedAt: now - 1, business: 0, oid: '0' })).toEqual([])
    })

    it('listed entries have their records', async () => {
      const viewer = freshViewer()
      const stored = row(viewer, '5', report(later(), { device: 'phone' }), 7)
      await store().putProgress([stored])
      expect(await store().listProgress(viewer, [7], undefined, 10)).toEqual([{ business: 7, oid: '5', record: stored.record }])
    })

    it('settings of new viewers are misses, in their place', async () => {
      const viewer = freshNamedViewer()
      const settings: ViewerSettings = { paused: true, clearedAt: { 1: later(), 65535: later() }, version: 2 ** 52 }
      await store().putSettings([{ viewer, settings }])
      expect(await store().getSettingsMany([freshViewer(), viewer, freshViewer()])).toEqual([undefined, settings, undefined])
    })

    it('newer settings replace older ones, and older ones change nothing', async () => {
      const viewer = freshViewer()
      const put = (settings: ViewerSettings): Promise<void> => store().putSettings([{ viewer, settings }])
      await put({ paused: true, clearedAt: {}, version: 20 })
      await put({ paused: false, clearedAt: {}, version: 10 })
      expect(await store().getSettingsMany([viewer])).toEqual([{ paused: true, clearedAt: {}, version: 20 }])
      await put({ paused: false, clearedAt: {}, version: 30 })
      expect(await store().getSettingsMany([viewer])).toEqual([{ paused: false, clearedAt: {}, version: 30 }])
      await put({ paused: false, clearedAt: {}, version: 30 })
      expect(await store().getSettingsMany([viewer])).toEqual([{ paused: false, clearedAt: {}, version: 30 }])
    })

    it('a watermark never moves back, regardless of newer settings', async () => {
      const viewer = freshViewer()
      const moment = later()
      await store().putSettings([{ viewer, settings: { paused: false, clearedAt: { 1: moment, 2: moment }, version: 10 } }])
      await store().putSettings([{ viewer, settings: { paused: true, clearedAt: { 2: moment - 5, 3: moment }, version: 20 } }])
      expect(await store().getSettingsMany([viewer])).toEqual([
        { paused: true, clearedAt: { 1: moment, 2: moment, 3: moment }, version: 20 },
      ])
    })

    it('purging cleared history removes rows and tombstones of one viewer and business up to the watermark', async () => {
      const [viewer, other] = [freshViewer(), freshViewer()]
      const clearedAt = later(1_000)
      await store().putProgress([
        ...numbered(8).map((oid) => row(viewer, oid, report(clearedAt - Number(oid) + 1))),
        row(viewer, 'dead', tombstone(clearedAt - 1)),
        row(viewer, 'after', report(clearedAt + 1)),
        row(viewer, '1', report(clearedAt - 1), 2),
        row(other, '1', report(clearedAt - 1)),
      ])
      expect(await store().purgeCleared(viewer, 1, clearedAt, 4)).toBe(4)
      let rest = 0
      for (let removed = 4; removed === 4; rest += removed) removed = await store().purgeCleared(viewer, 1, clearedAt, 4)
      expect(rest).toBe(5)
      expect(await store().purgeCleared(viewer, 1, clearedAt, 100)).toBe(0)
      const keys = [...numbered(8), 'dead', 'after'].map((oid) => keyOf(viewer, oid))
      const left = await store().getProgressMany([...keys, keyOf(viewer, '1', 2), keyOf(other, '1')])
      expect(left.map((record) => record?.viewedAt)).toEqual([...Array(9).fill(undefined), clearedAt + 1, clearedAt - 1, clearedAt - 1])
      expect((await store().listProgress(viewer, [1], undefined, 10)).map((entry) => entry.oid)).toEqual(['after'])
    })

    it('purging expired history removes rows and tombstones by the time of their last write, in bounded steps', async () => {
      const viewer = freshViewer()
      const boundary = later(10_000)
      await store().putProgress([
        ...numbered(9).map((oid) => row(viewer, oid, report(boundary, { version: (boundary - Number(oid)) * 1024 }))),
        row(viewer, 'dead', tombstone(boundary, boundary * 1024 - 1)),
        row(viewer, 'kept', report(boundary - 5_000, { version: boundary * 1024 })),
      ])
      const first = await store().purgeExpired(boundary, 4)
      expect(first).toBeGreaterThan(0)
      expect(first).toBeLessThanOrEqual(4)
      for (let removed = first; removed > 0;) removed = await store().purgeExpired(boundary, 1_000)
      const left = await store().getProgressMany([...numbered(9), 'dead', 'kept'].map((oid) => keyOf(viewer, oid)))
      expect(left.map((record) => record !== undefined)).toEqual([...Array(10).fill(false), true])
      expect((await store().listProgress(viewer, [1], undefined, 100)).map((entry) => entry.oid)).toEqual(['kept'])
      later(10_000)
    })

    it('a purge finds rows that expired after the last purge', async () => {
      const viewer = freshViewer()
      const boundary = later(10_000)
      while ((await store().purgeExpired(boundary, 1_000)) > 0);
      await store().putProgress([row(viewer, '1', report(boundary, { version: (boundary - 1) * 1024 }))])
      while ((await store().purgeExpired(boundary + 1, 1_000)) > 0);
      expect(await readOne(viewer, '1')).toBeUndefined()
    })

    it('a walk over all rows returns each once, in the order of keys, tombstones and cleared rows included', async () => {
      const viewers = [freshViewer(), freshViewer(), freshNamedViewer()]
      const now = later()
      const rows = viewers.flatMap((viewer) => [
        ...numbered(5).map((oid) => row(viewer, oid, report(now - Number(oid)))),
        row(viewer, 'dead', tombstone(now)),
        row(viewer, '1', report(now), 65_535),
      ])
      await store().putProgress(rows)
      await store().putSettings(
        viewers.slice(1).map((viewer) => ({ viewer, settings: { paused: true, clearedAt: { 1: now }, version: 5 } })),
      )
      for (const limit of [1, 3, 1_000]) {
        const all: ProgressRow[] = []
        for (let page = await store().listAllProgress(keyBefore(viewers[0] as string), limit); page.length > 0;) {
          expect(page.length).toBeLessThanOrEqual(limit)
          all.push(...page)
          page = await store().listAllProgress(all.at(-1)?.key, limit)
        }
        const own = all.filter(({ key }) => viewers.includes(key.viewer))
        expect(own).toEqual(rows.toSorted((a, b) => compareKeys(a.key, b.key)))
        const settings: string[] = []
        for (let page = await store().listAllSettings(undefined, limit); page.length > 0;) {
          settings.push(...page.map(({ viewer }) => viewer))
          page = await store().listAllSettings(settings.at(-1), limit)
        }
        expect(settings).toEqual([...new Set(settings)].toSorted(compareIds))
        expect(settings.filter((viewer) => viewers.includes(viewer))).toEqual(viewers.slice(1).toSorted(compareIds))
      }
      const [middle] = viewers.slice(1)
      const one = await store().listAllProgress(undefined, 3, middle)
      const rest = await store().listAllProgress(one.at(-1)?.key, 100, middle)
      expect([...one, ...rest]).toEqual(rows.filter(({ key }) => key.viewer === middle).toSorted((a, b) => compareKeys(a.key, b.key)))
      expect(await store().listAllProgress(rest.at(-1)?.key, 100, middle)).toEqual([])
    })

    it('rows and settings are there after the store was closed and reopened', async () => {
      const viewer = freshViewer()
      const stored = row(viewer, '1', report(later()))
      const settings: ViewerSettings = { paused: true, clearedAt: { 1: 5 }, version: 7 }
      await store().putProgress([stored])
      await store().putSettings([{ viewer, settings }])
      if (opened !== undefined) opened.store = await opened.reopen()
      expect(unversioned(await readOne(viewer, '1'))).toEqual(unversioned(stored.record))
      expect(await store().getSettingsMany([viewer])).toEqual([settings])
    })

    it('an available store passes its check', async () => {
      await store().check()
    })
  })
}
