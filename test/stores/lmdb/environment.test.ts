import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../core/errors.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { openLmdbRecordStore } from '../../../subgraphs/history/stores/lmdb/record-store.ts'
import { freshViewer, keyOf, later, numbered, report, write } from '../../contracts/reports.ts'
import { makeFolder } from './folders.ts'

const options = { regions: 100, sizeMaxGb: 1 }
const timelineCap = 1_000_000

describe('the environment', () => {
  let folder: ReturnType<typeof makeFolder>
  const opened: Environment[] = []
  const open = (fields: Partial<typeof options> = {}): Environment => {
    const environment = openEnvironment(folder.path, { ...options, ...fields })
    opened.push(environment)
    return environment
  }
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(async () => {
    for (const environment of opened.splice(0)) await environment.close()
    folder.remove()
  })

  it('refuses a folder that was written with another number of regions, and names the number', async () => {
    await open().close()
    expect(() => open({ regions: 50 })).toThrow(
      expect.objectContaining({
        code: 'DATA_INCOMPATIBLE',
        message: expect.stringMatching(/with 100 regions, not 50.*stores\.regions to 100/),
      }),
    )
    await open({ regions: 100 }).close()
  })

  it('refuses a folder of another format', async () => {
    const environment = open()
    await environment.write(() => void environment.table('meta').put(Buffer.from('format'), Buffer.from('2')))
    await environment.close()
    expect(() => open()).toThrow(expect.objectContaining({ code: 'DATA_INCOMPATIBLE', message: expect.stringContaining('format 2') }))
  })

  it('an action that throws is rolled back completely, and others of the same turn are not', async () => {
    const environment = open()
    const table = environment.table('test')
    const put = (name: string): void => void table.put(Buffer.from(name), Buffer.from(name))
    const [before, failed, after] = await Promise.allSettled([
      environment.write(() => put('before')),
      environment.write(() => {
        put('failed')
        throw new Error('half way')
      }),
      environment.write(() => put('after')),
    ])
    expect([before.status, failed.status, after.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(environment.read(() => [...table.getKeys()].map(String))).toEqual(['after', 'before'])
  })

  it('closing waits for writes under way, may be repeated, and later calls fail with the reason', async () => {
    const environment = open()
    const store = openLmdbHotStore(environment)
    const viewer = freshViewer()
    const now = later()
    const writes = numbered(20).map((oid) => store.putProgress([write(viewer, oid, report(now))], { now, timelineCap }))
    const closing = environment.close()
    expect(environment.close()).toBe(closing)
    const outcomes = await Promise.all(writes)
    await closing
    expect(outcomes.flat().map((outcome) => outcome.status)).toEqual(numbered(20).map(() => 'written'))
    await expect(store.getSettings(viewer)).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    await expect(store.check()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    await expect(store.setPaused(viewer, true, now)).rejects.toMatchObject({
      code: 'HOT_STORE_UNAVAILABLE',
      message: expect.stringContaining('closed'),
    })
    const reopened = openLmdbHotStore(open())
    expect((await reopened.listTimeline(viewer, [1], undefined, 100)).entries).toHaveLength(20)
  })

  it('a full map is STORE_FULL: nothing is half-written, reads continue, and more room lets the same write pass', async () => {
    const environment = open({ sizeMaxGb: 3 / 1024 })
    const store = openLmdbHotStore(environment)
    const records = openLmdbRecordStore(environment)
    const acknowledged: string[] = []
    let refused: { viewer: string; error: unknown } | undefined
    while (refused === undefined && acknowledged.length < 2_000) {
      const viewer = freshViewer()
      const now = later()
      try {
        await store.putProgress(fiftyWrites(viewer, now), { now, timelineCap })
        acknowledged.push(viewer)
      } catch (error) {
        refused = { viewer, error }
      }
    }
    expect(refused?.error).toMatchObject({ code: 'STORE_FULL', message: expect.stringContaining('stores.sizeMaxGb') })
    expect(isTidemarkError(refused?.error)).toBe(true)
    const rows = numbered(500).map((oid) => ({ key: keyOf('1', oid), record: report(later(), { version: 1 }) }))
    await expect(records.putProgress(rows)).rejects.toMatchObject({ code: 'STORE_FULL' })
    const lengths = async (target: typeof store, viewers: string[]): Promise<Set<number>> => {
      const pages = await Promise.all(viewers.map((viewer) => target.listTimeline(viewer, [1], undefined, 100)))
      return new Set(pages.map((page) => page.entries.length))
    }
    const refusedViewer = refused?.viewer ?? ''
    expect(await lengths(store, acknowledged)).toEqual(new Set([50]))
    expect(await lengths(store, [refusedViewer])).toEqual(new Set([0]))
    expect(await store.countDirty()).toBe(acknowledged.length * 50)
    await environment.close()

    const larger = openLmdbHotStore(open({ sizeMaxGb: 1 }))
    const now = later()
    await larger.putProgress(fiftyWrites(refusedViewer, now), { now, timelineCap })
    expect(await lengths(larger, [...acknowledged, refusedViewer])).toEqual(new Set([50]))
  })
})

function fiftyWrites(viewer: string, now: number) {
  return numbered(50).map((oid) => write(viewer, `subject-${oid}`, report(now, { device: 'd'.repeat(64) })))
}
