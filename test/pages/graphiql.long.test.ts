/** The home page and the tabs of GraphiQL, in a real browser: each tab works as its comment says. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisIsHere } from '../../harness/deployment/redis-servers.ts'
import { eventually } from '../../harness/until.ts'
import { expectAccessible, openPages, openPagesOnServers, type Pages } from './pages.ts'

let pages: Pages
beforeAll(async () => {
  pages = await openPages()
})
afterAll(async () => {
  await pages.close()
})

const DEGRADED = /"extensions": \{\s+"degraded": \[\s+"hotStore"/

async function openTab(page: Page, tab: string): Promise<void> {
  await page.locator('.graphiql-tab-button', { hasText: tab }).click()
  // The editor follows a moment later, and the button runs its text.
  await page
    .locator('.graphiql-query-editor')
    .getByText(new RegExp(`(query|mutation|subscription)\\s${tab}\\b`))
    .first()
    .waitFor()
}

/** Runs the tab until its answer has this. GraphiQL reads the name of the operation a moment after the text. */
async function expectAnswer(page: Page, tab: string, text: string | RegExp): Promise<void> {
  await openTab(page, tab)
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: /^Execute query/ }).click()
      await page.getByRole('button', { name: /^Execute query/ }).waitFor()
      return answer(page)
    })
    .toMatch(text)
}

function answer(page: Page): Promise<string> {
  // Monaco writes each space as one that does not break.
  return page
    .locator('.graphiql-response')
    .innerText()
    .then((text) => text.replaceAll('\u00a0', ' '))
}

/** A window that runs the subscription. */
async function openFollower(on: Pages): Promise<Page> {
  const follower = await on.open('/graphql')
  await openTab(follower, 'Follow')
  const stop = follower.getByRole('button', { name: /^Stop/ })
  await eventually(async () => {
    if (await stop.isVisible()) return
    // An early click runs the operation of the previous tab.
    await follower.getByRole('button', { name: /^Execute query/ }).click({ timeout: 1_000 })
    await stop.waitFor({ timeout: 1_000 })
  })
  return follower
}

/** Reports until the window that follows shows a change with another token than now. */
async function expectNewChange(follower: Page, reporter: Page): Promise<void> {
  const tokenOf = async (): Promise<string | undefined> => /"kind": "REPORTED",\s+"token": "(\w+)"/.exec(await answer(follower))?.[1]
  const before = await tokenOf()
  await expect
    .poll(
      async () => {
        await expectAnswer(reporter, 'Report', '"outcome": "ACCEPTED"')
        return [undefined, before].includes(await tokenOf())
      },
      { timeout: 30_000 },
    )
    .toBe(false)
}

test('the first tab shows videos; the others report, like, ask for a feed, and list the history', async () => {
  const page = await pages.open('/graphql')
  expect(await page.title()).toBe('Tidemark')
  await expectAnswer(page, 'Videos', '"viewerMark": "NONE"')
  await expectAnswer(page, 'Feed', /"41",\s+"42",\s+"43"/)
  await expectAnswer(page, 'Report', '"outcome": "ACCEPTED"')
  await expectAnswer(page, 'Like', '"likeCount": 1')
  await expectAnswer(page, 'Feed', /"41",\s+"43"/)
  await expectAnswer(page, 'History', '"position": 90000')
  await page.context().close()
})

test('the subscription tab in a second window shows the reports of the first window', async () => {
  const follower = await openFollower(pages)
  const reporter = await pages.open('/graphql')
  await expectNewChange(follower, reporter)
  await follower.context().close()
  await reporter.context().close()
})

test('the home page: its state, and calls that run', async () => {
  const page = await pages.open('/')
  await page.getByText('ready', { exact: true }).waitFor()
  for (const button of await page.getByRole('button', { name: /^Run/ }).all()) await button.click()
  await expect.poll(() => page.locator('#calls [role=status]').count()).toBe(8)
  const answers = await page.locator('#calls [role=status]').allTextContents()
  for (const text of answers) expect(text).not.toContain('"errors"')
  expect(answers[0]).toContain('"outcome": "ACCEPTED"')
  await expectAccessible(page)
  for (const link of await page.locator('ul.doors a').all()) {
    const path = (await link.getAttribute('href')) as string
    expect([path, (await fetch(pages.at(path), { headers: { accept: 'text/html,*/*' } })).status]).toEqual([path, 200])
  }
  await page.context().close()
})

test('files beside the pages are not served, and methods other than GET are refused', async () => {
  for (const path of [
    '/pages/tsconfig.json',
    '/pages/../package.json',
    '/pages/%2e%2e/package.json',
    '/pages/library/zod/package.json',
    '/examples/partner-subgraph/server.js',
  ]) {
    const answered = await fetch(pages.at(path))
    expect([path, answered.status]).toEqual([path, 404])
  }
  expect((await fetch(pages.at('/demo'), { method: 'POST' })).status).toBe(405)
})

test('production serves no page unless it is enabled', async () => {
  const auth = { secret: '0123456789abcdef0123456789abcdef' }
  const closed = await openPages({ server: { mode: 'production' }, auth })
  for (const path of ['/', '/demo', '/console', '/pages/shared/style.css'])
    expect((await fetch(closed.at(path), { headers: { accept: 'text/html' } })).status).toBe(404)
  await closed.close()
  const open = await openPages({ server: { mode: 'production', pages: ['demo'] }, auth })
  expect((await fetch(open.at('/console'))).status).toBe(404)
  const page = await open.open('/demo')
  await page.getByText('This server needs a signed token').waitFor()
  await page.getByLabel('Token').waitFor()
  await page.context().close()
  await open.close()
})

test.skipIf(!(await redisIsHere()))(
  'while Redis is down, queries and reports answer and name the store; the subscription continues when it is back',
  async () => {
    const { servers, pages: own } = await openPagesOnServers({})
    try {
      const follower = await openFollower(own)
      const page = await own.open('/graphql')
      await expectAnswer(page, 'Videos', '"viewerSeen"')
      expect(await answer(page)).not.toContain('degraded')
      await expectNewChange(follower, page)

      await servers.redis.kill()
      await expectAnswer(page, 'Videos', DEGRADED)
      expect(await answer(page)).toContain('"likeCount"')
      await expectAnswer(page, 'Report', DEGRADED)
      expect(await answer(page)).toContain('"outcome": "ACCEPTED"')
      await expectAnswer(page, 'History', DEGRADED)
      await expectAnswer(page, 'Feed', DEGRADED)
      expect(await follower.getByRole('button', { name: /^Stop/ }).isVisible()).toBe(true)

      await servers.redis.start()
      await expectNewChange(follower, page)
      await expectAnswer(page, 'Videos', /"position": 90000(?![^]*degraded)/)
      expect(own.complaints).toEqual([])
    } finally {
      await own.close()
      await servers.remove()
    }
  },
)

test('no page logged an error or called another machine', () => {
  expect(pages.complaints).toEqual([])
})
