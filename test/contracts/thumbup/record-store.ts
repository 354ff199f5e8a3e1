/**
 * The contract of the record store of marks, run unchanged by every adapter:
 *
 *     markRecordsContract('mariadb', async () => ({ store, reopen, plant, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but no other process writes to it during the suite. Every test has
 * its own businesses. Archiving and purging affect all businesses, so their totals are not compared.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { archiveContract } from './record-store-archive.ts'
import { applyingContract } from './record-store-applying.ts'
import { marksListsContract } from './record-store-lists.ts'
import { outboxContract } from './record-store-outbox.ts'
import { ownersContract } from './record-store-owners.ts'
import { marksModelContract } from './record-store-sequences.ts'
import { tenantsContract } from './record-store-tenants.ts'
import type { OpenedMarkRecords, MarkRecordsSubject } from './record-store-subject.ts'

export function markRecordsContract(name: string, open: () => Promise<OpenedMarkRecords>): void {
  describe(`mark records contract: ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedMarkRecords | undefined
    const current = (): OpenedMarkRecords => {
      if (opened === undefined) throw new Error('the record store of marks could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => opened?.dispose())

    const subject: MarkRecordsSubject = {
      store: () => current().store,
      reopen: async () => {
        const store = await current().reopen()
        current().store = store
        return store
      },
      plant: () => current().plant,
    }
    describe('applying', () => applyingContract(subject))
    describe('owners', () => ownersContract(subject))
    describe('outbox and offsets', () => outboxContract(subject))
    describe('lists', () => marksListsContract(subject))
    describe('archiving and purging', () => archiveContract(subject))
    describe('recounting, export, deletion', () => tenantsContract(subject))
    describe('against a model', () => marksModelContract(subject))

    it('an available store passes its check', async () => {
      await current().store.check()
      expect(await current().store.getMarkMany([])).toEqual([])
    })
  })
}
