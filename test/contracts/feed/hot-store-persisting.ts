/** Contract of the feed's hot store: dirty marks and the contents that the persist step reads. */
import { expect, it } from 'vitest'
import type { DirtyWalk } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { DirtyKey } from '../../../subgraphs/feed/model/dirty-keys.ts'
import { freshViewer, freshViewerIn, later } from '../reports.ts'
import { clean, draftOf, keyOfPost, optionsAt, outboxOf, postOf, publishOne } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

export function feedPersistingContract({ store, regions, reopen }: FeedStoreSubject): void {
  const dirtyIn = (region: number, before: number): Promise<DirtyKey[]> => store().listDirty([region], before, 100_000)
  const wordsKey = (viewer: string): DirtyKey => ({ viewer, post: undefined })

  it('posts, tombstones and words are dirty until the version that was read is cleared', async () => {
    const viewer = freshViewer()
    const region = regionOf(viewer, regions())
    const before = await store().countDirty()
    const post = await publishOne(store(), draftOf(viewer))
    const words = await store().setWords(viewer, ['a'], optionsAt())
    expect(await store().countDirty()).toBe(before + 2)
    expect(await dirtyIn(region, later())).toEqual(expect.arrayContaining([keyOfPost(post), wordsKey(viewer)]))
    expect(await store().readDirty([wordsKey(viewer), keyOfPost(post)])).toEqual([words, post])

    const tombstone = await store().delete(post, optionsAt())
    const newer = await store().setWords(viewer, ['b'], optionsAt())
    await clean(store(), post)
    await store().clearDirty([{ key: wordsKey(viewer), version: words.version }])
    expect(await store().countDirty()).toBe(before + 2)
    expect(await store().readDirty([keyOfPost(post), wordsKey(viewer)])).toEqual([tombstone, newer])
    await clean(store(), tombstone)
    await store().clearDirty([{ key: wordsKey(viewer), version: newer.version }])
    expect(await (await reopen()).countDirty()).toBe(before)
  })

  it('contents stay after their mark is cleared, and a clean key becomes dirty again', async () => {
    const post = await publishOne(store(), draftOf(freshViewer()))
    const before = await store().countDirty()
    await clean(store(), post)
    await clean(store(), post)
    expect(await store().countDirty()).toBe(before - 1)
    expect(await postOf(store(), post.id)).toEqual(post)
    expect((await outboxOf(store(), post.author))?.added).toEqual([post.id])
    await store().delete(post, optionsAt())
    expect(await store().countDirty()).toBe(before)
  })

  it('missing contents are undefined, and marks with contents are not dropped', async () => {
    const post = await publishOne(store(), draftOf(freshViewer()))
    const gone: DirtyKey[] = [{ viewer: post.author, post: '16384' }, wordsKey(freshViewer())]
    expect(await store().readDirty([...gone, keyOfPost(post)])).toEqual([undefined, undefined, post])
    await store().setWords(post.author, ['a'], optionsAt())
    const before = await store().countDirty()
    await store().dropDirty([...gone, keyOfPost(post), wordsKey(post.author)])
    expect(await store().countDirty()).toBe(before)
  })

  it('keys are listed by region, oldest first, up to a moment and a limit', async () => {
    const author = freshViewerIn(1, regions())
    const stranger = freshViewerIn(0, regions())
    const first = await publishOne(store(), draftOf(author))
    await publishOne(store(), draftOf(stranger))
    const moment = later()
    const second = await publishOne(store(), draftOf(author), moment)
    const third = await publishOne(store(), draftOf(author))
    const found = await dirtyIn(1, moment)
    expect(found.slice(-2)).toEqual([keyOfPost(first), keyOfPost(second)])
    expect(found).not.toContainEqual(keyOfPost(third))
    expect(found.every(({ viewer }) => regionOf(viewer, regions()) === 1)).toBe(true)
    expect(await store().listDirty([1], moment, 1)).toEqual(found.slice(0, 1))
    expect(await store().listDirty([], moment, 10)).toEqual([])
  })

  it('a later change does not make a dirty key younger', async () => {
    const author = freshViewerIn(1, regions())
    const moment = later()
    const post = await publishOne(store(), draftOf(author), moment)
    await store().delete(post, optionsAt())
    expect(await dirtyIn(1, moment)).toContainEqual(keyOfPost(post))
  })

  it('a walk lists every key once, although keys are cleared on the way', async () => {
    const posts = []
    for (let post = 0; post < 30; post++) posts.push(await publishOne(store(), draftOf(freshViewer())))
    const until = later()
    const walk: DirtyWalk = {}
    const walked: DirtyKey[] = []
    for (;;) {
      const some = await store().listDirty([...Array(regions()).keys()], until, 7, walk)
      if (some.length === 0) break
      walked.push(...some)
      await clean(store(), ...posts.filter(({ id }) => some.some(({ post }) => post === id)).slice(0, 2))
    }
    const names = walked.map((key) => JSON.stringify(key))
    expect(new Set(names).size).toBe(names.length)
    for (const post of posts) expect(walked).toContainEqual(keyOfPost(post))
  })
}
