/** The journaled writes that a backup of the distributed shape does not have. */
import { afterAll, expect, test } from 'vitest'
import { join } from 'node:path'
import { countJournaled, describeJournaled } from '../../../cli/backup/journaled.ts'
import { makeConfig } from '../../../config/config.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import { makeDataFolder } from '../../subgraphs/switched-stores.ts'

const folder = makeDataFolder()
afterAll(() => folder.remove())

test('waiting entries of all journals are counted, beside the process that holds them, and parked ones are not', async () => {
  const config = makeConfig([{ name: 'test', values: { stores: { data: folder.path } } }])
  expect(await countJournaled(config)).toBe(0)
  const progress = openLmdbJournals(folder.path)
  const marks = openLmdbJournals(join(folder.path, 'marks'))
  await progress.own.append([1, 2].map((now) => ({ viewer: '7', now, change: { kind: 'clear' } })))
  await marks.own.append([1, 2].map((now) => ({ viewer: '7', now, change: { kind: 'mark' } })))
  await marks.own.park(1, 'a reason')
  expect(await countJournaled(config)).toBe(3)
  expect(describeJournaled(config, 3)).toMatch(/^3 writes in the journals of .* may be missing/)
  await progress.close()
  await marks.close()
})

test('a data folder that does not exist is not reported as one without waiting writes', async () => {
  const data = join(folder.path, 'mistyped')
  const config = makeConfig([{ name: 'test', values: { stores: { data } } }])
  const sentence = describeJournaled(config, await countJournaled(config))
  expect(sentence).toMatch(new RegExp(`^${data} does not exist, so no journal was read: `))
  const existing = makeConfig([{ name: 'test', values: { stores: { data: folder.path } } }])
  expect(describeJournaled(existing, 0)).toMatch(/^no write waits in the journals of this machine/)
})
