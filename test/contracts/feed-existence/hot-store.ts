/**
 * The contract of the seen store port, run unchanged by every adapter:
 *
 *     seenStoreContract('lmdb', shape, async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but no other process writes to it during the suite. The suite uses
 * its own viewers, and compares counts of the whole store as differences. It writes layouts of rings.
 */
import { describe } from 'vitest'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { describeStore } from '../opened-store.ts'
import { concurrencyContract } from './hot-store-concurrency.ts'
import { daysContract } from './hot-store-days.ts'
import { foldingContract } from './hot-store-folding.ts'
import { issuedContract } from './hot-store-issued.ts'
import { layoutsContract } from './hot-store-layouts.ts'
import { seenPropertyContract } from './hot-store-property.ts'
import { stagingContract } from './hot-store-staging.ts'
import type { OpenedSeenStore, SeenStoreSubject } from './hot-store-subject.ts'

/** `shape`: the configured shape of the store, with 6 slots or more; `another` may have a different one. */
export function seenStoreContract(name: string, shape: RingShape, open: () => Promise<OpenedSeenStore>): void {
  describeStore(`seen store contract: ${name}`, open, (opened) => {
    const subject: SeenStoreSubject = { ...opened, shape: () => shape }
    describe('issued', () => issuedContract(subject))
    describe('staging and the ring', () => stagingContract(subject))
    describe('folding', () => foldingContract(subject))
    describe('days', () => daysContract(subject))
    describe('concurrency', () => concurrencyContract(subject))
    describe('against a model', () => seenPropertyContract(subject))
    // Last: layouts stay for the lifetime of the store.
    describe('layouts of the ring', () => layoutsContract(subject))
  })
}
