/**
 * Contract of the record store of filters: any damaged row is read as bytes with a version, so that it can be quarantined or overwritten
 * like any other. Other rows are not affected.
 */
import { expect, it } from 'vitest'
import { DAY_MS, EXPIRES_AT, MONTH, filterKey, filterWrite, freshViewers, purgeAll, someBytes } from './seen-filters.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import type { SeenRecordsSubject } from './record-store-subject.ts'

/** The contents of damaged rows from practice, and worse ones. */
export const RUBBISH: Record<string, Buffer> = {
  nothing: Buffer.alloc(0),
  'two bytes': Buffer.from('zz'),
  'ten bytes of text': Buffer.from('0123456789'),
  'thirteen zeros': Buffer.alloc(13),
  'fourteen zeros': Buffer.alloc(14),
  'fourteen times 0xFF': Buffer.alloc(14, 0xff),
  'zeros as long as a filter': Buffer.alloc(200),
  '0xFF as long as a filter': Buffer.alloc(200, 0xff),
  'a sentence': Buffer.from('the beginning of some file that has nothing to do with filters'),
  'bytes of something else': someBytes(3_000, 7),
}

const KINDS = Object.entries(RUBBISH)

export function seenDamageContract({ store, second, reopen, damage }: SeenRecordsSubject): void {
  /** Damages the filter of a viewer, and returns what a read of it gives. */
  async function damaged(bytes: Buffer, { month = MONTH, expiresAt = EXPIRES_AT, viewer = freshViewer() } = {}) {
    const [before] = await store().getFilters([filterKey(viewer, month)])
    const expected = before?.version ?? 0
    expect(await store().putFilters([filterWrite(viewer, someBytes(200), { month, expiresAt, expected })])).toEqual([true])
    const [whole] = await store().getFilters([filterKey(viewer, month)])
    await damage(filterKey(viewer, month), bytes)
    const [stored] = await store().getFilters([filterKey(viewer, month)])
    if (stored === undefined || whole === undefined) throw new Error('a damaged filter is there for its readers')
    return { viewer, version: stored.version, filter: stored.filter, before: whole.version }
  }

  it.each(KINDS)('a row of %s is read as invalid bytes with a version, and the rows beside it are unchanged', async (_, bytes) => {
    const [other] = freshViewers(1) as [string]
    await store().putFilters([filterWrite(other, someBytes(50))])
    const { viewer, version, filter } = await damaged(bytes)
    await store().putFilters([filterWrite(viewer, someBytes(60), { month: MONTH + 1 })])
    expect(Number.isSafeInteger(version) && version >= 1).toBe(true)
    expect(filter.equals(someBytes(200))).toBe(false)
    const whole = { filter: someBytes(50), version: 1 }
    const read = [filterKey(other), filterKey(viewer), filterKey(viewer, MONTH + 1)]
    for (const opened of [store, second, reopen]) {
      const own = await opened()
      expect(await own.getFilters(read)).toEqual([whole, { filter, version }, { filter: someBytes(60), version: 1 }])
      expect(await own.listFilters([viewer, other])).toEqual([
        [
          { month: MONTH, filter, version },
          { month: MONTH + 1, filter: someBytes(60), version: 1 },
        ],
        [{ month: MONTH, ...whole }],
      ])
    }
    await store().measureFilters()
  })

  it.each(KINDS)('a row of %s is quarantined once, and replaced by the rebuilt filter', async (_, bytes) => {
    const { viewer, version, filter, before } = await damaged(bytes)
    expect(await store().quarantineFilter(filterKey(viewer), version + 1, 'another')).toBe(false)
    const done = await Promise.all(
      [store(), second()].map((own) => own.quarantineFilter(filterKey(viewer), version, 'rubbish', someBytes(70))),
    )
    expect(done.filter(Boolean)).toHaveLength(1)
    const [rebuilt] = await store().getFilters([filterKey(viewer)])
    expect(rebuilt?.filter).toEqual(someBytes(70))
    expect(rebuilt?.version).toBeGreaterThan(Math.max(version, before))
    // A writer with an older version, damaged or intact, is refused.
    for (const expected of [0, before, version])
      expect(await store().putFilters([filterWrite(viewer, someBytes(1), { expected })])).toEqual([false])
    expect(await store().putFilters([filterWrite(viewer, someBytes(80), { expected: rebuilt?.version ?? 0 })])).toEqual([true])
    const aside = (await store().listQuarantined(100_000)).filter((each) => each.viewer === viewer)
    expect(aside).toEqual([{ viewer, month: MONTH, version, filter, reason: 'rubbish' }])
  })

  it.each(KINDS)('a row of %s that is quarantined without a replacement is gone, and can be written with expected 0', async (_, bytes) => {
    const { viewer, version, before } = await damaged(bytes, { viewer: freshNamedViewer() })
    expect(await store().quarantineFilter(filterKey(viewer), version, 'rubbish')).toBe(true)
    expect(await store().getFilters([filterKey(viewer)])).toEqual([undefined])
    expect(await store().putFilters([filterWrite(viewer, someBytes(70))])).toEqual([true])
    const [rebuilt] = await store().getFilters([filterKey(viewer)])
    expect(rebuilt?.filter).toEqual(someBytes(70))
    expect(rebuilt?.version).toBeGreaterThan(Math.max(version, before))
  })

  it.each(KINDS)('a row of %s is overwritten only with its current version, and so are records beside filters', async (_, bytes) => {
    for (const month of [MONTH, 0]) {
      const { viewer, version } = await damaged(bytes, { month })
      const write = (expected: number) => store().putFilters([filterWrite(viewer, someBytes(90), { month, expected })])
      expect(await write(0)).toEqual([false])
      expect(await write(version + 1)).toEqual([false])
      expect(await write(version)).toEqual([true])
      const [stored] = await store().getFilters([filterKey(viewer, month)])
      expect(stored).toEqual({ filter: someBytes(90), version: version + 1 })
    }
  })

  it('a filter that is damaged repeatedly never gets an earlier version again', async () => {
    const viewer = freshViewer()
    let last = 0
    for (const bytes of [...Object.values(RUBBISH), ...Object.values(RUBBISH)]) {
      const { version } = await damaged(bytes, { viewer })
      expect(version).toBeGreaterThan(last)
      expect(await store().quarantineFilter(filterKey(viewer), version, 'rubbish', someBytes(5))).toBe(true)
      last = (await store().getFilters([filterKey(viewer)]))[0]?.version ?? 0
      expect(last).toBeGreaterThan(version)
    }
    const aside = (await store().listQuarantined(100_000)).filter((each) => each.viewer === viewer)
    expect(aside).toHaveLength(2 * KINDS.length)
  })

  it('damaged rows expire at the time of their first write, even if quarantined or overwritten', async () => {
    const at = 900 * DAY_MS
    await purgeAll(store(), at, 1_000)
    const viewers: string[] = []
    for (const bytes of Object.values(RUBBISH)) {
      const [left, over, aside] = [
        await damaged(bytes, { expiresAt: at + 1 }),
        await damaged(bytes, { expiresAt: at + 1 }),
        await damaged(bytes, { expiresAt: at + 1 }),
      ]
      await store().putFilters([filterWrite(over.viewer, someBytes(5), { expected: over.version, expiresAt: EXPIRES_AT })])
      await store().quarantineFilter(filterKey(aside.viewer), aside.version, 'rubbish', someBytes(5))
      viewers.push(left.viewer, over.viewer, aside.viewer)
    }
    await purgeAll(store(), at + 1, 1_000)
    expect((await store().getFilters(viewers.map((viewer) => filterKey(viewer)))).filter((found) => found !== undefined)).toEqual([])
    await store().measureFilters()
  })
}
