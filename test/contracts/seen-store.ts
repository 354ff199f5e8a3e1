/**
 * The contract of the seen store port, run unchanged by every adapter:
 *
 *     seenStoreContract('lmdb', async () => ({ store, regions: 100, shape, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but nobody else writes to it meanwhile; the suite
 * uses viewers of its own, and compares what counts the whole store as differences. It writes layouts of rings.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import type { RingShape, SeenStore } from '../../stores/seen-store.ts'
import { concurrencyContract } from './seen-store-concurrency.ts'
import { daysContract } from './seen-store-days.ts'
import { foldingContract } from './seen-store-folding.ts'
import { issuedContract } from './seen-store-issued.ts'
import { layoutsContract } from './seen-store-layouts.ts'
import { seenPropertyContract } from './seen-store-property.ts'
import { stagingContract } from './seen-store-staging.ts'

export type OpenedSeenStore = {
  store: SeenStore
  /** As the store was configured. At least 2. */
  regions: number
  /** As the store was configured: 6 slots or more. */
  shape: RingShape
  /** Opens the same data once more, as another process has it open, maybe with another shape; the suite closes it. */
  another(shape?: RingShape): Promise<SeenStore>
  /** Closes `store` and opens the same data again: what was acknowledged must be there. */
  reopen(): Promise<SeenStore>
  /** Closes what is open and removes what was made for the suite. */
  dispose(): Promise<void>
}

/** What the parts of the suite work with; the store changes when it is opened again. */
export type SeenStoreSubject = {
  store: () => SeenStore
  regions: () => number
  shape: () => RingShape
  another: (shape?: RingShape) => Promise<SeenStore>
  reopen: () => Promise<SeenStore>
}

export function seenStoreContract(name: string, open: () => Promise<OpenedSeenStore>): void {
  describe(`seen store contract: ${name}`, { timeout: 60_000 }, () => {
    let opened: OpenedSeenStore | undefined
    const current = (): OpenedSeenStore => {
      if (opened === undefined) throw new Error('the seen store could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    }, 120_000)
    afterAll(async () => opened?.dispose(), 120_000)

    const subject: SeenStoreSubject = {
      store: () => current().store,
      regions: () => current().regions,
      shape: () => current().shape,
      another: (shape) => current().another(shape),
      reopen: async () => {
        const store = await current().reopen()
        current().store = store
        return store
      },
    }
    describe('issued', () => issuedContract(subject))
    describe('staging and the ring', () => stagingContract(subject))
    describe('folding', () => foldingContract(subject))
    describe('days', () => daysContract(subject))
    describe('several at once', () => concurrencyContract(subject))
    describe('against a model', () => seenPropertyContract(subject))
    // Last: layouts stay for the rest of the store's life.
    describe('layouts of the ring', () => layoutsContract(subject))
  })
}
