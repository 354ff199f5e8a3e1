/** Contract of the feed's hot store: inboxes and filter words. */
import { expect, it } from 'vitest'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { regionOf } from '../../../core/regions.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, later } from '../reports.ts'
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
