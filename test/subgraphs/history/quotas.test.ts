/** The reports that a business at its quota of reports or of stored records still accepts. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { until } from '../../../harness/until.ts'
import type { HistoryJob } from '../../../subgraphs/history/persist/job.ts'
import { makeDataFolder, makeSwitchedStores, serveOn, type Folder, type Served, type SwitchedStores } from '../switched-stores.ts'

let stores: SwitchedStores
let folder: Folder
let served: Served
let job: HistoryJob | undefined
beforeEach(() => {
  stores = makeSwitchedStores()
  folder = makeDataFolder()
})
afterEach(async () => {
  await served.stop()
  await job?.stop()
  job = undefined
  folder.remove()
})

function serve(video: object) {
  const config = makeConfig([
    {
      name: 'test',
      values: {
        stores: { regions: 4 },
        history: { timelineCap: 10, flushAgeMaxMs: 20, flushKeysMax: 5, sweepAfterMs: 40, sweepEveryMs: 20 },
        businesses: [
          { number: 1, name: 'video', entity: 'Video', history: video },
          { number: 2, name: 'article', entity: 'Article' },
        ],
      },
    },
  ])
  served = serveOn(stores, folder.path, undefined, config)
}

/** Codes of refused reports; the outcomes of the others. */
async function report(ids: readonly string[], { viewer = '7', business = 'video' } = {}): Promise<string[]> {
  const degraded: Degraded = new Set()
  const inputs = ids.map((id) => ({ business, id, position: 60_000 }))
  const answers = await served.history.service.report({ id: viewer, scopes: [] }, inputs, degraded)
  return answers.map((answer) => ('code' in answer ? answer.code : answer.outcome))
}

/** Returns the viewers whose reports were accepted meanwhile. */
async function untilFull(): Promise<string[]> {
  let next = 100
  await until('the quota is known', async () => (await report(['new'], { viewer: String(next++) }))[0] === 'QUOTA_EXCEEDED')
  return Array.from({ length: next - 101 }, (_, at) => String(100 + at))
}

test("a flood of one business is refused by its own rate, and another business's reports pass", async () => {
  serve({ reportsPerSecondMax: 3 })
  const ids = Array.from({ length: 100 }, (_, at) => `s${at}`)
  const [video, article] = await Promise.all([report(ids), report(ids, { business: 'article' })])
  expect(video.slice(0, 3)).toEqual(['ACCEPTED', 'ACCEPTED', 'ACCEPTED'])
  expect(video.filter((each) => each === 'QUOTA_EXCEEDED').length).toBeGreaterThan(90)
  expect(new Set(article)).toEqual(new Set(['ACCEPTED']))
})

test('a full business refuses new subjects, and accepts known ones, deletions, and then as many new ones', async () => {
  serve({ recordsMax: 2 })
  job = await served.history.startJob()
  expect(await report(['a', 'b'])).toEqual(['ACCEPTED', 'ACCEPTED'])
  const before = await untilFull()
  expect(await report(['a', 'c', 'b'])).toEqual(['ACCEPTED', 'QUOTA_EXCEEDED', 'ACCEPTED'])
  expect(await report(['c'], { business: 'article' })).toEqual(['ACCEPTED'])
  const viewer = (id: string) => ({ id, scopes: [] })
  await served.history.service.deleteHistory(viewer('7'), 'video', ['a', 'b'], new Set())
  for (const id of before) await served.history.service.deleteHistory(viewer(id), 'video', ['new'], new Set())
  await until('there is room', async () => (await report(['c']))[0] === 'ACCEPTED')
})

test('while no store can tell whether a subject is new, a full business accepts it', async () => {
  serve({ recordsMax: 1 })
  job = await served.history.startJob()
  await report(['a', 'b'])
  await untilFull()
  stores.set('hot', 'down')
  stores.set('records', 'down')
  expect(await report(['waits'])).toEqual(['ACCEPTED'])
  stores.set('records', 'up')
  // The report waits in the journal, where no lookup finds it.
  expect(await report(['waits'])).toEqual(['ACCEPTED'])
  stores.set('hot', 'up')
})

test('without a quota of records, nothing is read for it', async () => {
  serve({ reportsPerSecondMax: 1_000 })
  await report(['a'])
  await new Promise((resolve) => void setTimeout(resolve, 300))
  expect(stores.calls.filter((call) => call === 'records.listAllProgress')).toEqual([])
})
