import { describe, expect, it } from 'vitest'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { openFeed } from './opened-feed.ts'

describe('a home feed of authors whose newest ids the process knows', () => {
  it('reads few heads, and those of changed authors', async () => {
    const { process, publish, publishMany, page, follow } = openFeed()
    const authors = Array.from({ length: 300 }, (_, at) => String(at + 10))
    const ids: string[] = []
    for (const author of authors) ids.unshift(...(await publishMany(author, 1)))
    follow('1', ...authors)
    const headsOf = async (task: () => Promise<unknown>): Promise<number> => {
      const read = (): number => {
        const { l1 = 0, main = 0, backup = 0, misses = 0 } = process.cache.figures().classes['h'] ?? {}
        return l1 + main + backup + misses
      }
      const first = read()
      await task()
      return read() - first
    }
    const isFirstPage = async () => expect(await page('1', 20)).toMatchObject({ ids: ids.slice(0, 20), degraded: [] })
    // The first page loads the heads, and the second one finds them in the pools.
    expect(await headsOf(isFirstPage)).toBe(300)
    expect(await headsOf(isFirstPage)).toBe(300)
    expect(await headsOf(isFirstPage)).toBe(40)
    ids.unshift((await publish('150')).id)
    expect(await headsOf(isFirstPage)).toBe(41)
    await isFirstPage()
    const { newest } = process
    expect(await headsOf(async () => expect(await newest('1', ids[0], 5, new Set())).toStrictEqual([]))).toBe(0)
    expect(await headsOf(async () => expect(await page('1', 100)).toMatchObject({ ids: ids.slice(0, 100) }))).toBe(120)
  })

  it('has the posts that the pools know if the hot store is down', async () => {
    const { world, publish, page, follow } = openFeed()
    follow('1', '2', '3')
    await publish('2')
    for (let read = 0; read < 3; read++) await page('1', 20)
    const [older, newer] = [await publish('2'), await publish('3')]
    const degraded: Degraded = new Set()
    for (let read = 0; read < 8; read++) await world.openProcess().homeFeed('1', { first: 20, after: undefined }, degraded)
    expect(degraded.size).toBe(0)
    world.down.hotStore = true
    const { ids } = await page('1', 20)
    expect(ids?.slice(0, 2)).toStrictEqual([newer.id, older.id])
  })
})
