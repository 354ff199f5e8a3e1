import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbFeedRecords } from '../../../../../subgraphs/feed/stores/lmdb/record-store.ts'
import { REGIONS } from '../../../../contracts/feed/record-posts.ts'
import { feedRecordsContract } from '../../../../contracts/feed/record-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

feedRecordsContract('lmdb', () => {
  const folder = makeFolder()
  const open = () => {
    const environment = openEnvironment(folder.path, { regions: REGIONS, sizeMaxGb: 1 })
    return { ...openLmdbFeedRecords(environment), close: () => environment.close() }
  }
  return openedBy(REGIONS, open, folder.remove)
})
