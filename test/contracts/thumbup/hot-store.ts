/**
 * The contract of the mark store port, run unchanged by every adapter:
 *
 *     markStoreContract('lmdb', async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but no other process writes to it during the suite. The suite uses
 * its own viewers, and compares counts of the whole store as differences. It forgets businesses 60001 and above.
 */
import { describe } from 'vitest'
import { fillsContract } from './hot-store-fills.ts'
import { likesContract } from './hot-store-likes.ts'
import { persistingContract } from './hot-store-persisting.ts'
import { propertyContract } from './hot-store-property.ts'
import { removalContract } from './hot-store-removal.ts'
import { marksTrimmingContract } from './hot-store-trimming.ts'
import { markWritesContract } from './hot-store-writes.ts'
import { describeStore } from '../opened-store.ts'
import type { OpenedMarkStore } from './hot-store-subject.ts'

export function markStoreContract(name: string, open: () => Promise<OpenedMarkStore>): void {
  describeStore(`mark store contract: ${name}`, open, (subject) => {
    describe('writes', () => markWritesContract(subject))
    describe('unknown viewers and fills', () => fillsContract(subject))
    describe('lists', () => likesContract(subject))
    describe('trimming', () => marksTrimmingContract(subject))
    describe('persisting', () => persistingContract(subject))
    describe('purging and forgetting', () => removalContract(subject))
    describe('against a model', () => propertyContract(subject))
  })
}
