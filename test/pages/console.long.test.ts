/** The console in a real browser: figures that follow the writes, one viewer's data, callers without the scope, and a store that is killed. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OwnServers } from '../../harness/deployment/own-servers.ts'
import { redisIsHere } from '../../harness/deployment/redis-servers.ts'
import { ask, makeServiceFolder } from '../../harness/deployment/service.ts'
import { startPartner, VIDEOS } from '../support/partner.ts'
import { FAST } from '../support/fast.ts'
import { expectAccessible, openPages, openPagesOnServers, type Pages } from './pages.ts'

const REPORT =
  'mutation Report($id: ID!) { reportProgress(input: { business: "video", id: $id, position: 60000, duration: 600000, device: "tv" }) { outcome } }'
const MARK = 'mutation Like($id: ID!) { setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome } }'
const COUNT = 'query Count { subjects(business: "video", ids: ["hot"]) { likeCount } }'

function figure(page: Page, name: string): Promise<number> {
  return page
    .locator(`[data-figure=${name}]`)
    .textContent()
    .then((text) => Number((text ?? '').replaceAll(',', '')))
}

describe('on the embedded stores', () => {
  let pages: Pages
  beforeAll(async () => {
    pages = await openPages(FAST)
  })
  afterAll(async () => {
    await pages.close()
  })

  test('reports, marks and operations show within seconds', async () => {
    const page = await pages.open('/console')
    await page.getByText('All stores answer.').waitFor()
    const highest: Record<string, number> = {}
    let calls = 0
    async function note(): Promise<void> {
      await Promise.all([
        ...Array.from({ length: 10 }, () => ask(pages.service.url, `viewer-${calls % 7}`, REPORT, { id: `v${calls++}` })),
        ask(pages.service.url, 'viewer-1', MARK, { id: `v${calls}` }),
      ])
      for (const name of ['reports', 'marks', 'rows', 'flushes', 'requests', 'p99'])
        highest[name] = Math.max(highest[name] ?? 0, (await figure(page, name)) || 0)
    }
    await expect
      .poll(
        async () => {
          await note()
          return Object.values(highest).every((value) => value > 0)
        },
        { timeout: 30_000 },
      )
      .toBe(true)
    expect(highest['reports']).toBeGreaterThan(highest['marks'] as number)
    const row = page.locator('[data-operation=Report] td')
    await expect.poll(async () => Number(((await row.nth(2).textContent()) ?? '').replaceAll(',', ''))).toBe(calls)
    // A mutation costs 10 points.
    expect(Number(await row.nth(4).textContent())).toBeGreaterThanOrEqual(10)
    expect(await page.locator('[data-operation=Like] td').nth(1).textContent()).toBe('mutation')
    await expectAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page)
    await page.context().close()
  })

  test('a subject that many read at once is listed as hot', async () => {
    const page = await pages.open('/console')
    await expect
      .poll(
        async () => {
          await Promise.all(Array.from({ length: 60 }, () => ask(pages.service.url, 'reader', COUNT)))
          return page.locator('[data-hot=hot]').count()
        },
        { timeout: 30_000, interval: 10 },
      )
      .toBe(1)
    await page.context().close()
  })

  test('the console shows the data of one viewer on request, and works by keyboard', async () => {
    await ask(pages.service.url, 'iris', REPORT, { id: 'seen-by-iris' })
    await ask(pages.service.url, 'iris', MARK, { id: 'liked-by-iris' })
    await ask(pages.service.url, 'iris', 'mutation { updateHistorySettings(input: { paused: true }) { settings { paused } } }')
    const page = await pages.open('/console')
    await page.getByLabel('Viewer id').fill('iris')
    await page.keyboard.press('Enter')
    const found = page.locator('[data-viewer=iris]')
    await found.waitFor()
    const text = (await found.innerText()).replaceAll(/\s+/g, ' ')
    expect(text).toContain('history paused')
    expect(text).toMatch(/video\/seen-by-iris .* 60000 600000 tv/)
    expect(text).toContain('Likes video/liked-by-iris')
    expect(text).toMatch(/1 played and not yet folded/)
    await page.getByLabel('Viewer id').fill('nobody')
    await page.keyboard.press('Enter')
    await page.locator('[data-viewer=nobody]').getByText('No entries of the history.').waitFor()
    await page.getByLabel('Viewer id').fill('')
    await page.keyboard.press('Enter')
    await page.getByText('the id of the viewer is empty').waitFor()
    await expectAccessible(page)
    await page.context().close()
  })

  test('callers without the scope get a code and a sentence, and methods other than GET are refused', async () => {
    const answer = async (path: string, headers: Record<string, string>): Promise<[number, string | null, unknown]> => {
      const response = await fetch(pages.at(path), { headers })
      return [response.status, response.headers.get('cache-control'), await response.json()]
    }
    for (const path of ['/console/state', '/console/viewer?id=7']) {
      expect(await answer(path, {})).toMatchObject([401, 'no-store', { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] }])
      expect(await answer(path, { 'x-viewer-id': '7' })).toMatchObject([
        ...[403, 'no-store'],
        { errors: [{ message: expect.stringContaining('lacks the scope operator'), extensions: { code: 'FORBIDDEN' } }] },
      ])
      expect((await fetch(pages.at(path), { method: 'POST' })).status).toBe(405)
    }
    const operator = { 'x-viewer-id': '7', 'x-viewer-scopes': 'operator' }
    expect(await answer('/console/viewer', operator)).toMatchObject([400, 'no-store', { errors: [{ extensions: { code: 'ID_INVALID' } }] }])
    expect(await answer('/console/state', operator)).toMatchObject([
      200,
      'no-store',
      { process: { mode: 'development', shape: 'embedded' } },
    ])
  })

  test('no page logged an error or called another machine', () => {
    expect(pages.complaints).toEqual([])
  })
})

test('the page shows that the server is down, and continues with the figures of the new process', async () => {
  const pages = await openPages(FAST)
  try {
    const page = await pages.open('/console')
    await expect.poll(() => figure(page, 'requests')).toBe(0)
    await ask(pages.service.url, 'before', REPORT, { id: '1' })
    await expect.poll(() => page.locator('[data-operation=Report]').count()).toBe(1)
    await pages.restart(async () => {
      await page.getByText('The server cannot be reached.').waitFor()
    })
    await expect.poll(() => page.getByText('The server cannot be reached.').count()).toBe(0)
    await expect.poll(() => page.locator('[data-operation=Report]').count()).toBe(0)
    expect(await figure(page, 'reports')).toBeGreaterThanOrEqual(0)
    expect(pages.complaints).toEqual([])
  } finally {
    await pages.close()
  }
})

test('with workers the figures are those of all processes', async () => {
  const pages = await openPages(FAST, { workers: 2 })
  try {
    const page = await pages.open('/console')
    await page.getByText('2 workers').waitFor()
    // A connection stays with one worker, so that several are needed to reach both.
    await Promise.all(Array.from({ length: 40 }, (_, at) => ask(pages.service.url, `w${at}`, REPORT, { id: '1' }, { connection: 'close' })))
    await expect.poll(() => page.locator('[data-operation=Report] td').nth(2).textContent()).toBe('40')
    // The job is in the primary.
    await expect.poll(() => figure(page, 'dirty')).toBe(0)
    expect(pages.complaints).toEqual([])
  } finally {
    await pages.close()
  }
})

test('the subgraph of a partner is shown as down while it does not answer, and then as serving', async () => {
  const partner = await startPartner()
  const { folder, remove } = makeServiceFolder()
  const supergraph = join(folder, 'supergraph.yaml')
  writeFileSync(supergraph, JSON.stringify({ subgraphs: { films: { routing_url: partner.url, schema: { sdl: VIDEOS } } } }))
  const pages = await openPages({ server: { supergraph } })
  try {
    const page = await pages.open('/console')
    const row = page.locator('[data-subgraph=films]')
    await row.getByText('serves').waitFor()
    expect(await row.textContent()).toContain(partner.url)
    await expect.poll(() => page.locator('[data-subgraph=history]').textContent()).toContain('this process')
    partner.answer((_, response) => response.writeHead(503).end())
    await expect
      .poll(
        async () => {
          await ask(pages.service.url, '7', '{ video(id: "1") { title } }')
          return row.textContent()
        },
        { interval: 100 },
      )
      .toContain('down: calls are refused')
    partner.answer(undefined)
    await row.getByText('serves').waitFor()
  } finally {
    await pages.close()
    remove()
    await partner.stop()
  }
})

test('in production, the console is off by default, and needs a token with the scope when it is enabled', async () => {
  const secret = '0123456789abcdef0123456789abcdef'
  const tokenOf = (scope: string, expires: string | number): Promise<string> =>
    new SignJWT({ sub: 'op', scope }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime(expires).sign(new TextEncoder().encode(secret))
  const closed = await openPages({ server: { mode: 'production' }, auth: { secret } })
  const headers = { authorization: `Bearer ${await tokenOf('operator', '1h')}` }
  for (const path of ['/console', '/console/state', '/console/viewer?id=7'])
    expect((await fetch(closed.at(path), { headers })).status).toBe(404)
  await closed.close()

  const open = await openPages({ server: { mode: 'production', pages: ['console'] }, auth: { secret, clockToleranceSeconds: 0 } })
  try {
    const page = await open.open('/console')
    await page.getByText('This server needs a signed token').waitFor()
    const paste = async (token: string): Promise<void> => {
      await page.getByLabel('Token').fill(token)
      await page.keyboard.press('Tab')
    }
    await paste(await tokenOf('progress:write-any', '1h'))
    await page.getByText('the token lacks the scope operator').waitFor()
    await paste(await tokenOf('operator', Math.floor(Date.now() / 1_000) - 3_600))
    await page.getByText('The token has expired').waitFor()
    await paste(await tokenOf('operator', '1h'))
    await page.getByText('All stores answer.').waitFor()
    await expectAccessible(page)
    expect(open.complaints).toEqual([])
  } finally {
    await open.close()
  }
})

describe.skipIf(!(await redisIsHere()))('on Redis, Kafka and MariaDB', () => {
  let servers: OwnServers
  let pages: Pages
  beforeAll(async () => {
    ;({ servers, pages } = await openPagesOnServers(FAST))
  })
  afterAll(async () => {
    await pages.close()
    await servers.remove()
  })

  test('the console and the demo show that Redis is down, and recover when it is back', async () => {
    const console = await pages.open('/console')
    await console.getByText('All stores answer.').waitFor()
    const demo = await pages.open('/demo?view=videos&viewer=hal&device=laptop')
    await demo.locator('[data-feed] .card').nth(7).waitFor()

    await servers.redis.kill()
    await console.locator('[data-down=hotStore]').getByText('The hot store (Redis) is down').waitFor()
    expect(await console.locator('[data-down=hotStore]').textContent()).toMatch(
      /since \d\d:\d\d:\d\d\. Reports, marks and follows are accepted/,
    )
    await demo.locator('[data-feed] .card button[aria-pressed]').first().click()
    await demo.getByText('because the store of recent data does not answer').waitFor()
    await expect.poll(() => figure(console, 'journal')).toBeGreaterThan(0)
    await expectAccessible(console)

    await servers.redis.start()
    await console.locator('[data-recovered=hotStore]').getByText('The hot store (Redis) answers again').waitFor()
    await console.getByText('All stores answer.').waitFor()
    await expect.poll(() => figure(console, 'journal')).toBe(0)
    await expect
      .poll(
        async () => {
          await demo.locator('[data-feed] .card button[aria-pressed]').nth(1).click()
          return demo.getByText('does not answer').count()
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(0)
    expect(pages.complaints).toEqual([])
  })
})
