import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { plainMarkKey } from '../../../../../subgraphs/thumbup/stores/lmdb/records/keys.ts'
import { openLmdbMarkRecords } from '../../../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { decodeCounts, decodeSum, encodeCounts, encodeSum } from '../../../../../subgraphs/thumbup/stores/lmdb/records/values.ts'
import type { Bytes } from '../../../../../stores/lmdb/environment.ts'
import { markRecordsContract } from '../../../../contracts/thumbup/record-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

markRecordsContract('lmdb', () => {
  const folder = makeFolder()
  const open = () => {
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    return { environment, store: { ...openLmdbMarkRecords(environment), close: () => environment.close() } }
  }
  let current = open()
  const change = async (table: string, key: Buffer, changed: (value: Buffer) => Buffer): Promise<void> => {
    const { environment } = current
    const opened: Bytes = environment.table(table)
    await environment.write(() => void opened.put(key, changed(opened.getBinary(key) as Buffer)))
  }
  return Promise.resolve({
    store: current.store,
    async reopen() {
      await current.store.close()
      current = open()
      return current.store
    },
    plant: {
      counts: ({ business, oid }, wrong) =>
        change('counts', plainMarkKey(business, oid), (value) => {
          const { counts, owner } = decodeCounts(value)
          return encodeCounts({ counts: { ...counts, ...wrong }, owner })
        }),
      ownerSum: ({ business, owner }, likes) =>
        change('owners', plainMarkKey(business, owner), (value) => encodeSum({ ...decodeSum(value), likes })),
    },
    async dispose() {
      await current.store.close()
      folder.remove()
    },
  })
})
