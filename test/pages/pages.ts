/** A started service and a browser for the tests of the web pages. Every page records its errors and its requests to other machines. */
import AxeBuilder from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { migrateStores } from '../../cli/stores/operate.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { startBrowser } from '../../harness/browser.ts'
import { makeOwnServers, OWN_SERVERS, startOwnServers, type OwnServers } from '../../harness/deployment/own-servers.ts'
import { makeServiceFolder, startService, type Service, type ServiceOptions } from '../../harness/deployment/service.ts'

export type Pages = {
  readonly service: Service
  /** Kills the service, waits for `whileDown`, and starts it again at its address, on its data. */
  restart(whileDown: () => Promise<void>): Promise<void>
  /** The address of a path of the service. */
  at(path: string): string
  /** Opens a page in a context of its own, as a second device has one. */
  open(path: string): Promise<Page>
  /** The errors that pages logged, and their requests to other machines. */
  readonly complaints: string[]
  close(): Promise<void>
}

export async function openPages(settings: Record<string, unknown> = {}, options: Pick<ServiceOptions, 'workers'> = {}): Promise<Pages> {
  const { folder, remove } = makeServiceFolder()
  let service = await startService({ folder, settings, ...options })
  const browser: Browser = await startBrowser()
  const { origin } = new URL(service.url)
  const complaints: string[] = []
  return {
    get service() {
      return service
    },
    async restart(whileDown) {
      const { port } = new URL(service.url)
      await service.kill()
      await whileDown()
      service = await startService({ folder, settings, port: Number(port), ...options })
    },
    at: (path) => `${origin}${path}`,
    async open(path) {
      const context = await browser.newContext()
      const page = await context.newPage()
      page.on('pageerror', (error) => complaints.push(`${path}: ${error.message}`))
      page.on('console', (message) => {
        // A refused connection is a failure that some tests cause.
        if (message.type() === 'error' && !/Failed to load resource|WebSocket connection/.test(message.text()))
          complaints.push(`${path}: ${message.text()}`)
      })
      page.on('request', (request) => {
        if (!request.url().startsWith(origin) && !/^(data|blob|about):/.test(request.url()))
          complaints.push(`${path} asked ${request.url()}`)
      })
      await page.goto(`${origin}${path}`)
      return page
    },
    complaints,
    async close() {
      await browser.close()
      if (service.process.exitCode === null) await service.stop()
      remove()
    },
  }
}

/** On its own Redis, Kafka and MariaDB, which the test may kill. */
export async function openPagesOnServers(settings: Record<string, unknown>): Promise<{ servers: OwnServers; pages: Pages }> {
  const servers = await makeOwnServers()
  await startOwnServers(servers, OWN_SERVERS)
  const stores = {
    redis: { urls: [`redis://127.0.0.1:${servers.redis.port}`] },
    kafka: { brokers: [`127.0.0.1:${servers.kafka.port}`] },
    mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${servers.mariadb.port}/tidemark` },
  }
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  await migrateStores(makeConfig([{ name: 'the test', values: { stores } }]), systemClock, silent)
  return { servers, pages: await openPages({ ...settings, stores }) }
}

/** No problem that axe calls serious or critical. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => String(target)).join(', ')}`)).toEqual([])
}
