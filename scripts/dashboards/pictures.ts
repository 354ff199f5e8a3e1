/** Pictures of the shipped dashboards, docs/images/dashboard-*.png, with the data of a Prometheus. uPlot draws them in Chromium, without Grafana. */
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { startBrowser } from '../../harness/browser.ts'
import type { Prometheus } from '../servers/prometheus.ts'
import type { Drawing } from './drawing.ts'
import { drawingOf, type DrawingOptions, type GrafanaDashboard } from './panels.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const DASHBOARDS = join(ROOT, 'ops', 'grafana')
const IMAGES = join(ROOT, 'docs', 'images')
const UPLOT = join(ROOT, 'node_modules', 'uplot', 'dist')
const SIZE = { width: 1_200, height: 400 }
const BYTES_MAX = 200_000

export async function takeDashboards(prometheus: Pick<Prometheus, 'queryRange'>, options: DrawingOptions): Promise<void> {
  const browser = await startBrowser()
  try {
    for (const file of readdirSync(DASHBOARDS)) {
      const dashboard = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as GrafanaDashboard
      await take(browser, join(IMAGES, `dashboard-${basename(file, '.json')}.png`), await drawingOf(dashboard, prometheus, options))
    }
  } finally {
    await browser.close()
  }
}

async function take(browser: Browser, file: string, drawing: Drawing): Promise<void> {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
  await page.addScriptTag({ path: join(UPLOT, 'uPlot.iife.min.js') })
  await page.addStyleTag({ path: join(UPLOT, 'uPlot.min.css') })
  await page.addStyleTag({ path: join(import.meta.dirname, 'page.css') })
  await page.evaluate((data) => void ((globalThis as { drawing?: Drawing }).drawing = data), drawing)
  const script = stripTypeScriptTypes(readFileSync(join(import.meta.dirname, 'draw.ts'), 'utf8'))
  await page.addScriptTag({ content: script, type: 'module' })
  await page.locator('main[data-done]').waitFor({ state: 'attached' })
  writeFileSync(file, await page.screenshot({ fullPage: true }))
  await page.close()
  const { size } = statSync(file)
  if (size > BYTES_MAX) throw new Error(`${file} has ${size} bytes, and at most ${BYTES_MAX} are allowed: show less on it`)
  console.log(`${file}: ${size} bytes`)
}
