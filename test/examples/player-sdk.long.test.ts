/** The player SDK in a real browser: offline, a closed tab, a wrong clock, lost answers. */
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { transformSync } from 'amaro'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../harness/deployment/service.ts'
import { openPages, type Pages } from '../pages/pages.ts'

let pages: Pages
beforeAll(async () => {
  pages = await openPages()
})
afterAll(async () => {
  await pages.close()
})

const SETUP = (viewer: string): string => `
  globalThis.troubles = []
  globalThis.stale = []
  globalThis.ready = import('/examples/player-sdk/player.js').then(({ makeReporter }) => {
    globalThis.reporter = makeReporter({
      url: '/graphql', business: 'video', account: ${JSON.stringify(viewer)}, device: 'web', heartbeatMs: 1000,
      headers: () => ({ 'x-viewer-id': ${JSON.stringify(viewer)} }),
      onTrouble: (code) => troubles.push(code),
      onStale: (id, progress) => stale.push([id, progress.position]),
    })
  })`

/** A tab with a reporter of this viewer. */
async function openTab(context: BrowserContext, viewer: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(pages.at('/'))
  await page.evaluate(`${SETUP(viewer)}; globalThis.ready`)
  return page
}

async function newContext(): Promise<BrowserContext> {
  const page = await pages.open('/')
  return page.context()
}

type Progress = { position: number; viewedAt: number; device: string } | null

async function stored(viewer: string, id = '1'): Promise<Progress> {
  const { data } = await ask(
    pages.service.url,
    viewer,
    `{ subjects(business: "video", ids: ["${id}"]) { viewerProgress { position viewedAt device } } }`,
  )
  return data.subjects[0].viewerProgress as Progress
}

test('heartbeats store the position of a running player about every second, and a stop at once', async () => {
  const context = await newContext()
  const page = await openTab(context, 'beat')
  await page.evaluate(`globalThis.watch = reporter.watch('1', 600000); watch.at(1000)`)
  await expect.poll(async () => (await stored('beat'))?.position).toBe(1_000)
  await page.evaluate(`watch.stop(4321)`)
  await expect.poll(async () => (await stored('beat'))?.position).toBe(4_321)
  // The store has the position before the page gets the answer. The report waits until then.
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  expect(await page.evaluate(`troubles`)).toEqual([])
  expect(await page.evaluate(`reporter.resume('1').then(({ position, device }) => [position, device])`)).toEqual([4_321, 'web'])
  await context.close()
})

test('after a minute offline, the newest position of the player arrives with its time', async () => {
  const context = await newContext()
  const page = await openTab(context, 'train')
  await page.evaluate(`globalThis.watch = reporter.watch('1', 600000); watch.stop(1000)`)
  await expect.poll(async () => (await stored('train'))?.position).toBe(1_000)
  await context.setOffline(true)
  await page.evaluate(`reporter.watch('2', 600000).stop(77000)`)
  const left = Date.now()
  for (let second = 1; second <= 60; second++) {
    await page.evaluate(`watch.at(${1_000 + second * 1_000})`)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
  expect(await page.evaluate(`[reporter.waiting(), troubles.includes('OFFLINE')]`)).toEqual([2, true])
  expect(await page.evaluate(`reporter.resume('2').then(({ position }) => position)`)).toBe(77_000)
  await context.setOffline(false)
  await expect.poll(async () => (await stored('train'))?.position).toBeGreaterThan(55_000)
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  const second = await stored('train', '2')
  expect(second?.position).toBe(77_000)
  expect(Math.abs((second?.viewedAt ?? 0) - left)).toBeLessThan(5_000)
  await context.close()
})

test('if a tab is closed while offline, the next tab sends its waiting reports', async () => {
  const context = await newContext()
  const page = await openTab(context, 'closed')
  await context.setOffline(true)
  await page.evaluate(`reporter.watch('1', 600000).stop(42000)`)
  await page.close()
  await context.setOffline(false)
  expect(await stored('closed')).toBeNull()
  const again = await openTab(context, 'closed')
  await expect.poll(async () => (await stored('closed'))?.position).toBe(42_000)
  await expect.poll(() => again.evaluate(`reporter.waiting()`)).toBe(0)
  await context.close()
})

test.each([
  ['slow', -3_600_000],
  ['fast', 3_600_000],
])('the clock of a device is an hour %s: the order of its visits and those of others stays right', async (name, skew) => {
  const viewer = `clock-${name}`
  const context = await newContext()
  await context.addInitScript(`{ const now = Date.now.bind(Date); Date.now = () => now() + ${skew} }`)
  const page = await openTab(context, viewer)
  // The report of the tv is older than the visit of the tab, and the report of the phone is newer.
  await ask(
    pages.service.url,
    viewer,
    `mutation { reportProgress(input: { business: "video", id: "1", position: 500000, device: "tv" }) { outcome } }`,
  )
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  await context.setOffline(true)
  await page.evaluate(`reporter.watch('1', 600000).stop(100000); reporter.watch('2', 600000).stop(200000)`)
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  await ask(
    pages.service.url,
    viewer,
    `mutation { reportProgress(input: { business: "video", id: "2", position: 300000, device: "phone" }) { outcome } }`,
  )
  await context.setOffline(false)
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  expect((await stored(viewer, '1'))?.position).toBe(100_000)
  expect((await stored(viewer, '2'))?.position).toBe(300_000)
  expect(await page.evaluate(`stale`)).toEqual([['2', 300_000]])
  await context.close()
})

test('a report whose answer was lost is sent again with the same time, and changes nothing', async () => {
  const context = await newContext()
  const page = await openTab(context, 'twice')
  await page.evaluate(`reporter.watch('9', 0).stop(1)`)
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  let lost = 0
  await page.route('**/graphql', async (route) => {
    await route.fetch()
    lost += 1
    await (lost === 1 ? route.abort() : route.fulfill({ response: await route.fetch() }))
  })
  await page.evaluate(`reporter.watch('1', 600000).stop(42000)`)
  await expect.poll(() => lost).toBe(1)
  const first = await stored('twice')
  expect(first?.position).toBe(42_000)
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  expect(lost).toBeGreaterThan(1)
  expect(await stored('twice')).toEqual(first)
  await context.close()
})

test.each([
  [
    'full',
    `for (let size = 1_048_576; size >= 1; size = size >> 1) try { for (;;) localStorage.setItem('fill' + Math.random(), 'x'.repeat(size)) } catch {}`,
  ],
  [
    'denied',
    `Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('Access is denied', 'SecurityError') } })`,
  ],
])('a browser whose storage is %s reports from memory, also after a time offline, and says so once', async (name, script) => {
  const viewer = `storage-${name}`
  const context = await newContext()
  const page = await context.newPage()
  await page.goto(pages.at('/'))
  await page.evaluate(script)
  await page.evaluate(`${SETUP(viewer)}; globalThis.ready`)
  await context.setOffline(true)
  await page.evaluate(`reporter.watch('1', 600000).stop(42000)`)
  await expect.poll(() => page.evaluate(`troubles.includes('OFFLINE')`)).toBe(true)
  expect(await page.evaluate(`reporter.waiting()`)).toBe(1)
  await context.setOffline(false)
  await expect.poll(async () => (await stored(viewer))?.position).toBe(42_000)
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  expect(await page.evaluate(`troubles.filter((code) => code === 'STORAGE_UNAVAILABLE').length`)).toBe(1)
  await context.close()
})

test('a refused report is dropped with its code, and does not stop the others', async () => {
  const context = await newContext()
  const page = await openTab(context, 'refused')
  await page.evaluate(`reporter.watch('x'.repeat(65), 0).stop(1); reporter.watch('1', 0).stop(60000)`)
  await expect.poll(() => page.evaluate(`reporter.waiting()`)).toBe(0)
  expect(await page.evaluate(`troubles`)).toEqual(['ID_INVALID'])
  expect((await stored('refused'))?.position).toBe(60_000)
  await context.close()
})

test('the SDK has less than 6 KB, compressed', () => {
  const source = readFileSync(new URL('../../examples/player-sdk/player.ts', import.meta.url), 'utf8')
  expect(gzipSync(transformSync(source, { mode: 'strip-only' }).code).length).toBeLessThan(6_000)
})
