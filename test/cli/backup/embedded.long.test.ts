/**
 * A backup of the embedded shape beside the running service, the loss of all data, and a restore: as an operator does it.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { missingAt, startTraffic } from '../../../harness/backup/traffic.ts'
import { runCommand } from '../../../harness/deployment/command.ts'
import { makeServiceFolder, startService } from '../../../harness/deployment/service.ts'
import { until } from '../../../harness/until.ts'

const WRITES = 300
const CHECKS = 'write,delete,seen,unseen,mark'
const SETTINGS = {
  history: { flushAgeMaxMs: 500, sweepAfterMs: 60_000 },
  thumbup: { flushAgeMaxMs: 100, windowMs: 200, countsWindowMs: 100 },
  feed: { flushAgeMaxMs: 100, noticeEveryMs: 50, countsWindowMs: 100 },
}

test('every write that was acknowledged before a backup is there after a restore', { timeout: 120_000 }, async () => {
  const { folder, remove } = makeServiceFolder()
  const [data, out] = [join(folder, 'data'), join(folder, 'backup')]
  const run = (...args: string[]) => runCommand(folder, [...args, '--config', join(folder, 'tidemark.yaml'), '--data', data])
  let service = await startService({ folder, settings: SETTINGS })
  try {
    const traffic = startTraffic(service.url)
    await until('there are writes', async () => traffic.acknowledged.length > WRITES, 30_000)
    const before = [...traffic.acknowledged]
    const made = await run('backup', '--out', out)
    expect(made).toMatchObject({ status: 0, error: '', out: expect.stringContaining('every write that was acknowledged before') })
    const after = traffic.acknowledged.length
    await until('there are later writes', async () => traffic.acknowledged.length > after + 50, 30_000)
    await traffic.stop()
    expect(traffic.failures).toEqual([])

    expect(await run('restore', out)).toMatchObject({ status: 1, error: expect.stringContaining('DATA_IN_USE: ') })
    await service.kill()
    rmSync(data, { recursive: true })
    const restored = await run('restore', out)
    expect(restored).toMatchObject({ status: 0, error: '' })

    service = await startService({ folder, settings: SETTINGS })
    expect(await missingAt(service.url, before)).toEqual([])
    const again = startTraffic(service.url, 'later')
    await until('the service takes writes', async () => again.acknowledged.length > 100, 30_000)
    await again.stop()
    expect([...again.failures, ...(await missingAt(service.url, again.acknowledged))]).toEqual([])
    const audited = await runCommand(folder, ['audit', service.url, '--wait', '0', '--only', CHECKS])
    expect(audited).toMatchObject({ status: 0, out: expect.stringMatching(/ 0 failed/) })
    const reconciled = await run('reconcile')
    expect(reconciled).toMatchObject({ status: 0, out: expect.stringMatching(/video: [1-9]\d* subjects .* 0 differ/) })
  } finally {
    await service.kill()
    remove()
  }
})
