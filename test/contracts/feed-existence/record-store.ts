/**
 * The contract of the record store of filters, run unchanged by every adapter:
 *
 *     seenRecordsContract('mariadb', async () => ({ store, second, reopen, dispose }))
 *
 * `open` runs once per suite. No other process writes to the store during the suite, and every test has its own viewers. Purging affects
 * all viewers, so only tests that purged before compare its totals.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seenDamageContract } from './record-store-damage.ts'
import { seenExpiryContract } from './record-store-expiry.ts'
import { seenFoldingContract } from './record-store-folding.ts'
import { seenModelContract } from './record-store-sequences.ts'
import { seenWritingContract } from './record-store-writing.ts'
import type { OpenedSeenRecords, SeenRecordsSubject } from './record-store-subject.ts'

export function seenRecordsContract(name: string, open: () => Promise<OpenedSeenRecords>): void {
  describe(`seen records contract: ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedSeenRecords | undefined
    const current = (): OpenedSeenRecords => {
      if (opened === undefined) throw new Error('the record store of filters could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => opened?.dispose())

    const subject: SeenRecordsSubject = {
      store: () => current().store,
      second: () => current().second,
      reopen: async () => {
        const store = await current().reopen()
        current().store = store
        return store
      },
      damage: (key, bytes) => current().damage(key, bytes),
    }
    describe('writing and reading', () => seenWritingContract(subject))
    describe('folding', () => seenFoldingContract(subject))
    describe('quarantine and expiry', () => seenExpiryContract(subject))
    describe('damage', () => seenDamageContract(subject))
    describe('against a model', () => seenModelContract(subject))

    it('an available store passes its check, and empty calls return nothing', async () => {
      const store = current().store
      await store.check()
      expect(await store.getFilters([])).toEqual([])
      expect(await store.listFilters([])).toEqual([])
      expect(await store.putFilters([])).toEqual([])
    })
  })
}
