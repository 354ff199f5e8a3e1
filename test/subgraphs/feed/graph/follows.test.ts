/** Follows on the real marks and longsets of the embedded shape. */
import { afterAll, describe, expect, it } from 'vitest'
import { withFollowChanges } from '../../../../cli/stores/follow-changes.ts'
import { makeConfig } from '../../../../config/config.ts'
import { systemClock } from '../../../../core/clock.ts'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { openEnvironment } from '../../../../stores/lmdb/environment.ts'
import { makeChangeFollows } from '../../../../subgraphs/feed/graph/follows.ts'
import { makeFollowLists } from '../../../../subgraphs/feed/graph/follow-lists.ts'
import { openLmdbLongsets } from '../../../../subgraphs/feed/stores/lmdb/longsets.ts'
import { makeThumbupSubgraph } from '../../../../subgraphs/thumbup/index.ts'
import { openLmdbCountCache } from '../../../../subgraphs/thumbup/stores/lmdb/count-cache.ts'
import { openLmdbMarkEvents } from '../../../../subgraphs/thumbup/stores/lmdb/events.ts'
import { openLmdbMarkStore } from '../../../../subgraphs/thumbup/stores/lmdb/hot-store.ts'
import { openLmdbMarkRecords } from '../../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { openLmdbLog } from '../../../../writeback/stores/lmdb/log.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'

const REGIONS = 4
const folder = makeFolder()
const environment = openEnvironment(folder.path, { regions: REGIONS, sizeMaxGb: 1 })
const longsets = openLmdbLongsets(environment, systemClock)
const noted: string[] = []
let beforePut = (): Promise<void> => Promise.resolve()
const marks = openLmdbMarkStore(environment)
const hot = withFollowChanges(
  {
    ...marks,
    async putMarks(writes, options) {
      await beforePut()
      return marks.putMarks(writes, options)
    },
  },
  { longsets, hot: { noteChange: async (_, key) => noted.push(key) } },
  systemClock,
  60_000,
)
const stores = {
  hot,
  cache: openLmdbCountCache(environment, {}),
  log: openLmdbLog(environment, systemClock, { stream: 'marks' }),
  records: openLmdbMarkRecords(environment),
  events: openLmdbMarkEvents(environment, systemClock),
}
const config = makeConfig([{ name: 'test', values: { stores: { regions: REGIONS } } }])
const thumbup = makeThumbupSubgraph(systemClock, stores, config, (error) => {
  throw error
})
let reads = 0
const all = (...asked: Parameters<typeof thumbup.follows.all>) => {
  reads++
  return thumbup.follows.all(...asked)
}
const lists = makeFollowLists(longsets, { all }, 60_000)
const change = makeChangeFollows(lists, thumbup.follows, { followsMax: 10 })
const NONE: Degraded = new Set()

const outcomes = async (viewer: string, ids: readonly string[], follows = true): Promise<string[]> =>
  (await change(viewer, ids, follows, new Set())).map((answer) => (answer.outcome === 'REJECTED' ? answer.code : answer.outcome))
const following = async (viewer: string): Promise<string[]> => [...((await lists.following(viewer, NONE)) ?? ['no store answers'])].sort()

afterAll(async () => {
  await thumbup.drain()
  await environment.close()
  folder.remove()
})

describe('follows', () => {
  it('a followed user is in the list at once, and the change is noted', async () => {
    expect(await following('1')).toEqual([])
    expect(await outcomes('1', ['2', 'anna'])).toEqual(['CHANGED', 'CHANGED'])
    expect(await following('1')).toEqual(['2', 'anna'])
    expect(await lists.follows('1', ['anna', '3', '2'], NONE)).toEqual([true, false, true])
    expect(await lists.followingCounts(['1', '2'], NONE)).toEqual([2, 0])
    expect(noted).toContain('g1')
  })

  it('a repetition changes nothing and keeps the time of the follow', async () => {
    await outcomes('20', ['21'])
    const first = await thumbup.follows.following('20', { first: 10, after: undefined }, new Set())
    expect(await outcomes('20', ['21', '21'])).toEqual(['UNCHANGED', 'UNCHANGED'])
    expect(await thumbup.follows.following('20', { first: 10, after: undefined }, new Set())).toEqual(first)
  })

  it('a user who occurs twice in a call changes once', async () => {
    expect(await outcomes('22', ['23', '23'])).toEqual(['CHANGED', 'UNCHANGED'])
    expect(await outcomes('22', ['23', '23'], false)).toEqual(['CHANGED', 'UNCHANGED'])
    expect(await following('22')).toEqual([])
  })

  it('an end of a follow that never was changes nothing, and stores nothing', async () => {
    expect(await outcomes('24', ['25', '24'], false)).toEqual(['UNCHANGED', 'UNCHANGED'])
    expect(await marks.readDirtyMarks([{ viewer: '24', business: 65_535, oid: '25' }])).toMatchObject([{ record: undefined }])
  })

  it('a mistake in one user leaves the others valid', async () => {
    expect(await outcomes('26', ['27', '26', '', 'x'.repeat(65), '\ud800', '28'])).toEqual([
      ...['CHANGED', 'FOLLOW_SELF', 'ID_INVALID', 'ID_INVALID', 'ID_INVALID', 'CHANGED'],
    ])
    expect(await following('26')).toEqual(['27', '28'])
  })

  it('a viewer follows up to the limit, and the rest of the call is refused one by one', async () => {
    const ids = Array.from({ length: 12 }, (_, at) => String(100 + at))
    const expected = ids.map((_, at) => (at < 10 ? 'CHANGED' : 'FOLLOWS_TOO_MANY'))
    expect(await outcomes('29', ids)).toEqual(expected)
    expect(await outcomes('29', ['100', '112'])).toEqual(['UNCHANGED', 'FOLLOWS_TOO_MANY'])
    expect(await outcomes('29', ['100'], false)).toEqual(['CHANGED'])
    expect(await outcomes('29', ['112'])).toEqual(['CHANGED'])
  })

  it('more ids than allowed are refused as a call', async () => {
    await expect(
      outcomes(
        '30',
        Array.from({ length: 501 }, (_, at) => String(at)),
      ),
    ).rejects.toMatchObject({ code: 'INPUTS_TOO_MANY' })
  })

  it('followers and their count include a follow of a moment ago, and a cursor of another list is refused', async () => {
    for (const viewer of ['31', '32', '33']) await outcomes(viewer, ['40'])
    const seen = await thumbup.follows.followers('40', '33', { first: 2, after: undefined }, new Set())
    expect(seen?.edges[0]?.id).toBe('33')
    expect(await thumbup.follows.followerCounts(['40', '41'], '33', new Set())).toEqual([1, 0])
    const after = seen?.edges[0]?.cursor
    await expect(thumbup.follows.followers('41', '33', { first: 2, after }, new Set())).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
    await expect(thumbup.follows.following('33', { first: 2, after }, new Set())).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
  })

  it('a build that read the marks before a follow is not stored', async () => {
    await outcomes('50', ['51'])
    const lease = await longsets.beginBuild('50')
    const old = await thumbup.follows.all('50', NONE)
    await outcomes('50', ['52'])
    expect(old).toEqual(['51'])
    expect(await longsets.put('50', Buffer.from('old'), lease, 60_000)).toBe(false)
    expect(await following('50')).toEqual(['51', '52'])
  })

  it('a build during a put is not stored', async () => {
    await outcomes('53', ['54'])
    beforePut = async () => {
      beforePut = () => Promise.resolve()
      expect(await following('53')).toEqual(['54'])
      expect(await longsets.get('53')).toBeUndefined()
    }
    await outcomes('53', ['55'])
    expect(await following('53')).toEqual(['54', '55'])
    expect(await longsets.get('53')).toBeDefined()
  })

  it('concurrent readers share one build', async () => {
    await outcomes('56', ['57'])
    const before = reads
    const found = await Promise.all(Array.from({ length: 20 }, () => following('56')))
    expect(found.every((ids) => ids.join() === '57')).toBe(true)
    expect(reads - before).toBe(1)
    expect(await lists.follows('56', ['57'], NONE)).toEqual([true])
  })

  it('a list of more than a thousand follows is complete', async () => {
    const wide = makeChangeFollows(lists, thumbup.follows, { followsMax: 5_000 })
    const ids = Array.from({ length: 2_300 }, (_, at) => String(1_000 + at))
    for (let at = 0; at < ids.length; at += 500) await wide('60', ids.slice(at, at + 500), true, new Set())
    expect(await following('60')).toEqual([...ids].sort())
  })
})
