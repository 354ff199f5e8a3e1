/** The viewers that a listing names in addition to those it lists. */
import { expect, test } from 'vitest'
import { inBatches, type ViewerLine } from '../../../cli/migrate/viewers-file.ts'
import { listViewers } from '../../../cli/migrate/migration-listing.ts'
import { MARK_MONTH, encodeMark } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { RUBBISH } from '../../contracts/feed-existence/record-store-damage.ts'
import { damageModel, makeSeenRecordsState, openModelSeenRecords } from '../../../harness/models/feed-existence/record-store-model.ts'
import { makeSeenStoreModel } from '../../../harness/models/feed-existence/hot-store-model.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const AT = 1_790_000_000_000

async function* linesOf(viewers: readonly string[]): AsyncGenerator<ViewerLine> {
  for (const [at, viewer] of viewers.entries()) yield { viewer, line: at + 1, mistake: undefined }
}

test('a viewer with a damaged mark is listed again and named, and a viewer with an intact mark is not', async () => {
  const state = makeSeenRecordsState()
  const records = openModelSeenRecords(state)
  const kinds = Object.values(RUBBISH)
  const viewers = kinds.map((_, at) => String(at))
  const filter = encodeMark(new Map([[1, { plays: 3, outside: 0, invalid: 0 }]]))
  const everybody = [...viewers, 'whole', 'emptied', 'new']
  for (const viewer of [...viewers, 'whole'])
    await records.putFilters([{ viewer, month: MARK_MONTH, filter, expected: 0, expiresAt: 2 * AT }])
  await records.putFilters([{ viewer: 'emptied', month: MARK_MONTH, filter: encodeMark(new Map()), expected: 0, expiresAt: 2 * AT }])
  for (const [at, bytes] of kinds.entries()) damageModel(state, { viewer: String(at), month: MARK_MONTH }, bytes)
  const hints: string[] = []
  const counts = await listViewers(
    makeSteppedClock(AT),
    {
      hot: makeSeenStoreModel(2, { slots: 6, shards: 4 }),
      records,
      legacy: { examine: async (of) => of.map(() => 'set'), keyOf: (viewer) => viewer },
    },
    inBatches(linesOf(everybody), 3),
    { line: 0, put() {} },
    {
      businesses: [1],
      shape: { slots: 6, shards: 4 },
      isDry: true,
      pace: async () => undefined,
      onMistake: (sentence) => expect.unreachable(sentence),
      onHint: (sentence) => hints.push(sentence),
      onBatch: () => undefined,
    },
  )
  expect(counts).toEqual({ viewers: everybody.length, listed: viewers.length + 2, before: 1, without: 0 })
  expect(hints).toEqual(
    viewers.map((viewer) =>
      expect.stringContaining(`the migration mark of viewer "${viewer}" is damaged: the viewer counts as not migrated`),
    ),
  )
})
