import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { service } from '../../../harness/deployment/services.ts'
import { makeTopics } from './setup.ts'

const address = await service('kafka')

describe.skipIf(address === undefined)('an idle process on Kafka', () => {
  let topics: Awaited<ReturnType<typeof makeTopics>>
  beforeAll(async () => {
    topics = await makeTopics({ brokers: [address as string] })
  })
  afterAll(() => topics.dispose())

  it('uses less than 2% of a core with a producer and a consumer connected, prints no warning, and ends by itself', async () => {
    const args = [join(import.meta.dirname, 'idle-process.ts'), address as string, topics.topicPrefix]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    const { share, warnings } = JSON.parse(stdout) as { share: number; warnings: string[] }
    process.stdout.write(`idle on Kafka: ${(share * 100).toFixed(2)}% of a core\n`)
    expect(share).toBeLessThan(0.02)
    expect(warnings).toEqual([])
  })
})
