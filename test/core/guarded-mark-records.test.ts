/** What reads of marks may cost the record store: by a bucket of queries, whatever is asked. */
import { expect, test } from 'vitest'
import { guardMarkStores } from '../../core/guarded-mark-stores.ts'
import { makeMarkRecordsState, openModelMarkRecords } from '../contracts/mark-records-model.ts'
import { makeSteppedClock } from '../support/stepped-clock.ts'

const key = (at: number) => ({ viewer: '7', business: 1, oid: String(at) })
const refusal = expect.objectContaining({ code: 'RECORD_STORE_UNAVAILABLE' })

function guarded(recordReadsPerSecondMax: number) {
  const clock = makeSteppedClock(1_000)
  const records = openModelMarkRecords(makeMarkRecordsState())
  const unused = {} as never
  return {
    clock,
    ...guardMarkStores(clock, { hot: unused, cache: unused, log: unused, records }, { recordReadsPerSecondMax }, () => undefined),
  }
}

test('lookups cost two queries per 128 keys, pages eight, and what exceeds the second is refused and counted', async () => {
  const { records, recordReads, clock } = guarded(27)
  await records.getMarkMany(Array.from({ length: 129 }, (_, at) => key(at)))
  await records.listMarks('7', 1, ['LIKE'], undefined, 10)
  await records.listLikers({ business: 1, oid: '1' }, undefined, 10)
  expect(recordReads()).toEqual({ queries: 20, refused: 0 })
  for (let at = 0; at < 3; at++) await records.getMarkMany([key(1)])
  await expect(records.getMarkMany([key(1)])).rejects.toEqual(refusal)
  await records.getCountsMany([{ business: 1, oid: '1' }])
  await expect(records.getCountsMany([{ business: 1, oid: '1' }])).rejects.toEqual(refusal)
  expect(recordReads()).toEqual({ queries: 27, refused: 2 })
  clock.advance(100)
  await records.getMarkMany([key(1)])
  await expect(records.getMarkMany([key(1)])).rejects.toEqual(refusal)
})

test('a limit below what a read costs lets one through, once a second', async () => {
  const { records, clock } = guarded(3)
  await records.listMarks('7', 1, ['LIKE'], undefined, 10)
  await expect(records.listMarks('7', 1, ['LIKE'], undefined, 10)).rejects.toEqual(refusal)
  clock.advance(1_000)
  await records.listMarks('7', 1, ['LIKE'], undefined, 10)
})

test('pages and recounts leave a quarter of the queries to lookups, and to bringing a viewer’s marks in', async () => {
  const { records, fillRecords, recordReads } = guarded(100)
  const subject = { business: 1, oid: '1' }
  const pages = [
    () => records.listLikers(subject, undefined, 10),
    () => records.listMarks('7', 1, ['LIKE'], undefined, 10),
    () => records.recount([subject]),
    () => records.recountOwners([{ business: 1, owner: '7' }]),
  ]
  for (let at = 0; at < 50; at++) await pages[at % 2]?.().catch(() => undefined)
  expect(recordReads()).toEqual({ queries: 72, refused: 41 })
  for (const page of pages) await expect(page()).rejects.toEqual(refusal)
  await fillRecords.listMarks('8', 1, ['LIKE', 'DISLIKE'], undefined, 10)
  for (let at = 0; at < 10; at++) await records.getMarkMany([key(at)])
  await expect(records.getMarkMany([key(1)])).rejects.toEqual(refusal)
  expect(recordReads().queries).toBe(100)
})
