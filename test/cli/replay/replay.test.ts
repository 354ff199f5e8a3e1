import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { replay } from '../../../cli/replay/replay.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-replay-'))
const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Serves the metrics of a process, and accepts every report. */
async function processWith(metrics: () => Readonly<Record<string, number>>): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/metrics') {
      response.end(
        Object.entries(metrics())
          .map(([name, value]) => `${name} ${value}\n`)
          .join(''),
      )
      return
    }
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const { variables } = JSON.parse(body) as { variables: { reports: unknown[] } }
      response.setHeader('content-type', 'application/json')
      const results = variables.reports.map(() => ({ outcome: 'ACCEPTED', userErrors: [] }))
      response.end(JSON.stringify({ data: { reportProgressBatch: { results } } }))
    })
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
}

test('persisted rows come from the job, if another process runs it', async () => {
  let asked = 0
  const url = await processWith(() => ({ tidemark_flush_messages_total: 1 }))
  const job = await processWith(() => ({
    tidemark_dirty_keys: 0,
    tidemark_log_lag_messages: 0,
    tidemark_persisted_rows_total: asked++ === 0 ? 10 : 12,
  }))
  const file = join(folder, 'rows.tsv')
  writeFileSync(file, 'viewer\tsubject\ttime\n7\t42\t1700000000\n8\t42\t1700000001\n')
  const printed: string[] = []
  const options = { batch: 500, concurrency: 1, heartbeats: 1, business: 'video', wait: false, verify: false, verifyOnly: false }
  await replay(file, { ...options, url, job, token: undefined }, (line) => printed.push(line))
  expect(printed.join('\n')).toContain(': 2 persisted rows')
})
