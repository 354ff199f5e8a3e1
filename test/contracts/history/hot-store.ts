/**
 * The contract of the hot store port, run unchanged by every adapter:
 *
 *     hotStoreContract('lmdb', async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but no other process writes to it during the suite. The suite uses
 * its own viewers, and compares counts of the whole store as differences.
 */
import { describe } from 'vitest'
import { changesContract } from './hot-store-changes.ts'
import { dirtyMarksContract } from './hot-store-dirty.ts'
import { fillsContract } from './hot-store-fills.ts'
import { modelContract } from './hot-store-model.ts'
import { switchesContract } from './hot-store-switches.ts'
import { timelinesContract } from './hot-store-timelines.ts'
import { trimmingContract } from './hot-store-trimming.ts'
import { writesContract } from './hot-store-writes.ts'
import { describeStore } from '../opened-store.ts'
import type { OpenedHotStore } from './hot-store-subject.ts'

export function hotStoreContract(name: string, open: () => Promise<OpenedHotStore>): void {
  describeStore(`hot store contract: ${name}`, open, (subject) => {
    describe('writes', () => writesContract(subject))
    describe('deleting, clearing and pausing', () => switchesContract(subject))
    describe('timelines', () => timelinesContract(subject))
    describe('trimming', () => trimmingContract(subject))
    describe('dirty marks, rewards and retention', () => dirtyMarksContract(subject))
    describe('rows of the record store', () => fillsContract(subject))
    describe('followed changes', () => changesContract(subject))
    describe('against a model', () => modelContract(subject))
  })
}
