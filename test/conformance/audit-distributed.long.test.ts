/** The audit of the distributed shape: two gateways and a job of each kind on Redis, Kafka, MariaDB and four nodes of Memcached. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audit } from '../../cli/audit.ts'
import { PATIENT_CHECKS, PROMPT_CHECKS } from '../../conformance/suite.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { memcachedIsHere, startMemcachedNodes, type MemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

const CHECKS = PROMPT_CHECKS.length + PATIENT_CHECKS.length

describe.skipIf(servers.includes(undefined) || !(await memcachedIsHere()))('two gateways and three jobs', () => {
  let deployment: Deployment
  let cache: MemcachedNodes
  beforeAll(async () => {
    const history = { flushAgeMaxMs: 500, sweepAfterMs: 60_000 }
    const thumbup = { flushAgeMaxMs: 100, windowMs: 200, countsWindowMs: 100 }
    const feed = { flushAgeMaxMs: 100, noticeEveryMs: 50, countsWindowMs: 100 }
    cache = await startMemcachedNodes([[], [], [], []])
    const [a = '', b = '', c = '', d = ''] = cache.nodes.map(({ address }) => address)
    const settings = { history, thumbup, feed, cache: { layout: { main: [a, b], backup: [c], l1: [[d]] } } }
    deployment = await startDeployment({ gateways: 2, markJobs: 1, feedJobs: 1, settings })
  })
  afterAll(async () => {
    await deployment?.remove()
    await cache?.stop()
  })

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
    expect(lines.at(-1)).toMatch(new RegExp(`^${CHECKS} checks in .* s: ${CHECKS - 1} ok, 0 failed, 1 skipped$`))
    expect(ok).toBe(true)
  })
})
