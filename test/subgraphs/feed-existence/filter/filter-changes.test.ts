/** Adding to many filters under their versions: failures of one viewer, failures that end the call, and the limit of attempts. */
import { describe, expect, test } from 'vitest'
import { TidemarkError } from '../../../../core/errors.ts'
import { changeFilters } from '../../../../subgraphs/feed-existence/fold/filter-changes.ts'
import { addToFilter } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../../subgraphs/feed-existence/filter/hash.ts'
import type { FilterKey, SeenRecords } from '../../../../subgraphs/feed-existence/stores/record-store.ts'
import { makeSeenRecordsState, openModelSeenRecords } from '../../../../harness/models/feed-existence/record-store-model.ts'

const MONTH = 680
const rules = {
  add: (before: Buffer | undefined) => addToFilter(before, hashSeen(1, ['new']), { rate: 0.0025 }),
  renew: () => Promise.resolve(true),
  tooLarge: () => new TidemarkError('PLAYS_TOO_MANY', 'too large'),
  expiryOf: (month: number) => month,
}
const keyOf = (viewer: string): FilterKey => ({ viewer, month: MONTH })

async function open(...viewers: string[]) {
  const state = makeSeenRecordsState()
  const records: SeenRecords = openModelSeenRecords(state)
  const filter = addToFilter(undefined, hashSeen(1, ['old']), { rate: 0.0025 })
  await records.putFilters(viewers.map((viewer) => ({ viewer, month: MONTH, filter, expected: 0, expiresAt: MONTH })))
  return { state, records }
}

function damage(state: ReturnType<typeof makeSeenRecordsState>, viewer: string): void {
  const held = state.filters.get(`${MONTH}:${viewer}`)?.filter as Buffer
  held[held.length - 1]! ^= 1
}

describe('changes of filters', () => {
  test('tell new filters from existing ones', async () => {
    const { records } = await open('old')
    const { begun, done } = await changeFilters(records, [keyOf('old'), keyOf('new')], rules)
    expect([begun, done]).toEqual([[keyOf('new')], [keyOf('old'), keyOf('new')]])
  })

  test('give up after twenty lost races, report it, and write nothing', async () => {
    const { records } = await open('7')
    let tries = 0
    const outrun = { ...records, putFilters: (writes: readonly unknown[]) => (tries++, Promise.resolve(writes.map(() => false))) }
    const { failed, refused, writes } = await changeFilters(outrun, [keyOf('7')], rules)
    expect([tries, refused, writes]).toEqual([20, 20, 0])
    expect(failed).toMatchObject([{ key: keyOf('7'), error: { code: 'INTERNAL' } }])
    expect(String(failed[0]?.error)).toContain('viewer "7" and month 680 changed 20 times')
  })

  test.each(['RECORD_STORE_UNAVAILABLE', 'HOT_STORE_UNAVAILABLE', 'STORE_FULL'] as const)(
    'end with %s during a rebuild, and try no other filter',
    async (code) => {
      const { state, records } = await open('7', '8')
      damage(state, '7')
      const renew = () => Promise.reject(new TidemarkError(code, 'away'))
      await expect(changeFilters(records, [keyOf('7'), keyOf('8'), keyOf('9')], { ...rules, renew })).rejects.toMatchObject({ code })
      expect(state.filters.has(`${MONTH}:9`)).toBe(false)
    },
  )

  test('continue after a failed rebuild for a reason of one filter', async () => {
    const { state, records } = await open('7', '8')
    damage(state, '7')
    const renew = () => Promise.reject(new TidemarkError('PLAYS_TOO_MANY', 'his own'))
    const { failed, done } = await changeFilters(records, [keyOf('7'), keyOf('8')], { ...rules, renew })
    expect([failed, done]).toMatchObject([[{ key: keyOf('7'), error: { code: 'PLAYS_TOO_MANY' } }], [keyOf('8')]])
  })
})
