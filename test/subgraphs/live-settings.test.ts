/** Windows, flushes and sizes of the moment hold in a running subgraph and its job, without a restart. */
import { afterEach, expect, test } from 'vitest'
import { makeConfig, type Config } from '../../config/config.ts'
import { liveView } from '../../config/live/live-view.ts'
import { until } from '../../harness/until.ts'
import { makeFilterCache } from '../../subgraphs/feed-existence/read/filter-cache.ts'
import { makeSharedLookup } from '../../loaders/lookup/shared.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'
import { makeDataFolder, makeSwitchedStores, serveOn } from './switched-stores.ts'
import { openMarkedStores, serveThumbup, viewerOf } from './thumbup/marked-stores.ts'

const HOUR = 3_600_000
const closings: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

function makeLive(values: Record<string, object>): { config: Config; set(more: Record<string, object>): void } {
  const of = (more: object) => makeConfig([{ name: 'test', values: { stores: { regions: 4 }, ...values, ...more } }])
  let now = of({})
  return { config: liveView(() => now), set: (more) => void (now = of(more)) }
}

test('a history flush of fewer keys holds for the next report', async () => {
  const live = makeLive({ history: { flushAgeMaxMs: HOUR, flushKeysMax: 1_000, sweepAfterMs: 2 * HOUR } })
  const folder = makeDataFolder()
  const served = serveOn(makeSwitchedStores(), folder.path, undefined, live.config)
  closings.push(folder.remove, served.stop)
  const report = (id: string) =>
    served.history.service.report({ id: '7', scopes: [] }, [{ business: 'video', id, position: 60_000 }], new Set())
  await report('a')
  expect(served.history.figures()).toMatchObject({ aggregator: { held: 1, flushed: 0 } })
  live.set({ history: { flushAgeMaxMs: HOUR, flushKeysMax: 2, sweepAfterMs: 2 * HOUR } })
  await report('b')
  expect(served.history.figures()).toMatchObject({ aggregator: { held: 0, flushed: 2 } })
})

test.each([
  ['a setting of a business', { finishedPercent: 50, enabled: false, thumbup: { likesCap: 50 } }, true],
  ['whether a business has likes', { thumbup: { enabled: false } }, false],
])('a change of %s keeps the schema: %s', async (_, changed, isKept) => {
  const video = { number: 1, name: 'video', entity: 'Video' }
  const article = { number: 2, name: 'article', entity: 'Article' }
  const live = makeLive({ businesses: [video, article] })
  const folder = makeDataFolder()
  const served = serveOn(makeSwitchedStores(), folder.path, undefined, live.config)
  closings.push(folder.remove, served.stop)
  const { schema, sdl } = served.history
  live.set({ businesses: [{ ...video, ...changed }, article] })
  expect(served.history.schema === schema).toBe(isKept)
  live.set({ businesses: [video, article, { number: 9, name: 'podcast', entity: 'Podcast' }] })
  expect(served.history.schema.getType('Podcast')).toBeDefined()
  expect(served.history.sdl).not.toBe(sdl)
})

test('an open window of marks ends soon after its time was shortened', async () => {
  const windows = (windowMs: number) => ({ thumbup: { flushKeysMax: 1, windowMs, sweepAfterMs: 10 * HOUR } })
  const live = makeLive(windows(600_000))
  const stores = openMarkedStores()
  const served = serveThumbup(stores, live.config)
  const job = await served.subgraph.startJob()
  closings.push(stores.close, job.stop, served.stop)
  const like = 'mutation { setMark(input: {business: "video", id: "s", mark: LIKE}) { outcome userErrors { code } } }'
  expect((await served.ask(like, viewerOf('7'))).data.setMark).toMatchObject({ outcome: 'ACCEPTED', userErrors: [] })
  await until('the window has the mark', () => served.subgraph.figures().flushes.messages === 1)
  expect(await stores.plain.hot.countDirtyMarks()).toBe(1)
  live.set(windows(1))
  await until('the mark is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
})

test('filters in memory begin anew with another size, and hold as many as it allows', async () => {
  const options = { bytesMax: 100_000, ttlMs: HOUR, monthsBefore: 3, futureMaxMs: 300_000 }
  const share = (load: Parameters<Parameters<typeof makeFilterCache>[2]>[0]) =>
    makeSharedLookup(load, (viewer: string) => viewer, { callsMax: 4, keysMax: 25 })
  const records = { getFilters: (keys: readonly unknown[]) => Promise.resolve(keys.map(() => undefined)) }
  const cache = makeFilterCache(makeSteppedClock(), records, share, options, () => undefined)
  const readAll = () => Promise.all(Array.from({ length: 50 }, (_, at) => cache.get(String(at), 5)))
  await readAll()
  expect(cache.figures().entries).toBe(50)
  options.bytesMax = 10_000
  await readAll()
  expect(cache.figures().entries).toBeLessThan(35)
  options.bytesMax = 100_000
  expect(cache.figures().entries).toBe(0)
})
