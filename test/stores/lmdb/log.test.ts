import { systemClock } from '../../../core/clock.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { openLogTables } from '../../../stores/lmdb/log-tables.ts'
import { listRewards, openLmdbLog } from '../../../stores/lmdb/log.ts'
import { appendAll } from '../../../stores/lmdb/sequences.ts'
import type { Log } from '../../../stores/log.ts'
import { logContract } from '../../contracts/log.ts'
import { makeFolder } from './folders.ts'

logContract('lmdb', async () => {
  const folder = makeFolder()
  const regions = 100
  let environment: Environment
  const open = (): Log => {
    environment = openEnvironment(folder.path, { regions, mapSizeGb: 1 })
    return openLmdbLog(environment, systemClock)
  }
  let log = open()
  const close = async (): Promise<void> => {
    await log.close()
    await environment.close()
  }
  return {
    log,
    regions,
    async reopen() {
      await close()
      log = open()
      return log
    },
    async appendUndecodable() {
      const { flushes, counters } = openLogTables(environment)
      await environment.write(() => appendAll(flushes, counters, 'flushes', [Buffer.from('not a flush')]))
    },
    readRewards: async () => listRewards(environment, 0, 1_000_000).map(({ reward }) => reward),
    async dispose() {
      await close()
      folder.remove()
    },
  }
})
