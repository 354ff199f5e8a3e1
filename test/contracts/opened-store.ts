/** What the contracts of the hot tier's stores share: a store is opened once per suite, by others as well, and again. */
import { afterAll, beforeAll, describe } from 'vitest'

type Store = { close(): Promise<void> }

/** `More`: what else a store may be opened with, as another process would. */
export type OpenedStore<Opened extends Store, More extends unknown[] = []> = {
  store: Opened
  /** As the store was configured. At least 2. */
  regions: number
  /** Opens the same data once more, as another process has it open; the suite closes it. */
  another(...more: More): Promise<Opened>
  /** Closes `store` and opens the same data again: what was acknowledged must be there. */
  reopen(): Promise<Opened>
  /** Closes what is open and removes what was made for the suite. */
  dispose(): Promise<void>
}

/** What the parts of a suite work with; the store changes when it is opened again. */
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

/** For adapters: `open` opens the data, `remove` removes them when nobody has them open. */
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
