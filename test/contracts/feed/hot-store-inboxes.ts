/** Contract of the feed's hot store: inboxes and filter words. */
import { expect, it } from 'vitest'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { freshNamedViewer, freshViewer, later } from '../reports.ts'
import { DAY_MS, KEEP_MS, draftOf, inboxOf, optionsAt, publishOne } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

export function inboxContract({ store, reopen }: FeedStoreSubject): void {
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

  it('an inbox forgets entries that are older than the time to keep when it changes', async () => {
    const viewer = freshViewer()
    const ids: string[] = []
    for (const pause of [0, DAY_MS, 3 * DAY_MS, KEEP_MS - 2 * DAY_MS]) {
      const now = later(pause)
      const { id } = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }), now)
      await store().addToInboxes(id, [viewer], optionsAt(now))
      ids.push(id)
    }
    expect((await inboxOf(store(), viewer))?.added).toEqual(ids.slice(2))
    await store().removeFromInboxes(ids[1] as string, [viewer], optionsAt(later()))
    expect(await inboxOf(store(), viewer)).toMatchObject({ added: ids.slice(2), removed: [ids[1]] })
    await store().removeFromInboxes(ids[3] as string, [viewer], optionsAt(later(KEEP_MS - DAY_MS)))
    expect(await inboxOf(store(), viewer)).toMatchObject({ added: [], removed: [ids[1], ids[3]] })
    await store().removeFromInboxes(ids[2] as string, [viewer], optionsAt(later(2 * DAY_MS)))
    expect(await inboxOf(store(), viewer)).toMatchObject({ added: [], removed: [ids[2], ids[3]] })
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
