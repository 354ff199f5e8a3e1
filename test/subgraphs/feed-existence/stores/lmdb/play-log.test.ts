import { systemClock } from '../../../../../core/clock.ts'
import { openEnvironment, type Environment } from '../../../../../stores/lmdb/environment.ts'
import { openLogTables } from '../../../../../writeback/stores/lmdb/log-tables.ts'
import { openLmdbPlayLog } from '../../../../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { appendAll } from '../../../../../stores/lmdb/sequences.ts'
import type { PlayLog } from '../../../../../subgraphs/feed-existence/stores/play-log.ts'
import { playLogContract } from '../../../../contracts/feed-existence/play-log.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

playLogContract('lmdb', async () => {
  const folder = makeFolder()
  const regions = 100
  let environment: Environment
  const open = (): PlayLog => {
    environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    return openLmdbPlayLog(environment, systemClock, { pollMs: 50 })
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
    async appendRaw(bytes) {
      const { flushes, counters } = openLogTables(environment, 'plays')
      await environment.write(() => appendAll(flushes, counters, 'plays', [bytes]))
    },
    async listDead() {
      const { dead } = openLogTables(environment, 'plays')
      return environment.read(() => [...dead.getRange({})].map(({ value }) => Buffer.from(value)))
    },
    async dispose() {
      await close()
      folder.remove()
    },
  }
})
