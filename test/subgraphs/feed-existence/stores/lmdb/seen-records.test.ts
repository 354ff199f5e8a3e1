import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { filterKeyBytes } from '../../../../../subgraphs/feed-existence/stores/lmdb/filter-values.ts'
import { openLmdbSeenRecords } from '../../../../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import type { FilterKey } from '../../../../../subgraphs/feed-existence/stores/record-store.ts'
import { seenRecordsContract } from '../../../../contracts/feed-existence/record-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

seenRecordsContract('lmdb', () => {
  const folder = makeFolder()
  let environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
  // Two stores of one environment. The crash test shows that the lock of LMDB separates processes.
  const opened = {
    store: openLmdbSeenRecords(environment),
    second: openLmdbSeenRecords(environment),
    async reopen() {
      await environment.close()
      environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
      opened.second = openLmdbSeenRecords(environment)
      return openLmdbSeenRecords(environment)
    },
    async damage(key: FilterKey, bytes: Buffer) {
      await environment.write(() => void environment.table('seen-filters').put(filterKeyBytes(key), bytes))
    },
    async dispose() {
      await environment.close()
      folder.remove()
    },
  }
  return Promise.resolve(opened)
})
