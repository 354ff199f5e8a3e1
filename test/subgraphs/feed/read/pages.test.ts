import { describe, expect, it } from 'vitest'
import type { Post } from '../../../../subgraphs/feed/model/post.ts'
import { makeFeedStoreModel } from '../../../../harness/models/feed/hot-store-model.ts'
import { makeFeedRecordsState, openModelFeedRecords } from '../../../../harness/models/feed/record-store-model.ts'
import { lengthOf } from '../../../../subgraphs/feed/packed/vector.ts'
import type { FeedHotStore } from '../../../../subgraphs/feed/stores/hot-store.ts'
import { KEEP_MS, REGIONS } from './feed-world.ts'
import { openFeed } from './opened-feed.ts'

describe('a home feed', () => {
  it('has the posts of all followed users and those sent to the viewer, newest first', async () => {
    const { publish, page, follow } = openFeed()
    follow('1', '2', '3')
    const ids = [
      await publish('2'),
      await publish('4'),
      await publish('3'),
      await publish('4', 'for you', ['1']),
      await publish('2', 'for others', ['3']),
      await publish('1'),
    ].map(({ id }) => id)
    expect(await page('1', 20)).toMatchObject({ ids: [ids[3], ids[2], ids[0]], hasNextPage: false, degraded: [] })
  })

  it('reads each store at most once for a first page, and then only the changes', async () => {
    const { publishMany, page, follow, callsOf } = openFeed()
    const authors = Array.from({ length: 50 }, (_, at) => String(at + 10))
    for (const author of authors) await publishMany(author, 2)
    follow('1', ...authors)
    const first = await callsOf(() => page('1', 20))
    expect(first).toStrictEqual([
      ...['getInboxMany', 'getOutboxMany', 'getPostMany', 'getWords', 'getWordsMany'],
      ...['listChanges', 'listInboxMany', 'listOutboxMany'],
    ])
    expect(await callsOf(() => page('1', 20))).toStrictEqual(['listChanges'])
  })

  it('is read from the stores again if cached values are damaged, and replaces them in the cache', async () => {
    const { process, publishMany, publish, page, follow, callsOf } = openFeed({ sizes: { head: 2, outbox: 5, inbox: 5, rest: 3 } })
    follow('1', '2')
    const ids = await publishMany('2', 4)
    ids.unshift((await publish('4', 'for you', ['1'])).id)
    expect(await page('1', 5)).toMatchObject({ ids })
    for (const key of ['h2', 'o2', 'i1', ...ids.map((id) => `c${id}`)]) {
      const held = await process.cache.gets(key)
      expect.assert(held !== undefined)
      await process.cache.set(key, { ...held.stamped, value: held.stamped.value.subarray(0, 5) })
    }
    expect(await page('1', 5)).toMatchObject({ ids, degraded: [] })
    expect(await callsOf(() => page('1', 5))).toStrictEqual(['listChanges'])
    const { h, o, i, c } = process.cache.figures().classes
    for (const figures of [h, o, i, c]) expect(figures?.damaged).toBeGreaterThan(0)
  })

  it('reads of long lists in the hot store only the parts that it needs, and skips none of their posts', async () => {
    const hot = makeFeedStoreModel(REGIONS)
    let longest = 0
    const measured =
      (read: FeedHotStore['getInboxMany']): typeof read =>
      async (...asked) => {
        const found = await read(...asked)
        for (const { added } of found) longest = Math.max(longest, lengthOf(added))
        return found
      }
    const watched = { ...hot, getInboxMany: measured(hot.getInboxMany), getOutboxMany: measured(hot.getOutboxMany) }
    const { world, publish, page, follow } = openFeed({
      sizes: { head: 2, outbox: 5, inbox: 3, rest: 4 },
      stores: { hot: watched, records: openModelFeedRecords(makeFeedRecordsState()) },
    })
    follow('1', '2')
    const ids: string[] = []
    for (let post = 0; post < 40; post++) {
      ids.unshift((await publish('2')).id, (await publish('3', 'for you', ['1'])).id)
      if (post === 15) await world.persist()
    }
    ids.sort((a, b) => Number(BigInt(b) - BigInt(a)))
    const found: string[] = []
    for (let after: string | undefined; ;) {
      const read = await page('1', 7, after)
      found.push(...(read.ids ?? []))
      if (read.hasNextPage !== true) break
      after = read.endCursor ?? undefined
    }
    expect(found).toStrictEqual(ids)
    expect(longest).toBe(5)
  })

  it('continues from heads to outboxes and to the record store, without a gap', async () => {
    const { world, publishMany, page, follow } = openFeed({ sizes: { head: 2, outbox: 5, inbox: 2, rest: 3 } })
    follow('1', '2', '3')
    const ids = [...(await publishMany('2', 12)), ...(await publishMany('3', 12))].sort((a, b) => Number(BigInt(b) - BigInt(a)))
    await world.persist()
    world.clock.advance(2 * KEEP_MS)
    await world.purge()
    const found: string[] = []
    for (let after: string | undefined; ;) {
      const { ids: some, hasNextPage, endCursor } = await page('1', 5, after)
      found.push(...(some ?? []))
      after = endCursor
      if (hasNextPage !== true) break
    }
    expect(found).toStrictEqual(ids)
  })

  it('fills a page although filter words and deletions take posts out of it', async () => {
    const { world, publish, publishMany, page, follow } = openFeed()
    follow('1', '2')
    const old = await publishMany('2', 10)
    await page('1', 5)
    await publishMany('2', 30, 'A Spoiler')
    await world.hot.setWords('1', ['spoiler'], world.options())
    await world.hot.delete(await publish('2'), world.options())
    expect(await page('1', 10)).toMatchObject({ ids: old, hasNextPage: false })
  })

  it('ends a page after 2,000 dropped posts, and the next one goes on behind them', async () => {
    const { world, publishMany, page, follow } = openFeed()
    follow('1', '2')
    const [old] = await publishMany('2', 1)
    await publishMany('2', 2_500, 'spoiler')
    await world.hot.setWords('1', ['spoiler'], world.options())
    const { ids, hasNextPage, endCursor } = await page('1', 10)
    expect([ids, hasNextPage]).toStrictEqual([[], true])
    expect(await page('1', 10, endCursor)).toMatchObject({ ids: [old], hasNextPage: false })
  })

  it('refuses a cursor of another viewer and one of a list of posts', async () => {
    const { process, publish, page, follow } = openFeed()
    follow('1', '2')
    await publish('2')
    const { endCursor = '' } = await page('1', 1)
    const invalid = expect.objectContaining({ code: 'CURSOR_INVALID' })
    await expect(page('2', 1, endCursor)).rejects.toThrow(invalid)
    await expect(process.userPosts('2', { first: 1, after: endCursor }, new Set())).rejects.toThrow(invalid)
  })

  it('is empty, and not null, for a viewer who follows nobody', async () => {
    expect(await openFeed().page('1', 10)).toStrictEqual({ ids: [], hasNextPage: false, endCursor: undefined, degraded: [] })
  })
})

describe('a page that is read while others write', () => {
  it('has a post that leaves the hot store between the reads of both stores', async () => {
    const { world, publish, page, follow } = openFeed()
    follow('1', '2')
    const { id } = await publish('2')
    const leave = async (): Promise<void> => {
      await world.persist()
      world.clock.advance(2 * KEEP_MS)
      await world.purge()
    }
    world.between.push({ names: ['getOutboxMany', 'listOutboxMany'], act: leave })
    expect((await page('1', 10)).ids).toStrictEqual([id])
    expect(world.between).toHaveLength(0)
  })

  it.each([
    ['getInboxMany', ['1']],
    ['getOutboxMany', undefined],
  ])('does not hide a later post from the next page, although %s had begun before and the change is known', async (name, audience) => {
    const { world, process, publish, page, follow } = openFeed()
    follow('1', '2')
    const first = await publish('2')
    let second: Post | undefined
    const publishSecond = async (): Promise<void> => {
      second = await publish('2', 'later', audience)
      await process.freshness.look(new Set())
    }
    world.between.push({ names: [name], act: publishSecond })
    expect((await page('1', 10)).ids).toStrictEqual([first.id])
    world.clock.advance(1_000)
    expect((await page('1', 10)).ids).toStrictEqual([second?.id, first.id])
  })

  it.each([
    ['another user', undefined],
    ['the same user, for the viewer alone', ['1']],
  ])('shows a post that is published after its question, or has it wait, although a later post of %s is loaded', async (_, audience) => {
    const { world, process, publish, page, follow } = openFeed()
    follow('1', '2', '3')
    const old = [await publish('3'), await publish('2'), await publish('3'), await publish('3', 'for you', ['1'])]
    await page('1', 2)
    // From here on only the head of user 2 is cached and fresh.
    old.push(await publish('3'), await publish('2', 'for you', ['1']))
    const during: string[] = []
    const publishBoth = async (): Promise<void> => {
      during.push((await publish('2')).id, (await publish('3', 'later', audience)).id)
    }
    world.between.push({ names: ['listChanges'], act: publishBoth })
    const first = await page('1', 3)
    const { ids: rest } = await page('1', 10, first.endCursor)
    const waiting = await process.newest('1', first.ids?.[0], 10, new Set())
    const all = [...(waiting ?? []).map(({ id }) => id), ...(first.ids ?? []), ...(rest ?? [])]
    expect(all).toStrictEqual([...old.map(({ id }) => id), ...during].reverse())
  })

  it('does not show a deleted post on the next page, although its content was read before the deletion', async () => {
    const { world, process, publish, page, follow } = openFeed()
    follow('1', '2')
    const post = await publish('2')
    const remove = async (): Promise<void> => {
      await world.hot.delete(post, world.options())
      await process.freshness.look(new Set())
    }
    world.between.push({ names: ['getPostMany'], act: remove })
    await page('1', 10)
    world.clock.advance(1_000)
    expect((await process.posts([post.id]))[0]?.deleted).toBe(true)
  })
})

describe('while a store is down', () => {
  it('a page without the hot store has the cached values, and names the hot store', async () => {
    const { world, publish, page, follow } = openFeed()
    follow('1', '2')
    const { id } = await publish('2')
    await page('1', 10)
    await publish('2')
    world.down.hotStore = true
    expect(await page('1', 10)).toMatchObject({ ids: [id], degraded: ['hotStore'] })
  })

  it('a page without cached values has the persisted posts, which no cache keeps', async () => {
    const { world, publish, page, follow } = openFeed()
    follow('1', '2')
    const first = await publish('2')
    await world.persist()
    const second = await publish('2')
    world.down.hotStore = true
    expect(await page('1', 10)).toMatchObject({ ids: [first.id], degraded: ['hotStore'] })
    world.down.hotStore = false
    // Pages within a moment share a load.
    world.clock.advance(1_000)
    expect(await page('1', 10)).toMatchObject({ ids: [second.id, first.id], degraded: [] })
  })

  it('a page without the record store has the posts of the time that the hot store keeps, and ends there', async () => {
    const { world, publishMany, page, follow } = openFeed()
    follow('1', '2', '3')
    await publishMany('2', 3)
    await world.persist()
    world.clock.advance(2 * KEEP_MS)
    await world.purge()
    const recent = [...(await publishMany('2', 2)), ...(await publishMany('3', 2))].reverse().sort((a, b) => Number(BigInt(b) - BigInt(a)))
    world.down.recordStore = true
    const { ids, hasNextPage, endCursor, degraded } = await page('1', 10)
    expect([ids, hasNextPage, degraded]).toStrictEqual([recent, true, ['recordStore']])
    expect(await page('1', 10, endCursor)).toMatchObject({ ids: [], hasNextPage: false })
    world.down.recordStore = false
    expect((await page('1', 10, endCursor)).ids).toHaveLength(3)
  })

  it('a scroll without the record store has all posts that the hot store keeps, also beside a user who never published', async () => {
    const { world, publishMany, page, follow } = openFeed()
    follow('1', '2', '3')
    const recent = await publishMany('2', 60)
    world.down.recordStore = true
    const found: string[] = []
    for (let after: string | undefined; ;) {
      const { ids, hasNextPage, endCursor } = await page('1', 20, after)
      found.push(...(ids ?? []))
      if (hasNextPage !== true) break
      after = endCursor
    }
    expect(found).toStrictEqual(recent)
  })

  it('a page without both stores is null if nothing is cached', async () => {
    const { world, publish, page, follow } = openFeed()
    follow('1', '2')
    await publish('2')
    world.down.hotStore = true
    world.down.recordStore = true
    expect(await page('1', 10)).toStrictEqual({ ids: null, degraded: ['hotStore', 'recordStore'] })
  })

  it('a page without both stores has the cached values', async () => {
    const { world, publish, page, follow } = openFeed()
    follow('1', '2')
    const { id } = await publish('2')
    await page('1', 10)
    world.down.hotStore = true
    world.down.recordStore = true
    follow('1', '2', '3')
    expect(await page('1', 10)).toMatchObject({ ids: [id], degraded: ['hotStore', 'recordStore'] })
  })
})

describe('the posts of a user', () => {
  it('are the public ones, also for their author', async () => {
    const { process, publish } = openFeed()
    const { id } = await publish('2')
    await publish('2', 'for one', ['1'])
    const page = await process.userPosts('2', { first: 10, after: undefined }, new Set())
    expect(page?.edges.map(({ post }) => post.id)).toStrictEqual([id])
  })
})

describe('contents by id', () => {
  it('are posts and tombstones, and undefined for an id without a post', async () => {
    const { world, process, publish } = openFeed()
    const kept = await publish('2', 'for one', ['1'])
    const deleted = await publish('2')
    expect(await process.posts([kept.id, '17', deleted.id, kept.id])).toStrictEqual([kept, undefined, deleted, kept])
    const tombstone = await world.hot.delete(deleted, world.options())
    expect(await process.posts([kept.id, '17', deleted.id])).toStrictEqual([kept, undefined, tombstone])
  })

  it('are found at once although their id was asked for before they were published', async () => {
    const { process, publish } = openFeed()
    const { id } = await publish('2')
    const guess = String(BigInt(id) + (256_000n << 14n))
    expect(await process.posts([guess])).toStrictEqual([undefined])
    expect((await publish('2')).id).toBe(guess)
    expect((await process.posts([guess]))[0]?.id).toBe(guess)
  })

  it('of old ids without a post are asked for once', async () => {
    const { process, callsOf } = openFeed()
    await process.posts(['17'])
    expect(await callsOf(() => process.posts(['17']))).toStrictEqual(['listChanges'])
  })
})
