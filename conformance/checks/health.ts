/** Health and metrics of a deployment. */
import { askRaw, type Answer } from '../answer.ts'
import { REAL_POSITION } from '../audited.ts'
import { readMetrics } from '../api-client.ts'
import type { Check } from '../check.ts'
import { CheckSkipped, expectEqual, expectThat } from '../outcome.ts'

const ROUNDS = 20
const STORES = ['hotStore', 'log', 'recordStore']

/** A public deployment may hide these addresses. */
async function askHealth(url: string, path: string): Promise<Answer<unknown>> {
  const { href } = new URL(path, url)
  const answer = await askRaw(href, { method: 'GET' })
  if (answer.status === 404 || answer.status === 403) throw new CheckSkipped(`${href} cannot be reached from here (${answer.status})`)
  return answer
}

async function countReports(url: string): Promise<number> {
  const count = (await readMetrics(url)).get('tidemark_reports_total')
  if (count === undefined) throw new CheckSkipped(`${new URL('/metrics', url).href} does not count reports`)
  return count
}

export const health: readonly Check[] = [
  {
    id: 'health-live',
    sentence: '/health/live says that the process runs.',
    async check(audit) {
      const { status, body } = await askHealth(audit.url, '/health/live')
      expectEqual('status and ok', [status, (body as { ok?: unknown }).ok], [200, true])
    },
  },
  {
    id: 'health-ready',
    sentence: '/health/ready says that every store answers.',
    async check(audit) {
      const { status, body } = await askHealth(audit.url, '/health/ready')
      type Words = Record<string, unknown>
      const { ok, stores, tenants = {} } = body as { ok?: unknown; stores?: Words; tenants?: Record<string, Words> }
      expectEqual('status and ok', [status, ok], [200, true])
      const own = Object.entries(tenants).map(([business, words]) => [`the stores of business ${business}`, words] as const)
      for (const [whose, words] of [['the stores', stores] as const, ...own]) {
        expectEqual(
          whose,
          STORES.map((name) => `${name}: ${String(words?.[name])}`),
          STORES.map((name) => `${name}: ok`),
        )
      }
    },
  },
  {
    id: 'metrics-count',
    sentence: '/metrics counts reports.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const counts = [await countReports(audit.url)]
      // One address may have several processes behind it, each with its own counts.
      while (counts.length < ROUNDS && counts.every((count) => count === counts[0])) {
        await viewer.report({ id: audit.newOid(), position: REAL_POSITION })
        counts.push(await countReports(audit.url))
      }
      expectThat(Math.max(...counts) > Math.min(...counts), 'tidemark_reports_total to grow with reports', counts)
    },
  },
]
