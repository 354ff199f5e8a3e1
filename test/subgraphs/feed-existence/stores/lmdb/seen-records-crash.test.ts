import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbSeenRecords } from '../../../../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { EXPIRES_AT, filterKey, filterWrite, numbersOf, purgeAll, someBytes } from '../../../../contracts/feed-existence/seen-filters.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'
import { SEEN_VIEWERS } from './seen-writer.ts'

const WRITER = new URL('seen-writer.ts', import.meta.url).pathname
const KEYS = SEEN_VIEWERS.map((viewer) => filterKey(viewer))

/** Folds until `enough` numbers are acknowledged, then kills the process. Returns the acknowledged numbers. */
async function foldUntilKilled(folder: string, first: number, enough: number): Promise<number[]> {
  const writer = spawn(process.execPath, [WRITER, folder, String(first), '2'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const acknowledged: number[] = []
  createInterface({ input: writer.stdout }).on('line', (line) => {
    acknowledged.push(Number(line))
    if (acknowledged.length === enough) writer.kill('SIGKILL')
  })
  await once(writer, 'close')
  expect(acknowledged.length).toBeGreaterThanOrEqual(enough)
  return acknowledged
}

describe('the record store of filters on LMDB', () => {
  let folder = makeFolder()
  beforeEach(() => {
    folder.remove()
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('has every number that two processes folded into the same filters, after kill -9 of both', async () => {
    const acknowledged: number[] = []
    for (const [round, enough] of [20, 100, 5].entries()) {
      const first = round * 100_000
      const told = await Promise.all([0, 1].map((parity) => foldUntilKilled(folder.path, first + parity, enough + parity * 7)))
      acknowledged.push(...told.flat())
      const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
      const stored = await openLmdbSeenRecords(environment).getFilters(KEYS)
      for (const each of stored) {
        const numbers = new Set(numbersOf(each?.filter))
        expect(acknowledged.filter((number) => !numbers.has(number))).toEqual([])
        // A number is folded once: each write has read the write before it.
        expect(each?.version).toBe(numbers.size)
      }
      await environment.close()
    }
  })

  it('leaves nothing behind of purged filters', async () => {
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const store = openLmdbSeenRecords(environment)
    await store.putFilters(KEYS.map(({ viewer }, at) => filterWrite(viewer, someBytes(9_000, at), { expiresAt: EXPIRES_AT - at })))
    await store.quarantineFilter(filterKey('1'), 1, 'broken')
    await store.quarantineFilter(filterKey('2'), 1, 'broken')
    await store.putFilters([filterWrite('2', someBytes(9_000))])
    await purgeAll(store, EXPIRES_AT, 2)
    for (const table of ['seen-filters', 'seen-quarantined', 'seen-expiring']) expect([...environment.table(table).getKeys()]).toEqual([])
    await environment.close()
  })
})
