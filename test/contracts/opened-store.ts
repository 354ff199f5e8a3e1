/** Shared by the contracts of the hot tier: a store is opened once per suite, by other processes as well, and reopened. */
import { afterAll, beforeAll, describe } from 'vitest'

type Store = { close(): Promise<void> }

/** `More`: the optional arguments with which another process may open the store. */
export type OpenedStore<Opened extends Store, More extends unknown[] = []> = {
  store: Opened
  /** The configured number of regions. At least 2. */
  regions: number
  /** Opens the same data again, as another process does. The suite closes it. */
  another(...more: More): Promise<Opened>
  /** Closes `store` and opens the same data again: every acknowledged write must be there. */
  reopen(): Promise<Opened>
  /** Closes all open handles and removes the data of the suite. */
  dispose(): Promise<void>
}

/** The subject of the parts of a suite. The store changes when it is reopened. */
export type StoreSubject<Opened extends Store, More extends unknown[] = []> = {
  store: () => Opened
  regions: () => number
  another: (...more: More) => Promise<Opened>
  reopen: () => Promise<Opened>
}

export function describeStore<Opened extends Store, More extends unknown[] = []>(
  title: string,
  open: () => Promise<OpenedStore<Opened, More>>,
  parts: (subject: StoreSubject<Opened, More>) => void,
): void {
  describe(title, () => {
    let opened: OpenedStore<Opened, More> | undefined
    const current = (): OpenedStore<Opened, More> => {
      if (opened === undefined) throw new Error('the store could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => opened?.dispose())
    parts({
      store: () => current().store,
      regions: () => current().regions,
      another: (...more) => current().another(...more),
      reopen: async () => {
        const store = await current().reopen()
        current().store = store
        return store
      },
    })
  })
}

/** For adapters: `open` opens the data, and `remove` removes them when no handle is open. */
export async function openedBy<Opened extends Store, More extends unknown[] = []>(
  regions: number,
  open: (...more: More | []) => Promise<Opened> | Opened,
  remove: () => Promise<void> | void,
): Promise<OpenedStore<Opened, More>> {
  let store = await open()
  return {
    store,
    regions,
    another: async (...more) => open(...more),
    async reopen() {
      await store.close()
      store = await open()
      return store
    },
    async dispose() {
      await store.close()
      await remove()
    },
  }
}
