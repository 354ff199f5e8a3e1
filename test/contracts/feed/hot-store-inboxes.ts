/** Contract of the feed's hot store: inboxes and filter words. */
import { expect, it } from 'vitest'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { regionOf } from '../../../core/regions.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, later } from '../reports.ts'
import { unpackIds } from '../../../subgraphs/feed/packed/vector.ts'
import { DAY_MS, KEEP_MS, draftOf, inboxOf, optionsAt, publishOne } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

export function inboxContract({ store, regions, reopen }: FeedStoreSubject): void {
  it('a post is in the inboxes of its viewers, in ascending order, whatever the order of the calls', async () => {
    const viewers = [...Array.from({ length: 40 }, freshViewer), freshNamedViewer()]
    const posts: Post[] = []
    for (let post = 0; post < 5; post++) posts.push(await publishOne(store(), draftOf(freshViewer(), { audience: viewers })))
    for (const place of [2, 0, 4, 1, 3]) await store().addToInboxes(posts[place]?.id as string, viewers, optionsAt())
    const inboxes = await store().getInboxMany(viewers)
    for (const viewer of viewers) expect((await inboxOf(store(), viewer))?.added).toEqual(posts.map(({ id }) => id))
    expect(inboxes.every(({ version }) => version > (posts.at(-1)?.version ?? 0) - 256 * 1_000)).toBe(true)
    expect((await inboxOf(await reopen(), viewers[0] as string))?.added).toHaveLength(5)
    expect(await inboxOf(store(), freshViewer())).toEqual({ added: [], removed: [], version: 0 })
  })

  it('a part of a list has the newest ids below its bound, and says whether there are lower ones', async () => {
    const [author, viewer] = [freshViewer(), freshViewer()]
    const ids: string[] = []
    for (let post = 0; post < 6; post++) ids.push((await publishOne(store(), draftOf(author))).id)
    for (const id of ids) await store().addToInboxes(id, [viewer], optionsAt())
    await store().removeFromInboxes(ids[3] as string, [viewer], optionsAt())
    const inbox = ids.filter((_, at) => at !== 3)
    for (const before of [undefined, ...ids, String(BigInt(ids[5] as string) + 1n)])
      for (const limit of [1, 2, 4, 9]) {
        const [ofOutbox] = await store().getOutboxMany([author], { before, limit })
        const [none, ofInbox] = await store().getInboxMany([freshViewer(), viewer], { before, limit })
        for (const [all, part] of [[ids, ofOutbox] as const, [inbox, ofInbox] as const]) {
          const found = all.filter((id) => before === undefined || BigInt(id) < BigInt(before))
          expect(unpackIds(part?.added as Buffer)).toEqual(found.slice(-limit))
          expect(part?.hasMore).toBe(found.length > limit)
        }
        expect(none).toMatchObject({ added: Buffer.alloc(0), hasMore: false })
        expect(unpackIds(ofInbox?.removed as Buffer)).toEqual([ids[3]])
      }
  })

  it('a long inbox is right after changes in any order', async () => {
    const viewer = freshViewer()
    const { id: first } = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }))
    // A seventh of the steps removes an id that was added before.
    const steps = Array.from({ length: 700 }, (_, at) => (BigInt(first) + BigInt((at * 389) % 700) * 32_768n).toString())
    for (const [at, id] of steps.entries()) {
      await store().addToInboxes(id, [viewer], optionsAt())
      if (at % 7 === 0) await store().removeFromInboxes(steps[at >> 1] as string, [viewer], optionsAt())
    }
    const gone = new Set(steps.filter((_, at) => at % 7 === 0).map((_, index) => steps[(index * 7) >> 1]))
    const left = steps.filter((id) => !gone.has(id)).sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    expect((await inboxOf(store(), viewer))?.added).toEqual(left)
  })

  it('repeated additions and removals change nothing, not even the version', async () => {
    const viewer = freshViewer()
    const { id } = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }))
    await store().addToInboxes(id, [viewer, viewer], optionsAt())
    const added = await inboxOf(store(), viewer)
    await store().addToInboxes(id, [viewer], optionsAt())
    expect(await inboxOf(store(), viewer)).toEqual(added)
    await store().removeFromInboxes(id, [viewer], optionsAt())
    const removed = await inboxOf(store(), viewer)
    expect(removed).toMatchObject({ added: [], removed: [id] })
    expect(removed?.version).toBeGreaterThan(added?.version as number)
    await store().removeFromInboxes(id, [viewer], optionsAt())
    expect(await inboxOf(store(), viewer)).toEqual(removed)
  })

  it('a late repetition of an addition does not bring a removed post back', async () => {
    const viewer = freshViewer()
    const { id } = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }))
    await store().removeFromInboxes(id, [viewer], optionsAt())
    const removed = await inboxOf(store(), viewer)
    await store().addToInboxes(id, [viewer], optionsAt())
    expect(await inboxOf(store(), viewer)).toEqual(removed)
  })

  it('an inbox that changes forgets what is older than the time to keep, and than a change that was purged', async () => {
    const viewer = freshViewer()
    const region = regionOf(viewer, regions())
    const add = async (pause: number): Promise<string> => {
      const now = later(pause)
      const { id } = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }), now)
      await store().addToInboxes(id, [viewer], optionsAt(now))
      return id
    }
    const [first, second] = [await add(0), await add(DAY_MS)]
    await store().removeFromInboxes(second, [viewer], optionsAt())
    await store().noteChange(freshViewerIn(region, regions()), 'anything', optionsAt())
    const [third, fourth] = [await add(3 * DAY_MS), await add(KEEP_MS)]
    // Posts of this age may wait to be persisted.
    expect(await inboxOf(store(), viewer)).toMatchObject({ added: [first, third, fourth], removed: [second] })
    await store().purgeOld([region], later() - KEEP_MS, 1_000)
    expect(await inboxOf(store(), viewer)).toMatchObject({ added: [first, third, fourth], removed: [second] })
    const fifth = await add(0)
    expect(await inboxOf(store(), viewer)).toMatchObject({ added: [third, fourth, fifth], removed: [] })
  })

  it('calls without viewers do nothing', async () => {
    await store().addToInboxes('1', [], optionsAt())
    await store().removeFromInboxes('1', [], optionsAt())
    expect(await store().getInboxMany([])).toEqual([])
  })

  it('filter words are read as they were set, with a growing version', async () => {
    const viewer = freshNamedViewer()
    expect(await store().getWords(viewer)).toBeUndefined()
    const first = await store().setWords(viewer, ['a b', 'ünï 👋'], optionsAt())
    expect(first).toEqual({ words: ['a b', 'ünï 👋'], version: first.version })
    expect(await store().getWords(viewer)).toEqual(first)
    const second = await store().setWords(viewer, [], optionsAt())
    expect(second.words).toEqual([])
    expect(second.version).toBeGreaterThan(first.version)
    expect(await (await reopen()).getWords(viewer)).toEqual(second)
  })

  it('a hundred words of fifty characters are stored', async () => {
    const viewer = freshViewer()
    const words = Array.from({ length: 100 }, (_, word) => `${word} ${'👋'.repeat(40)}`)
    await store().setWords(viewer, words, optionsAt())
    expect((await store().getWords(viewer))?.words).toEqual(words)
  })
}
