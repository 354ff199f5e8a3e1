/**
 * The contract of the mark store port, run unchanged by every adapter:
 *
 *     markStoreContract('lmdb', async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but nobody else writes to it meanwhile; the suite
 * uses viewers of its own, and compares what counts the whole store as differences. It forgets businesses 60001 and above.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import type { MarkStore } from '../../stores/mark-store.ts'
import { fillsContract } from './mark-store-fills.ts'
import { likesContract } from './mark-store-likes.ts'
import { persistingContract } from './mark-store-persisting.ts'
import { propertyContract } from './mark-store-property.ts'
import { removalContract } from './mark-store-removal.ts'
import { marksTrimmingContract } from './mark-store-trimming.ts'
import { markWritesContract } from './mark-store-writes.ts'

export type OpenedMarkStore = {
  store: MarkStore
  /** As the store was configured. At least 2. */
  regions: number
  /** Opens the same data once more, as another process has it open; the suite closes it. */
  another(): Promise<MarkStore>
  /** Closes `store` and opens the same data again: what was acknowledged must be there. */
  reopen(): Promise<MarkStore>
  /** Closes what is open and removes what was made for the suite. */
  dispose(): Promise<void>
}

/** What the parts of the suite work with; the store changes when it is opened again. */
export type MarkStoreSubject = {
  store: () => MarkStore
  regions: () => number
  another: () => Promise<MarkStore>
  reopen: () => Promise<MarkStore>
}

export function markStoreContract(name: string, open: () => Promise<OpenedMarkStore>): void {
  describe(`mark store contract: ${name}`, { timeout: 60_000 }, () => {
    let opened: OpenedMarkStore | undefined
    const current = (): OpenedMarkStore => {
      if (opened === undefined) throw new Error('the mark store could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    }, 120_000)
    afterAll(async () => opened?.dispose(), 120_000)

    const subject: MarkStoreSubject = {
      store: () => current().store,
      regions: () => current().regions,
      another: () => current().another(),
      reopen: async () => {
        const store = await current().reopen()
        current().store = store
        return store
      },
    }
    describe('writes', () => markWritesContract(subject))
    describe('what is unknown, and fills', () => fillsContract(subject))
    describe('lists', () => likesContract(subject))
    describe('trimming', () => marksTrimmingContract(subject))
    describe('persisting', () => persistingContract(subject))
    describe('purging and forgetting', () => removalContract(subject))
    describe('against a model', () => propertyContract(subject))
  })
}
