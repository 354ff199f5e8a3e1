import { describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbSeenStore } from '../../../../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import type { RingShape } from '../../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { seenStoreContract } from '../../../../contracts/feed-existence/hot-store.ts'
import { AT, CAPS, issuedOids, play, stagedOf } from '../../../../contracts/feed-existence/seen.ts'
import { openContractStore } from '../../../history/stores/lmdb/contract-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

const regions = 100
const shape = { slots: 6, shards: 500 }
const DAY = 86_400_000

seenStoreContract('lmdb', shape, () =>
  openContractStore(regions, (environment, other: RingShape = shape) => openLmdbSeenStore(environment, other)),
)

describe('the seen store on LMDB', () => {
  it('flags of past days make room for new ones', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    const store = openLmdbSeenStore(environment, shape)
    const claim = (viewer: number, day: number) =>
      store.putIssued(String(viewer), 1, ['7'], { now: day * DAY + 1, cap: 5, minAgeMs: 0, hardCap: 5, ttlMs: DAY, day })
    const left = () => environment.read(() => [...environment.table('seen-days').getKeys()].map((key) => key.readUInt32BE(0)))
    for (let viewer = 0; viewer < 40; viewer++) expect(await claim(viewer, 20_000)).toBe(true)
    for (let viewer = 0; viewer < 3; viewer++) expect(await claim(viewer, 20_001)).toBe(true)
    expect(left()).toHaveLength(43)
    // Three days later they are removed, four with each claim: until then, it may be yesterday somewhere.
    for (let viewer = 0; viewer < 10; viewer++) expect(await claim(viewer, 20_003)).toBe(true)
    expect(new Set(left())).toEqual(new Set([20_001, 20_003]))
    expect(left()).toHaveLength(13)
    await store.close()
    await environment.close()
    folder.remove()
  })

  it('expired issues are purged in steps, even in a full store, and leave nothing behind', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    const store = openLmdbSeenStore(environment, shape)
    const viewers = Array.from({ length: 1_200 }, (_, viewer) => String(viewer))
    const issue = (some: readonly string[], oid: string, now: number) =>
      Promise.all(some.map((viewer) => store.putIssued(viewer, 1, [oid], { ...CAPS, now, ttlMs: 10 * DAY })))
    const keysOf = (table: string) => environment.read(() => [...environment.table(table).getKeys()])
    await issue(viewers, 'a', AT)
    // A hundred viewers are served every day.
    const loyal = viewers.slice(0, 100)
    for (let day = 1; day <= 8; day++) await issue(loyal, `b${day}`, AT + day * DAY)
    expect([keysOf('seen').length, keysOf('seen-served').length]).toEqual([1_200, 1_200])
    await environment.close()

    const full = openEnvironment(folder.path, { regions, sizeMaxGb: 0.000_001 })
    const opened = openLmdbSeenStore(full, shape)
    await expect(opened.putIssued('1', 1, ['1'], { ...CAPS, now: AT })).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(await opened.purgeIssued(AT, 1_000)).toBe(0)
    const steps: number[] = []
    const purge = async (servedBefore: number, limit: number) => {
      for (let looked = 1; looked > 0;) steps.push((looked = await opened.purgeIssued(servedBefore, limit)))
    }
    await purge(AT + 1, 150)
    expect(steps.splice(0)).toEqual([...Array.from({ length: 8 }, () => 150), 0])
    const left = (table: string) => full.read(() => [...full.table(table).getKeys()].length)
    expect([left('seen'), left('seen-served')]).toEqual([100, 100])
    expect(await issuedOids(opened, '7')).toEqual(['b8', 'b7', 'b6', 'b5', 'b4'])
    // Viewers who came back were looked at, and not again before their time.
    await purge(AT + 8 * DAY, 1_000)
    expect(steps.splice(0)).toEqual([0])
    await purge(AT + 8 * DAY + 1, 1_000_000)
    expect(steps).toEqual([100, 0])
    expect([left('seen'), left('seen-served')]).toEqual([0, 0])
    await full.close()
    folder.remove()
  })

  it('a full store refuses writes with a code, and its content is still read and folded', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 0.003 })
    const store = openLmdbSeenStore(environment, shape)
    try {
      const viewers: string[] = []
      const plays = (viewer: string) => Array.from({ length: 500 }, (_, oid) => play(viewer, String(oid), AT))
      await expect(async () => {
        for (let viewer = 1; viewer < 10_000; viewer++) {
          await store.stagePlays(plays(String(viewer)), { now: AT, slot: 1 })
          viewers.push(String(viewer))
          // The room is measured every 50 ms.
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }).rejects.toMatchObject({ code: 'STORE_FULL' })
      await expect(store.putIssued('1', 1, ['1'], { now: AT, cap: 1, minAgeMs: 0, hardCap: 1, ttlMs: DAY })).rejects.toMatchObject({
        code: 'STORE_FULL',
      })
      expect((await store.countRing())[1]).toBe(viewers.length)
      expect((await store.readStaged(1, viewers)).every((staged) => staged.length === 500)).toBe(true)
      await store.removeStaged(
        1,
        viewers.map((viewer) => ({ viewer, plays: plays(viewer).map(stagedOf) })),
      )
      expect((await store.countRing())[1]).toBe(0)
    } finally {
      await environment.close()
      folder.remove()
    }
  })

  it('calls after the files were closed fail with a code, and do not hang', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    const store = openLmdbSeenStore(environment, shape)
    await environment.close()
    folder.remove()
    for (const call of [
      () => store.putIssued('1', 1, ['1'], { now: 1, cap: 1, minAgeMs: 0, hardCap: 1, ttlMs: DAY }),
      () => store.stagePlays([play('1', '1')], { now: 1, slot: 0 }),
      () => store.purgeIssued(1, 1),
      () => store.getSeen('1', 1),
      () => store.getSeenMany([{ viewer: '1', business: 1 }]),
      () => store.filledShards(0, [0]),
      () => store.listRing(0, 0, 1),
      () => store.readStaged(0, ['1']),
      () => store.removeStaged(0, [{ viewer: '1', plays: [] }]),
      () => store.countRing(),
      () => store.getRingLayouts(),
      () => store.putRingLayout({ slots: 6, shards: 100, since: 1 }),
      () => store.check(),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })

  it('a ring without slots, or whose shards do not match the regions, is refused with a valid value', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    const open = (slots: number, shards: number) => () => openLmdbSeenStore(environment, { slots, shards })
    expect(open(6, 550)).toThrow(/existence.shards 550 is not a multiple of stores.regions 100.*use 600/)
    expect(open(6, 0)).toThrow(/use 100/)
    for (const slots of [1, 256, 2.5]) expect(open(slots, 500)).toThrow(/existence.slots/)
    await environment.close()
    folder.remove()
  })
})
