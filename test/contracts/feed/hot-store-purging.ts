/** Contract of the feed's hot store: purges forget old clean data, and nothing else. */
import { expect, it } from 'vitest'
import { freshViewer, freshViewerIn, later } from '../reports.ts'
import { DAY_MS, clean, draftOf, inboxOf, optionsAt, outboxOf, postOf, publishOne, purgeAll } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

export function feedPurgingContract({ store, regions }: FeedStoreSubject): void {
  it('an old clean post leaves with its place in the outbox and its client key', async () => {
    const draft = draftOf(freshViewer())
    const post = await publishOne(store(), draft)
    await clean(store(), post)
    const until = later(DAY_MS)
    const recent = await publishOne(store(), draftOf(draft.author), until)
    await purgeAll(store(), regions(), until)
    expect(await postOf(store(), post.id)).toBeUndefined()
    expect(await outboxOf(store(), draft.author)).toEqual({ added: [recent.id], removed: [], version: recent.version })
    expect((await store().publish(draft, optionsAt())).status).toBe('published')
  })

  it('an old tombstone leaves with its place among the removed ones', async () => {
    const post = await publishOne(store(), draftOf(freshViewer()))
    const tombstone = await store().delete(post, optionsAt())
    await clean(store(), tombstone)
    await purgeAll(store(), regions(), later(DAY_MS))
    expect(await postOf(store(), post.id)).toBeUndefined()
    expect(await outboxOf(store(), post.author)).toEqual({ added: [], removed: [], version: 0 })
  })

  it('dirty posts stay, however old, with their client keys and places', async () => {
    const draft = draftOf(freshViewer())
    const [dirty, gone] = [await publishOne(store(), draft), await publishOne(store(), draftOf(draft.author))]
    await clean(store(), gone)
    await purgeAll(store(), regions(), later(30 * DAY_MS), 1)
    expect(await postOf(store(), dirty.id)).toEqual(dirty)
    expect((await outboxOf(store(), draft.author))?.added).toEqual([dirty.id])
    expect(await store().publish(draft, optionsAt())).toEqual({ status: 'repeated', post: dirty })
    await clean(store(), dirty)
    await purgeAll(store(), regions(), later())
    expect(await postOf(store(), dirty.id)).toBeUndefined()
  })

  it('a post that was deleted lately stays as a tombstone', async () => {
    const post = await publishOne(store(), draftOf(freshViewer()))
    await clean(store(), post)
    const until = later(DAY_MS)
    const tombstone = await store().delete(post, optionsAt(until))
    await clean(store(), tombstone)
    await purgeAll(store(), regions(), until)
    expect(await postOf(store(), post.id)).toEqual(tombstone)
    expect((await outboxOf(store(), post.author))?.removed).toEqual([post.id])
  })

  it('old inboxes and clean words leave, and dirty words stay with the inbox', async () => {
    const viewers = [freshViewer(), freshViewer()] as const
    const { id } = await publishOne(store(), draftOf(freshViewer(), { audience: viewers }))
    await store().addToInboxes(id, viewers, optionsAt())
    const [words] = [await store().setWords(viewers[0], ['a'], optionsAt()), await store().setWords(viewers[1], ['b'], optionsAt())]
    await store().clearDirty([{ key: { viewer: viewers[0], post: undefined }, version: words.version }])
    await purgeAll(store(), regions(), later(DAY_MS))
    expect(await store().getWords(viewers[0])).toBeUndefined()
    expect(await inboxOf(store(), viewers[0])).toEqual({ added: [], removed: [], version: 0 })
    expect((await store().getWords(viewers[1]))?.words).toEqual(['b'])
    expect((await inboxOf(store(), viewers[1]))?.added).toEqual([id])
  })

  it('an inbox with a recent change stays', async () => {
    const viewer = freshViewer()
    const first = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }))
    await store().addToInboxes(first.id, [viewer], optionsAt())
    const until = later(DAY_MS)
    const second = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }), until)
    await store().addToInboxes(second.id, [viewer], optionsAt(until))
    await purgeAll(store(), regions(), until)
    expect((await inboxOf(store(), viewer))?.added).toContain(second.id)
  })

  it('a purge forgets at most its limit, of its regions only, and answers 0 when nothing is left', async () => {
    await purgeAll(store(), regions(), later(DAY_MS))
    const ours = []
    for (let post = 0; post < 10; post++) ours.push(await publishOne(store(), draftOf(freshViewerIn(0, regions()), { audience: [] })))
    const other = await publishOne(store(), draftOf(freshViewerIn(1, regions()), { audience: [] }))
    await clean(store(), ...ours, other)
    const until = later(DAY_MS)
    expect(await store().purgeOld([0], until, 4)).toBe(4)
    expect(await store().purgeOld([0], until, 100)).toBe(6)
    expect(await store().purgeOld([0], until, 100)).toBe(0)
    expect(await store().getPostMany(ours.map(({ id }) => id))).toEqual(ours.map(() => undefined))
    expect(await postOf(store(), other.id)).toEqual(other)
    expect(await store().purgeOld([], until, 100)).toBe(0)
  })
}
