import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomBelow, seededRandom } from '../../../../core/random.ts'
import { makeFeedLedger, makeWriter, repeat, scroll } from './feed-actors.ts'
import type { ReadStores } from '../../../../subgraphs/feed/read/sections.ts'
import { openLmdbFeedStore } from '../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { openLmdbFeedRecords } from '../../../../subgraphs/feed/stores/lmdb/record-store.ts'
import { openEnvironment } from '../../../../stores/lmdb/environment.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'
import { REGIONS, makeFeedWorld } from './feed-world.ts'

const RUNS = 50
const VIEWERS = ['1', '2', '3', 'alice', '9007199254740993']

/** Writers and readers at once. Each reader has a process, and all share the pools. */
async function run(seed: number, hasOutages: boolean, stores?: ReadStores) {
  const random = seededRandom(seed)
  const world = makeFeedWorld({ random, ...(stores === undefined ? {} : { stores }) })
  const ledger = makeFeedLedger()
  // Some posts are older than the changes that the hot store keeps.
  let stepMaxMs = 600_000
  const write = makeWriter(world, ledger, VIEWERS, () => stepMaxMs)
  await repeat(40, write)
  stepMaxMs = 20_000
  const processes = [world.openProcess(), world.openProcess()]
  const found = { scrolls: 0, complete: 0, posts: 0, degraded: 0 }
  const read = async (): Promise<void> => {
    const process = processes[randomBelow(random, 2)] as (typeof processes)[number]
    const done = await scroll(process, ledger, VIEWERS[randomBelow(random, VIEWERS.length)] as string, 1 + randomBelow(random, 5))
    found.scrolls++
    found.posts += done.posts.length
    if (done.degraded.size > 0) found.degraded++
    else if (done.isComplete) found.complete++
  }
  const breakStores = async (): Promise<void> => {
    world.down.hotStore = random() < 0.15
    world.down.recordStore = random() < 0.15
    for (let left = 40; left > 0; left--) await Promise.resolve()
  }
  await Promise.all([
    repeat(40, write),
    repeat(40, write),
    repeat(6, read),
    repeat(6, read),
    repeat(6, read),
    ...(hasOutages ? [repeat(100, breakStores)] : []),
  ])
  world.down.hotStore = false
  world.down.recordStore = false
  // At rest, with all stores up, every list is complete.
  await repeat(3, read)
  expect(world.failures).toStrictEqual([])
  // Nothing else in a run lets the event loop turn, and the cache waits for turns.
  await setImmediate()
  return found
}

describe('scrolling through a home feed while others write, over pools that lose, delay and return old values', () => {
  it('skips and repeats no post, and shows none that is deleted, filtered or for others', async () => {
    const sum = { scrolls: 0, complete: 0, posts: 0, degraded: 0 }
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const found = await run(seed, false)
        for (const key of ['scrolls', 'complete', 'posts', 'degraded'] as const) sum[key] += found[key]
      }),
      { numRuns: RUNS },
    )
    expect(sum.degraded).toBe(0)
    expect(sum.complete).toBeGreaterThan(sum.scrolls / 2)
    expect(sum.posts).toBeGreaterThan(sum.scrolls)
  })

  it('is right while stores fail, unless the page names the store', async () => {
    let degraded = 0
    let complete = 0
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const found = await run(seed, true)
        degraded += found.degraded
        complete += found.complete
      }),
      { numRuns: RUNS },
    )
    expect(degraded).toBeGreaterThan(0)
    expect(complete).toBeGreaterThan(0)
  })

  it('is right over LMDB', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const folder = makeFolder()
      const environment = openEnvironment(folder.path, { regions: REGIONS, sizeMaxGb: 0.1 })
      try {
        const stores = { hot: openLmdbFeedStore(environment), records: openLmdbFeedRecords(environment) }
        const { complete } = await run(seed, seed % 2 === 0, stores)
        expect(complete, `seed ${seed}`).toBeGreaterThan(0)
      } finally {
        await environment.close()
        folder.remove()
      }
    }
  })
})
