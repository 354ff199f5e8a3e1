/** The audit of the distributed shape: two gateways and two jobs on Redis, Kafka and MariaDB. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audit } from '../../cli/audit.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

describe.skipIf(servers.includes(undefined))('two gateways and two jobs', () => {
  let deployment: Deployment
  beforeAll(async () => {
    const history = { flushAgeMaxMs: 500, sweepAfterMs: 60_000 }
    const thumbup = { flushAgeMaxMs: 100, windowMs: 200, countsWindowMs: 100 }
    deployment = await startDeployment({ gateways: 2, markJobs: 1, settings: { history, thumbup } })
  })
  afterAll(() => deployment?.remove())

  test('pass every check, with each gateway reading the acknowledged writes of the other', async () => {
    const [first, second] = deployment.gateways
    const lines: string[] = []
    const ok = await audit(
      {
        url: first?.url ?? '',
        second: second?.url,
        job: deployment.jobs[0]?.metricsUrl,
        identity: { kind: 'headers' },
        business: undefined,
        conflict: 'newest',
        glance: true,
        waitMs: 60_000,
        eventMaxMs: 30_000,
        only: undefined,
      },
      (line) => lines.push(line),
    )
    expect(lines.filter((line) => /^(skipped|FAILED)/.test(line))).toEqual([expect.stringContaining('skipped  token-expired')])
    expect(ok).toBe(true)
  })
})
