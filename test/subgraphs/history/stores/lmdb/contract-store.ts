import { openEnvironment, type Environment } from '../../../../../stores/lmdb/environment.ts'
import { openedBy, type OpenedStore } from '../../../../contracts/opened-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

/** Opens a store for a contract suite in its own data folder. Each opening has its own environment. */
export function openContractStore<Store extends { close(): Promise<void> }, More extends unknown[]>(
  regions: number,
  openStore: (environment: Environment, ...more: More | []) => Store,
): Promise<OpenedStore<Store, More>> {
  const folder = makeFolder()
  return openedBy<Store, More>(
    regions,
    (...more) => {
      const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
      const store = openStore(environment, ...more)
      return {
        ...store,
        async close() {
          await store.close()
          await environment.close()
        },
      }
    },
    folder.remove,
  )
}
