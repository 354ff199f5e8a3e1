import { expect, onTestFinished, test } from 'vitest'
import { makeBusinesses } from '../../../../config/businesses.ts'
import { beginningOf, monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeRebuild } from '../../../../subgraphs/feed-existence/fold/rebuild.ts'
import { openSeen, seenConfig } from '../opened.ts'

const VISIT = { since: 0, rank: 1, version: 1, position: 5, duration: 9, device: '', finished: true, deleted: false }

test('the whole history of a month is found page by page, and the first older record ends the pages', async () => {
  const opened = openSeen()
  onTestFinished(opened.close)
  const month = monthOf(opened.clock.now())
  const since = beginningOf(month)
  // Three records share each millisecond, across the ends of pages of 1,000. The records of the month before are on the third page and
  // later ones.
  const subjects = Array.from({ length: 2_500 + 1_500 }, (_, at) => ({ business: 1 + (at % 2), oid: String(at) }))
  const rows = subjects.map(({ business, oid }, at) => ({
    key: { viewer: '7', business, oid },
    record: { ...VISIT, viewedAt: since + Math.floor((2_499 - at) / 3) },
  }))
  await opened.history.putProgress(rows)
  const pages: number[] = []
  const rebuild = makeRebuild(
    {
      async listProgress(...of) {
        const entries = await opened.history.listProgress(...of)
        pages.push(entries.length)
        return entries
      },
    },
    makeBusinesses(seenConfig().businesses),
  )
  const textOf = ({ business, oid }: { business: number; oid: string }): string => `${business}:${oid}`
  expect((await rebuild('7', month)).map(textOf).sort()).toEqual(subjects.slice(0, 2_500).map(textOf).sort())
  expect(pages).toEqual([1_000, 1_000, 1_000])
})
