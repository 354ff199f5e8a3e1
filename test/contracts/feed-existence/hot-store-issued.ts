/** Seen store contract: issued oids, their lifetime, and the effect of two devices on each other. */
import { expect, it } from 'vitest'
import { freshNamedViewer, freshViewer, numbered } from '../reports.ts'
import { AT, CAPS, issuedOids, play, stage } from './seen.ts'
import { until } from '../../../harness/until.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

export function issuedContract({ store, another, reopen }: SeenStoreSubject): void {
  const put = (viewer: string, oids: string[], now: number, business = 1) => store().putIssued(viewer, business, oids, { ...CAPS, now })

  it('nothing is known of a viewer without issues and plays', async () => {
    expect(await store().getSeen(freshViewer(), 1)).toEqual({ issued: [], staged: [], folds: 0 })
    expect(await store().getSeenMany([])).toEqual([])
  })

  it('issued oids are returned newest first with their times, those of one call in reverse order', async () => {
    const viewer = freshViewer()
    await put(viewer, ['9', 'ü', '10'], AT)
    await put(viewer, ['1'], AT + 1)
    expect((await store().getSeen(viewer, 1)).issued).toEqual([
      { oid: '1', issuedAt: AT + 1 },
      { oid: '10', issuedAt: AT },
      { oid: 'ü', issuedAt: AT },
      { oid: '9', issuedAt: AT },
    ])
  })

  it('calls in the same millisecond are ordered by the position in the list and then by bytes, the last first', async () => {
    const viewer = freshViewer()
    await put(viewer, ['9', 'z'], AT)
    await put(viewer, ['ü', 'y'], AT)
    await put(viewer, ['10'], AT)
    expect(await issuedOids(store(), viewer)).toEqual(['z', 'y', 'ü', '9', '10'])
    // A repeated oid keeps its best position.
    await put(viewer, ['y', '10', 'ü'], AT)
    expect(await issuedOids(store(), viewer)).toEqual(['ü', 'z', 'y', '10', '9'])
  })

  it('beyond the caps the last oids of a call stay, regardless of their bytes, exactly as long as they are young', async () => {
    const viewer = freshViewer()
    const ids = ['z', '1', 'ü', '0', 'y', '5', 'x', '4', 'w', '9']
    await put(viewer, ids, AT)
    expect(await issuedOids(store(), viewer)).toEqual(ids.slice(-CAPS.hardCap).reverse())
    await put(viewer, ['a'], AT + CAPS.minAgeMs - 1)
    expect(await issuedOids(store(), viewer)).toEqual(['a', ...ids.slice(1 - CAPS.hardCap).reverse()])
    await put(viewer, ['a'], AT + CAPS.minAgeMs)
    expect(await issuedOids(store(), viewer)).toEqual(['a', ...ids.slice(1 - CAPS.cap).reverse()])
  })

  it('each of hundreds of oids of one call, up to the client limit, is newer than the one before', async () => {
    const viewer = freshViewer()
    const ids = numbered(512).toSorted((a, b) => Number(a.split('').reverse().join('')) - Number(b.split('').reverse().join('')))
    await store().putIssued(viewer, 1, ids, { ...CAPS, now: AT, cap: 300, minAgeMs: 0, hardCap: 1_000 })
    expect(await issuedOids(store(), viewer)).toEqual(ids.slice(-300).reverse())
  })

  it('an oid that is issued again moves to the front, and is listed once', async () => {
    const viewer = freshViewer()
    await put(viewer, ['1', '2', '2'], AT)
    await put(viewer, ['3'], AT + 1)
    await put(viewer, ['1', '1'], AT + 2)
    expect(await issuedOids(store(), viewer)).toEqual(['1', '3', '2'])
  })

  it('a late call moves nothing back', async () => {
    const viewer = freshViewer()
    await put(viewer, ['1'], AT + 10)
    await put(viewer, ['1', '2'], AT)
    expect((await store().getSeen(viewer, 1)).issued).toEqual([
      { oid: '1', issuedAt: AT + 10 },
      { oid: '2', issuedAt: AT },
    ])
  })

  it('beyond the cap the oldest are removed once they have their minimum age', async () => {
    const viewer = freshViewer()
    for (const [index, oid] of numbered(5).entries()) await put(viewer, [oid], AT + index)
    await put(viewer, ['6', '7'], AT + CAPS.minAgeMs)
    // 1 is exactly old enough. 2 is a millisecond too young, though beyond the cap.
    expect(await issuedOids(store(), viewer)).toEqual(['7', '6', '5', '4', '3', '2'])
    await put(viewer, ['8'], AT + CAPS.minAgeMs + 2)
    expect(await issuedOids(store(), viewer)).toEqual(['8', '7', '6', '5', '4'])
  })

  it('an old entry among the newest stays', async () => {
    const viewer = freshViewer()
    await put(viewer, numbered(3), AT)
    await put(viewer, ['4'], AT + 1_000_000)
    expect((await issuedOids(store(), viewer)).toSorted()).toEqual(['1', '2', '3', '4'])
  })

  it('the hard cap holds at any age, even within one call', async () => {
    const viewer = freshViewer()
    for (let index = 0; index < 12; index++) await put(viewer, [`a${String(index).padStart(2, '0')}`], AT + index)
    expect(await issuedOids(store(), viewer)).toEqual(['a11', 'a10', 'a09', 'a08', 'a07', 'a06', 'a05', 'a04'])
    await put(viewer, numbered(9), AT + 100)
    expect(await issuedOids(store(), viewer)).toEqual(['9', '8', '7', '6', '5', '4', '3', '2'])
  })

  it('two devices at once do not remove issues of each other early', async () => {
    const viewer = freshViewer()
    const other = await another()
    const pages = [numbered(4, 100), numbered(4, 200)] as const
    await Promise.all([put(viewer, pages[0], AT), other.putIssued(viewer, 1, pages[1], { ...CAPS, now: AT + 1 })])
    expect((await issuedOids(store(), viewer)).toSorted()).toEqual([...pages[0], ...pages[1]].toSorted())
    expect((await issuedOids(other, viewer)).toSorted()).toEqual([...pages[0], ...pages[1]].toSorted())
    await other.close()
  })

  it('many concurrent calls lose nothing', async () => {
    const viewer = freshViewer()
    const options = { ...CAPS, now: AT, cap: 200, minAgeMs: 0, hardCap: 1_000 }
    await Promise.all(numbered(100).map((oid) => store().putIssued(viewer, 1, [oid, `b${oid}`], options)))
    expect(await issuedOids(store(), viewer)).toHaveLength(200)
  })

  it('thousands of oids in one call are recorded', async () => {
    const viewer = freshViewer()
    await store().putIssued(viewer, 1, numbered(5_000, 100_000), { ...CAPS, now: AT, cap: 4_500, minAgeMs: 0, hardCap: 10_000 })
    const oids = await issuedOids(store(), viewer)
    expect([oids.length, oids[0], oids.at(-1)]).toEqual([4_500, '104999', '100500'])
  })

  it('equal oids of two businesses, and of viewers with similar ids, are separate', async () => {
    const viewers = [freshViewer(), freshNamedViewer()].flatMap((viewer) => [viewer, `${viewer}:1`, `0${viewer}`])
    for (const [index, viewer] of viewers.entries()) {
      await put(viewer, [String(index)], AT, 1)
      await put(viewer, [`other${index}`], AT, 11)
    }
    const of = viewers.flatMap((viewer) => [1, 11].map((business) => ({ viewer, business })))
    expect((await store().getSeenMany(of)).map(({ issued }) => issued.map(({ oid }) => oid))).toEqual(
      viewers.flatMap((_, index) => [[String(index)], [`other${index}`]]),
    )
  })

  it('a call without oids changes nothing, and a repeated call nothing more', async () => {
    const viewer = freshViewer()
    await put(viewer, ['1', '2'], AT)
    await put(viewer, [], AT + 9_999)
    const before = await store().getSeen(viewer, 1)
    await put(viewer, ['1', '2'], AT)
    expect(await store().getSeen(viewer, 1)).toEqual(before)
  })

  it('the issued oids of a viewer expire together after the last issue, and no other viewer loses anything', async () => {
    const [gone, kept] = [freshViewer(), freshViewer()]
    const purge = async (): Promise<void> => {
      while ((await store().purgeIssued(AT + 5, 2)) > 0);
    }
    await put(kept, ['1', '2'], AT)
    await put(kept, ['3'], AT + 5)
    for (const [index, oid] of numbered(3).entries()) {
      await store().putIssued(gone, 1, [oid], { ...CAPS, now: AT + index, ttlMs: 1 })
      await put(gone, [oid], AT + 5 + index, 2)
    }
    await until('the end of the issued subjects', async () => {
      await purge()
      return (await issuedOids(store(), gone)).length === 0
    })
    expect(await issuedOids(store(), gone, 2)).toEqual(['3', '2', '1'])
    expect(await issuedOids(store(), kept)).toEqual(['3', '2', '1'])
    await put(gone, ['4'], AT + 5)
    await purge()
    expect(await issuedOids(store(), gone)).toEqual(['4'])
  })

  it('with or without a purge, a viewer with a new issue after the expiry starts again', async () => {
    const viewer = freshViewer()
    await store().putIssued(viewer, 1, ['old'], { ...CAPS, now: AT, ttlMs: 1 })
    await until('a beginning', async () => {
      await store().putIssued(viewer, 1, ['new'], { ...CAPS, now: AT + 2, ttlMs: 1 })
      const oids = await issuedOids(store(), viewer)
      return !oids.includes('old')
    })
  })

  it('a purge with limit 0, or before the epoch, does nothing', async () => {
    const viewer = freshViewer()
    await put(viewer, ['1'], AT)
    expect(await store().purgeIssued(AT + 1, 0)).toBe(0)
    for (const moment of [0, -1]) expect(await store().purgeIssued(moment, 10)).toBe(0)
    expect(await issuedOids(store(), viewer)).toEqual(['1'])
  })

  it('issued oids are there after the store was reopened, beside the staged plays', async () => {
    const viewer = freshViewer()
    await put(viewer, ['1'], AT)
    await stage(store(), 0, play(viewer, '1'))
    expect(await (await reopen()).getSeen(viewer, 1)).toEqual({
      issued: [{ oid: '1', issuedAt: AT }],
      staged: [{ oid: '1', playedAt: AT }],
      folds: expect.any(Number),
    })
  })
}
