/** The moment before a shutdown: the process is not ready, but it answers every request and closes its connection. */
import { Agent, get } from 'node:http'
import { expect, test } from 'vitest'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function ask(url: string): Promise<{ status: number; connection: string | undefined; reused: boolean }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      response.resume()
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, connection: response.headers.connection, reused: request.reusedSocket }),
      )
    })
    request.once('error', reject)
  })
}

test(
  'a process that shuts down is not ready and answers with connection: close until server.drainDelayMs is over',
  { timeout: 120_000 },
  async () => {
    const { folder, remove } = makeServiceFolder()
    const service = await startService({ folder, settings: { server: { drainDelayMs: 4_000 } } })
    const { origin } = new URL(service.url)
    const query = `${service.url}?query=%7B__typename%7D`
    try {
      expect((await ask(query)).status).toBe(200)
      const exited = new Promise((resolve) => service.process.once('exit', resolve))
      service.process.kill('SIGTERM')
      await until('it is not ready', async () => (await fetch(`${origin}/health/ready`)).status === 503, 3_000)
      expect(await ask(query)).toEqual({ status: 200, connection: 'close', reused: true })
      expect(await ask(query)).toEqual({ status: 200, connection: 'close', reused: false })
      expect(await exited).toBe(0)
    } finally {
      agent.destroy()
      if (service.process.exitCode === null) await service.kill()
      remove()
    }
  },
)
