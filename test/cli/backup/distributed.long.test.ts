/**
 * A backup of the distributed shape beside the running service, the loss of Redis and MySQL, and a restore to a moment between two writes,
 * with a dump and the binary log of MariaDB: as an operator does it.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Redis } from 'ioredis'
import { mariadbTools, mariadbToolsAreHere } from '../../../harness/backup/mariadb-tools.ts'
import { missingAt, startTraffic, type Acknowledged } from '../../../harness/backup/traffic.ts'
import { runCommand } from '../../../harness/deployment/command.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../../harness/deployment/deployment.ts'
import { ask } from '../../../harness/deployment/service.ts'
import { service } from '../../../harness/deployment/services.ts'
import { until } from '../../../harness/until.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]
const isHere = !servers.includes(undefined) && (await mariadbToolsAreHere())
const WRITES = 150
const CHECKS = 'write,delete,seen,unseen,mark'
const SETTINGS = {
  history: { flushAgeMaxMs: 500, sweepAfterMs: 60_000 },
  thumbup: { flushAgeMaxMs: 100, windowMs: 200, countsWindowMs: 100 },
  feed: { flushAgeMaxMs: 100, noticeEveryMs: 50, countsWindowMs: 100 },
}
const LIKE = 'mutation ($id: ID!) { setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome } }'
const MARK = 'query ($id: ID!) { subjects(business: "video", ids: [$id]) { viewerMark likeCount } }'

describe.skipIf(!isHere)('a distributed deployment', { timeout: 240_000 }, () => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await startDeployment({ gateways: 1, jobs: 1, markJobs: 1, seenJobs: 1, feedJobs: 1, settings: SETTINGS })
  }, 120_000)
  afterAll(() => deployment?.remove())

  test('has every write that was acknowledged before a backup, and none that came after the point', async () => {
    const { folder, redis, mariadb } = deployment.servers
    const url = deployment.gateways[0]?.url as string
    const config = join(folder, 'gateway-1', 'tidemark.yaml')
    const out = join(folder, 'backup')
    const run = (...args: string[]) => runCommand(folder, [...args, '--config', config])
    const tools = mariadbTools(join(folder, mariadb.name))
    const client = new Redis(redis.port)
    const like = (id: string) => ask(url, 'liker', LIKE, { id })
    try {
      const dumped = await tools.dump(join(folder, 'dump.sql'))
      const traffic = startTraffic(url)
      await until('there are writes', () => traffic.acknowledged.length + traffic.failures.length > WRITES)
      const before: Acknowledged[] = [...traffic.acknowledged]
      const made = await run('backup', '--out', out)
      expect(made).toMatchObject({ status: 0, error: '', out: expect.stringContaining('or later, it has every write') })
      expect(made.out).toContain('no write waits in the journals of this machine')
      const begun = /acknowledged before (?<begun>[\d\-T:.Z]+)/.exec(made.out)?.groups?.['begun']
      await traffic.stop()
      expect(traffic.failures).toEqual([])
      await like('first')
      await waitUntilConverged(deployment, 60_000)
      const point = await tools.positionNow()
      await like('second')
      await waitUntilConverged(deployment, 60_000)

      expect(await run('restore', out)).toMatchObject({ status: 1, error: expect.stringContaining('DATA_IN_USE: ') })
      await Promise.all(deployment.roles.map((role) => role.stop()))
      expect(await run('restore', out)).toMatchObject({
        status: 1,
        error: expect.stringMatching(/STORE_NOT_EMPTY: .* has data \(such as tm/),
      })
      await client.flushall()
      await tools.emptyDatabase()
      await tools.load(join(folder, 'dump.sql'))
      expect(await run('restore', out)).toMatchObject({ status: 1, error: expect.stringContaining('knows no backup') })
      await tools.applyLog(dumped, point)
      const restored = await run('restore', out)
      expect(restored).toMatchObject({ status: 0, error: '' })
      expect(restored.out).not.toMatch(/[1-9]\d* (missing|different)/)
      expect(restored.out).toContain(`erase again each viewer who was erased after ${begun}`)

      await Promise.all(deployment.roles.map((role) => role.start()))
      expect(await missingAt(url, before)).toEqual([])
      const marks = await Promise.all(['first', 'second'].map(async (id) => (await ask(url, 'liker', MARK, { id })).data.subjects[0]))
      expect(marks).toEqual([
        { viewerMark: 'LIKE', likeCount: 1 },
        { viewerMark: 'NONE', likeCount: 0 },
      ])
      const again = startTraffic(url, 'later')
      await until('the service takes writes', () => again.acknowledged.length + again.failures.length > 50)
      await again.stop()
      expect([...again.failures, ...(await missingAt(url, again.acknowledged))]).toEqual([])
      const audited = await runCommand(folder, ['audit', url, '--wait', '0', '--only', CHECKS])
      expect(audited).toMatchObject({ status: 0, out: expect.stringMatching(/ 0 failed/) })
      await waitUntilConverged(deployment, 60_000)
      expect(await run('reconcile')).toMatchObject({ status: 0, out: expect.stringMatching(/video: [1-9]\d* subjects .* 0 differ/) })
    } finally {
      client.disconnect()
    }
  })
})
