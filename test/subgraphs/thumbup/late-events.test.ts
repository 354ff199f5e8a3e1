/**
 * Repetitions after a long time: the log message of a mark, the outgoing event, and the mark of the client. Also marks of a subject that
 * come before its owner is registered.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MarkKey } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, REGIONS, serveThumbup, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const WEEK = 7 * 86_400_000
const KEY: MarkKey = { viewer: '1', business: 1, oid: 'a' }

let stores: MarkedStores
let served: ServedThumbup
let job: ThumbupJob

beforeEach(async () => {
  stores = openMarkedStores({ records: 'lmdb' })
  served = serveThumbup(stores)
  job = await served.subgraph.startJob()
})
afterEach(async () => {
  await served.stop()
  await job.stop()
  await stores.close()
})

const mark = async (viewer: string, id: string, to: string, markedAt: number) =>
  (await served.subgraph.service.mark(viewerOf(viewer), [{ business: 'video', id, mark: to, markedAt }], new Set()))[0]
const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
const rowOf = async () => (await stores.plain.records.getMarkMany([KEY]))[0]
const likesOf = async (oid: string) => (await stores.plain.records.getCountsMany([{ business: 1, oid }]))[0]?.likes

describe('a week later', () => {
  test('a repeated log message of a mark changes nothing', async () => {
    await mark('1', 'a', 'LIKE', Date.now() - WEEK)
    await settled()
    const [row, likes] = [await rowOf(), await likesOf('a')]
    await until('it was counted', () => job.figures().transitions === 1)
    const message = { region: regionOf(KEY.viewer, REGIONS), keys: [KEY] }
    await stores.plain.log.appendFlushes([message, message])
    // A mark that is appended behind it is persisted after it.
    await mark('2', 'z', 'LIKE', Date.now())
    await settled()
    await until('the log is read', async () => (await stores.plain.log.lag()) === 0)
    expect(await rowOf()).toEqual(row)
    expect(await likesOf('a')).toBe(likes)
    expect(await stores.plain.records.recount([{ business: 1, oid: 'a' }])).toEqual([])
    // The transitions of the first and of the last mark.
    await until('the last one was counted', () => job.figures().transitions >= 2)
    expect(job.figures().transitions).toBe(2)
  })

  test('a repeated like of the client that was undone is stale, and stays undone', async () => {
    const then = Date.now() - WEEK
    await mark('1', 'a', 'LIKE', then)
    await mark('1', 'a', 'NONE', then + 1_000)
    await settled()
    expect(await mark('1', 'a', 'LIKE', then)).toMatchObject({ outcome: 'STALE' })
    await settled()
    expect(await rowOf()).toMatchObject({ mark: 'NONE' })
    expect(await likesOf('a')).toBe(0)
  })
})

describe('a subject without an owner', () => {
  const received = async (owner: string) =>
    (await served.ask('query ($id: ID!) { thumbupUser(id: $id) { likesReceived(business: "video") } }', viewerOf(owner), { id: owner }))
      .data.thumbupUser.likesReceived

  test('is counted without an owner, and its likes go to the owner once registered', async () => {
    for (const viewer of ['1', '2', '3']) await mark(viewer, 'orphan', 'LIKE', Date.now())
    await settled()
    expect(await likesOf('orphan')).toBe(3)
    expect(await received('9')).toBe(0)
    await served.subgraph.service.registerSubjects(viewerOf('service', 'subjects:register'), 'video', [{ id: 'orphan', owner: '9' }])
    await until('the sum of the owner has them', async () => (await received('9')) === 3)
    await mark('3', 'orphan', 'NONE', Date.now() + 1)
    await settled()
    await until('the undone one is gone', async () => (await received('9')) === 2)
    expect(served.errors).toEqual([])
  })
})
