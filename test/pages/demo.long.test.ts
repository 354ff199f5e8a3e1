/** The video site of the demo in a real browser: its feed, two devices of one viewer, likes, the history, and a server that goes away and comes back. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../harness/deployment/service.ts'
import { FAST } from '../support/fast.ts'
import { expectAccessible, openPages, type Pages } from './pages.ts'

let pages: Pages
beforeAll(async () => {
  pages = await openPages(FAST)
})
afterAll(async () => {
  await pages.close()
})

async function openDemo(viewer: string, device: string): Promise<Page> {
  const page = await pages.open(`/demo?view=videos&viewer=${viewer}&device=${device}`)
  await page.locator('[data-feed] .card').nth(7).waitFor()
  return page
}

function titles(page: Page, list: 'feed' | 'history'): Promise<string[]> {
  return page.locator(`[data-${list}] .card .title`).allTextContents()
}

test('a new viewer gets a sample of this week, and a feed that leaves out what was watched', async () => {
  const page = await openDemo('ada', 'laptop')
  await page.locator('[data-history] .card').nth(8).waitFor()
  const watched = await titles(page, 'history')
  expect(watched).toHaveLength(9)
  const shown = await titles(page, 'feed')
  expect(shown).toHaveLength(8)
  expect(shown.filter((title) => watched.includes(title))).toEqual([])
  expect(await page.locator('[data-history] .card').first().textContent()).toMatch(/(watched|at \d+:\d\d) on (tv|phone|laptop), /)
  await expectAccessible(page)

  await page.getByRole('button', { name: 'Show more' }).click()
  await page.locator('[data-feed] .card').nth(15).waitFor()
  const more = await titles(page, 'feed')
  expect(new Set(more).size).toBe(16)
  await page.context().close()

  // A second visit continues, because the first pages were served.
  const again = await openDemo('ada', 'laptop')
  expect((await titles(again, 'feed')).filter((title) => more.includes(title))).toEqual([])
  await again.context().close()
})

test('the second of two devices continues at the position of the first, and follows it live', async () => {
  const laptop = await openDemo('ben', 'laptop')
  const tv = await openDemo('ben', 'tv')
  const title = (await titles(laptop, 'feed'))[0] as string
  await laptop
    .getByRole('button', { name: `Watch ${title}` })
    .first()
    .click()
  const player = laptop.getByRole('region', { name: 'Player' })
  await player.getByRole('slider', { name: 'Position' }).fill('120000')
  await tv
    .getByRole('button', { name: `Watch ${title}` })
    .first()
    .waitFor()
  await tv
    .getByRole('button', { name: `Watch ${title}` })
    .first()
    .click()
  const onTv = tv.getByRole('region', { name: 'Player' })
  await expect.poll(() => onTv.locator('[data-position]').textContent()).toBe('2:00')
  expect(await onTv.locator('[data-elsewhere]').textContent()).toContain('laptop')
  await player.getByRole('slider', { name: 'Position' }).fill('150000')
  await expect.poll(() => onTv.locator('[data-position]').textContent()).toBe('2:30')
  // The player runs and reports by itself.
  await player.getByRole('button', { name: 'Continue' }).click()
  await expect.poll(() => onTv.locator('[data-position]').textContent()).toMatch(/^2:3[2-9]$/)
  await player.getByRole('button', { name: 'Pause' }).click()
  await laptop.context().close()
  await tv.context().close()
})

test('a like changes the count here at once, and on the page of another viewer', async () => {
  const mine = await openDemo('cleo', 'laptop')
  const theirs = await openDemo('dora', 'laptop')
  const id = (await theirs.locator('[data-feed] [data-likes]').first().getAttribute('data-likes')) as string
  const countOf = async (page: Page): Promise<number> => Number(await page.locator(`[data-likes="${id}"]`).first().textContent())
  while ((await mine.locator(`[data-likes="${id}"]`).count()) === 0) {
    const before = await mine.locator('[data-feed] .card').count()
    await mine.getByRole('button', { name: 'Show more' }).click()
    await mine.locator('[data-feed] .card').nth(before).waitFor()
  }
  // The likes of the sample reach the counts within a window.
  await expect.poll(async () => /^tidemark_dirty_marks\S* 0$/m.test(await (await fetch(pages.at('/metrics'))).text())).toBe(true)
  const stored = await ask(pages.service.url, 'counter', 'query ($id: ID!) { subjects(business: "video", ids: [$id]) { likeCount } }', {
    id,
  })
  const before = stored.data.subjects[0].likeCount as number
  for (const page of [mine, theirs]) await expect.poll(() => countOf(page)).toBe(before)
  const button = mine.locator(`button:has([data-likes="${id}"])`).first()
  await button.click()
  await expect.poll(() => button.getAttribute('aria-pressed')).toBe('true')
  await expect.poll(() => countOf(mine)).toBe(before + 1)
  await expect.poll(() => countOf(theirs)).toBe(before + 1)
  await button.click()
  await expect.poll(() => countOf(theirs)).toBe(before)
  await mine.context().close()
  await theirs.context().close()
})

test('the page removes an entry of the history, pauses the history and clears it', async () => {
  const page = await openDemo('eve', 'laptop')
  await page.locator('[data-history] .card').nth(8).waitFor()
  const [first] = await titles(page, 'history')
  await page.getByRole('button', { name: `Remove ${first} from the history` }).click()
  await expect.poll(async () => (await titles(page, 'history')).length).toBe(8)
  expect(await titles(page, 'history')).not.toContain(first)

  await page.getByLabel('Pause the history').check()
  const title = (await titles(page, 'feed'))[0] as string
  await page
    .getByRole('button', { name: `Watch ${title}` })
    .first()
    .click()
  await page.getByRole('region', { name: 'Player' }).getByRole('slider', { name: 'Position' }).fill('60000')
  await page.getByLabel('Pause the history').uncheck()
  expect(await titles(page, 'history')).not.toContain(title)

  await page.getByRole('button', { name: 'Clear all' }).click()
  await expect.poll(async () => (await titles(page, 'history')).length).toBe(0)
  await page.context().close()
})

test('the page paints within a second, and works by keyboard', async () => {
  const page = await openDemo('finn', 'laptop')
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  expect(paint).toBeLessThan(1_000)
  const [title] = await titles(page, 'feed')
  await page.locator('[data-feed] .cover').first().focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate<string>('document.activeElement.textContent')).toBe(title)
  await page.context().close()
})

test('the page shows that the server is down, and recovers by itself', async () => {
  const own = await openPages()
  try {
    const page = await own.open('/demo?view=videos&viewer=gus')
    await page.locator('[data-feed] .card').nth(7).waitFor()
    await own.restart(async () => {
      await page.getByRole('button', { name: 'Show more' }).click()
      await page.getByText('The server cannot be reached.').waitFor()
    })
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.locator('[data-feed] .card').nth(15).waitFor()
    await expect.poll(() => page.getByText('The server cannot be reached.').count()).toBe(0)
    await page.getByText('live', { exact: true }).waitFor()
  } finally {
    await own.close()
  }
})

test('on a server that accepts only registered operations, the demo names the setting and stops trying, and the console works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-manifest-'))
  const manifest = join(folder, 'manifest.json')
  const body = 'query Other { __typename }'
  const id = createHash('sha256').update(body).digest('hex')
  writeFileSync(
    manifest,
    JSON.stringify({ format: 'apollo-persisted-query-manifest', version: 1, operations: [{ id, name: 'Other', type: 'query', body }] }),
  )
  const own = await openPages({ persisted: { mode: 'enforce', manifests: [manifest] } })
  try {
    const views = await Promise.all(['feed', 'videos'].map((view) => own.open(`/demo?view=${view}&viewer=hana`)))
    let calls = 0
    for (const page of views) {
      await page.getByText('accepts only registered operations (persisted.mode: enforce)').waitFor()
      await page.getByText('refused', { exact: true }).waitFor()
      expect(await page.getByText('connecting…').count()).toBe(0)
      expect(await page.getByLabel('Token').count()).toBe(0)
      page.on('request', () => (calls += 1))
    }
    await views[0]?.waitForTimeout(3_000)
    expect(calls).toBe(0)
    const console = await own.open('/console')
    await console.getByText('All stores answer.').waitFor()
    expect(own.complaints).toEqual([])
  } finally {
    await own.close()
    rmSync(folder, { recursive: true })
  }
})

test('no page logged an error or called another machine', () => {
  expect(pages.complaints).toEqual([])
})
