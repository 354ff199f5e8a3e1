/** Chromium without a screen, from the system's packages, for tests of the web pages and of client libraries. */
import { chromium, type Browser } from 'playwright-core'
import { ensurePrograms, findProgram } from '../scripts/servers/packages.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Installs Chromium if it is missing and root may; see packages.ts. */
export async function startBrowser(): Promise<Browser> {
  if (findChromium() === undefined) await ensurePrograms('the test of the web pages', ['chromium'], ['chromium'])
  return chromium.launch({
    executablePath: findChromium() as string,
    // Root in a container may not make a sandbox. Small shared memory kills tabs.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}

function findChromium(): string | undefined {
  return NAMES.map((name) => findProgram(name)).find((path) => path !== undefined)
}
