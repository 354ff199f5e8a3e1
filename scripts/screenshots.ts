/**
 * `npm run screenshots` writes the pictures of the documents, docs/images/*.png, from a real service and a real browser. The pictures differ
 * from run to run, by times and rates, so no check compares them.
 */
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { startBrowser } from '../harness/browser.ts'
import { ask, makeServiceFolder, startService } from '../harness/deployment/service.ts'

const FOLDER = join(import.meta.dirname, '..', 'docs', 'images')
const SIZE = { width: 1_200, height: 800 }
const BYTES_MAX = 150_000
/** The console shows rates of this long. */
const TRAFFIC_MS = 40_000

const { folder, remove } = makeServiceFolder()
const service = await startService({
  folder,
  settings: { history: { flushAgeMaxMs: 2_000, sweepAfterMs: 10_000 }, thumbup: { flushAgeMaxMs: 1_000, windowMs: 1_000 } },
})
const browser: Browser = await startBrowser()
const { origin } = new URL(service.url)
try {
  await takeAll()
} finally {
  await browser.close()
  await service.stop()
  remove()
}

async function takeAll(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  await take('demo', '/demo?viewer=ada', async (page) => {
    await page.locator('[data-post]').nth(7).waitFor()
    // The likes of the sample reach the counts within a window. A post of another viewer then waits.
    await sleep(3_000)
    await ask(
      service.url,
      'ben',
      'mutation { publishPost(input: { clientKey: "ben", text: "Is anybody up for the Wadden Sea in May?" }) { post { id } } }',
      {},
    )
    await page.reload()
    await page.locator('[data-post]').nth(7).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await ask(service.url, 'cleo', 'mutation { publishPost(input: { clientKey: "cleo", text: "Count me in." }) { post { id } } }', {})
    await page.locator('[data-waiting]').waitFor()
    await page.locator('button:has([data-likes])').nth(1).click()
    await page.mouse.move(SIZE.width / 2, 2)
    await sleep(500)
  })
  await take('player', '/demo?view=videos&viewer=ada&device=laptop', async (page) => {
    await page.locator('[data-history] .card').nth(8).waitFor()
    // The first visit says that it wrote a sample.
    await page.reload()
    await page.locator('[data-feed] .card').nth(7).waitFor()
    await page.locator('[data-feed] .card .cover').first().click()
    await page.getByRole('slider', { name: 'Position' }).fill('154000')
  })
  await take('home', '/', async (page) => {
    await page.getByText('ready', { exact: true }).waitFor()
    await page.getByRole('button', { name: /^Run/ }).first().click()
    await page.locator('#calls [role=status]').first().waitFor()
  })
  await take('console', '/console', async (page) => {
    await page.getByText('All stores answer.').waitFor()
    await traffic(TRAFFIC_MS)
  })
  await take('graphiql', '/graphql', async (page) => {
    await page.getByRole('button', { name: /^Execute query/ }).click()
    await page.getByText('"subjects"').first().waitFor()
    await page.mouse.move(SIZE.width / 2, 2)
    await sleep(500)
  })
}

async function take(name: string, path: string, prepare: (page: Page) => Promise<void>): Promise<void> {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
  await page.goto(`${origin}${path}`)
  await prepare(page)
  const file = join(FOLDER, `${name}.png`)
  writeFileSync(file, await page.screenshot())
  await page.close()
  const { size } = statSync(file)
  if (size > BYTES_MAX) throw new Error(`${file} has ${size} bytes, and at most ${BYTES_MAX} are allowed: show less on it`)
  console.log(`${file}: ${size} bytes`)
}

/** Players, likes and feeds, as a small site has them. The load swings, so that the charts have a shape. */
async function traffic(forMs: number): Promise<void> {
  const report =
    'mutation PlayerHeartbeat($id: ID!, $at: Float!) { reportProgress(input: { business: "video", id: $id, position: $at, duration: 1800000, device: "tv" }) { outcome } }'
  const like = 'mutation Like($id: ID!) { setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome } }'
  const feed = 'query NextInFeed($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }'
  const card =
    'query Cards($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id likeCount viewerMark viewerProgress { position } } }'
  const begun = Date.now()
  for (let tick = 0; Date.now() - begun < forMs; tick++) {
    const load = 12 + Math.round(8 * Math.sin(tick / 12))
    const ids = Array.from({ length: 12 }, (_, at) => `demo-${1 + ((tick + at * 5) % 48)}`)
    await Promise.all([
      ...Array.from({ length: load }, (_, at) =>
        ask(service.url, `viewer-${tick % 40}-${at}`, report, { id: `demo-${1 + (at % 48)}`, at: 60_000 + tick * 1_000 }),
      ),
      ...Array.from({ length: 1 + (tick % 4) }, (_, at) =>
        ask(service.url, `viewer-${tick}-${at}`, like, { id: `demo-${1 + (tick % 48)}` }),
      ),
      ...Array.from({ length: 1 + (tick % 3) }, () => ask(service.url, `viewer-${tick}`, feed, { ids })),
      ...Array.from({ length: 20 }, (_, at) => ask(service.url, `viewer-${at}`, card, { ids: ['demo-3', 'demo-11'] })),
      sleep(100),
    ])
  }
}
