/**
 * The contract of the hot store port, run unchanged by every adapter:
 *
 *     hotStoreContract('lmdb', async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but nobody else writes to it meanwhile; the suite
 * uses viewers of its own, and compares what counts the whole store as differences.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import type { HotStore } from '../../stores/hot-store.ts'
import { changesContract } from './hot-store-changes.ts'
import { dirtyMarksContract } from './hot-store-dirty.ts'
import { modelContract } from './hot-store-model.ts'
import { switchesContract } from './hot-store-switches.ts'
import { timelinesContract } from './hot-store-timelines.ts'
import { trimmingContract } from './hot-store-trimming.ts'
import { writesContract } from './hot-store-writes.ts'

export type OpenedHotStore = {
  store: HotStore
  /** As the store was configured. At least 2. */
  regions: number
  /** Opens the same data once more, as another process has it open; the suite closes it. */
  another(): Promise<HotStore>
  /** Closes `store` and opens the same data again: what was acknowledged must be there. */
  reopen(): Promise<HotStore>
  /** Closes what is open and removes what was made for the suite. */
  dispose(): Promise<void>
}

/** What the parts of the suite work with; the store changes when it is opened again. */
export type HotStoreSubject = {
  store: () => HotStore
  regions: () => number
  another: () => Promise<HotStore>
  reopen: () => Promise<HotStore>
}

export function hotStoreContract(name: string, open: () => Promise<OpenedHotStore>): void {
  describe(`hot store contract: ${name}`, { timeout: 60_000 }, () => {
    let opened: OpenedHotStore | undefined
    const current = (): OpenedHotStore => {
      if (opened === undefined) throw new Error('the hot store could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    }, 120_000)
    afterAll(async () => opened?.dispose(), 120_000)

    const subject: HotStoreSubject = {
      store: () => current().store,
      regions: () => current().regions,
      another: () => current().another(),
      reopen: async () => {
        const store = await current().reopen()
        current().store = store
        return store
      },
    }
    describe('writes', () => writesContract(subject))
    describe('deleting, clearing and pausing', () => switchesContract(subject))
    describe('timelines', () => timelinesContract(subject))
    describe('trimming', () => trimmingContract(subject))
    describe('dirty marks, rewards and retention', () => dirtyMarksContract(subject))
    describe('changes that others follow', () => changesContract(subject))
    describe('against a model', () => modelContract(subject))
  })
}
