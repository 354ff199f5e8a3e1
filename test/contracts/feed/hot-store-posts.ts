/** Contract of the feed's hot store: publishing, client keys, deletion, outboxes. */
import { expect, it } from 'vitest'
import { regionOf } from '../../../core/regions.ts'
import { tombstoneOf } from '../../../subgraphs/feed/model/post-codec.ts'
import { createdAtOf, isRestrictedId, postIdOf, regionOfPost, tickOf } from '../../../subgraphs/feed/packed/post-id.ts'
import { freshNamedViewer, freshViewer, later, numbered } from '../reports.ts'
import { contentKey } from '../../../subgraphs/feed/model/cache-keys.ts'
import { clean, draftOf, keyOfPost, optionsAt, outboxOf, postOf, publishOne, tickAt } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

const FULL = {
  text: 'ünï 👋',
  media: ['https://example.com/a.png', 'https://example.com/b.png'],
  source: '7',
  clientKey: 'k'.repeat(64),
}

export function postsContract({ store, regions, reopen }: FeedStoreSubject): void {
  it('a published post is read with every field, also in a store that is opened again', async () => {
    for (const author of [freshViewer(), freshNamedViewer()]) {
      const draft = draftOf(author, { ...FULL, audience: ['1', 'bob'] })
      const post = await publishOne(store(), draft)
      expect(post).toEqual({ ...draft, id: post.id, version: post.version, deleted: false })
      expect(await postOf(store(), post.id)).toEqual(post)
      expect(await postOf(await reopen(), post.id)).toEqual(post)
    }
  })

  it('an id has the time of the publication and the region of the author, and its tick is the version', async () => {
    const author = freshNamedViewer()
    const now = later()
    const post = await publishOne(store(), draftOf(author), now)
    expect(createdAtOf(post.id)).toBe(now)
    expect(regionOfPost(post.id)).toBe(regionOf(author, regions()))
    expect(tickOf(post.id)).toBe(post.version)
  })

  it('the id of a restricted post says so, and that of a public post does not', async () => {
    const author = freshViewer()
    const now = later()
    for (const audience of [undefined, ['1'], ['1'], undefined, undefined, [author]]) {
      const { id, version } = await publishOne(store(), draftOf(author, { audience }), now)
      expect(isRestrictedId(id)).toBe(audience !== undefined)
      // The region's clock is not behind the id.
      expect(await store().noteChange(author, 'anything', optionsAt(now))).toBeGreaterThan(version)
    }
  })

  it('ids grow within a region, also if the clock stands or goes back', async () => {
    const author = freshViewer()
    const now = later()
    const ids: bigint[] = []
    for (const moment of [now, now, now - 60_000, now, now + 1]) ids.push(BigInt((await publishOne(store(), draftOf(author), moment)).id))
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('an equal post with the same client key is a repetition, and one with other contents a conflict', async () => {
    const draft = draftOf(freshViewer(), { ...FULL, audience: ['1', '2'] })
    const post = await publishOne(store(), draft)
    expect(await store().publish({ ...draft }, optionsAt())).toEqual({ status: 'repeated', post })
    for (const other of [{ text: 'x' }, { media: [] }, { source: undefined }, { audience: undefined }, { audience: ['1'] }])
      expect(await store().publish({ ...draft, ...other }, optionsAt())).toEqual({ status: 'conflict', id: post.id })
    expect((await outboxOf(store(), draft.author))?.added).toEqual([])
    expect(await postOf(store(), post.id)).toEqual(post)
  })

  it('a publication that may only be a repetition finds the post of its client key, and publishes nothing new', async () => {
    const draft = draftOf(freshViewer())
    const repeatsOnly = { ...optionsAt(), repeatsOnly: true }
    expect(await store().publish(draft, repeatsOnly)).toEqual({ status: 'unknown' })
    expect((await outboxOf(store(), draft.author))?.added).toEqual([])
    const post = await publishOne(store(), draft)
    expect(await store().publish(draft, repeatsOnly)).toEqual({ status: 'repeated', post })
    expect(await store().publish({ ...draft, text: 'x' }, repeatsOnly)).toEqual({ status: 'conflict', id: post.id })
  })

  it('two authors may use one client key', async () => {
    const first = await publishOne(store(), draftOf(freshViewer(), { clientKey: 'same' }))
    const second = await publishOne(store(), draftOf(freshViewer(), { clientKey: 'same' }))
    expect(first.id).not.toBe(second.id)
  })

  it('a viewer who is taken out of an audience leaves the others, and every field stays', async () => {
    const [author, gone, stays] = [freshNamedViewer(), freshViewer(), freshNamedViewer()]
    const post = await publishOne(store(), draftOf(author, { ...FULL, audience: [gone, stays] }))
    await clean(store(), post)
    const since = new Map([[regionOf(author, regions()), post.version]])
    const narrow = await store().removeFromAudience(post, gone, optionsAt())
    expect(narrow).toEqual({ ...post, audience: [stays], version: narrow.version })
    expect(narrow.version).toBeGreaterThan(post.version)
    expect(await postOf(await reopen(), post.id)).toEqual(narrow)
    expect(await store().readDirty([keyOfPost(post)])).toEqual([narrow])
    const [changes] = await store().listChanges(since)
    expect(changes?.changed).toContainEqual({ key: contentKey(post.id), version: narrow.version })
    // The second one had read the post before the first change.
    const empty = await store().removeFromAudience(post, stays, optionsAt())
    expect(empty.audience).toEqual([])
    expect(await store().removeFromAudience(post, stays, optionsAt())).toEqual(empty)
  })

  it('a post that the store does not hold is stored with its smaller audience; one without this viewer is not', async () => {
    const [author, viewer] = [freshViewer(), freshViewer()]
    const id = postIdOf(tickAt(later()), regionOf(author, regions()))
    const post = { ...draftOf(author, { audience: [viewer] }), id, version: tickAt(later()), deleted: false }
    expect(await store().removeFromAudience(post, freshViewer(), optionsAt())).toEqual(post)
    expect(await postOf(store(), id)).toBeUndefined()
    const narrow = await store().removeFromAudience(post, viewer, optionsAt())
    expect(narrow).toEqual({ ...post, audience: [], version: narrow.version })
    expect(narrow.version).toBeGreaterThan(post.version)
  })

  it('the audience of a tombstone stays as it is', async () => {
    const viewer = freshViewer()
    const post = await publishOne(store(), draftOf(freshViewer(), { audience: [viewer] }))
    const tombstone = await store().delete(post, optionsAt())
    expect(await store().removeFromAudience(post, viewer, optionsAt())).toEqual(tombstone)
  })

  it('concurrent removals from one audience are all kept', async () => {
    const viewers = [freshViewer(), freshViewer(), freshViewer(), freshViewer()]
    const post = await publishOne(store(), draftOf(freshViewer(), { audience: viewers }))
    await Promise.all(viewers.slice(1).map((viewer) => store().removeFromAudience(post, viewer, optionsAt())))
    expect((await postOf(store(), post.id))?.audience).toEqual([viewers[0]])
  })

  it('the repetition of a deleted post returns the tombstone', async () => {
    const draft = draftOf(freshViewer())
    const post = await publishOne(store(), draft)
    const tombstone = await store().delete(post, optionsAt())
    expect(await store().publish(draft, optionsAt())).toEqual({ status: 'repeated', post: tombstone })
    expect(await store().publish({ ...draft, text: 'other' }, optionsAt())).toEqual({ status: 'conflict', id: post.id })
  })

  it('an outbox has public posts in ascending order, with the version of the newest, and no restricted ones', async () => {
    const author = freshViewer()
    const posts = []
    for (let post = 0; post < 12; post++) posts.push(await publishOne(store(), draftOf(author)))
    await publishOne(store(), draftOf(author, { audience: ['1'] }))
    await publishOne(store(), draftOf(author, { audience: [] }))
    expect(await outboxOf(store(), author)).toEqual({ added: posts.map(({ id }) => id), removed: [], version: posts.at(-1)?.version })
    expect(await outboxOf(store(), freshViewer())).toEqual({ added: [], removed: [], version: 0 })
  })

  it('outboxes are read in the order of the authors, an author twice included', async () => {
    const authors = Array.from({ length: 30 }, freshViewer)
    const posts = []
    for (const author of authors) posts.push(await publishOne(store(), draftOf(author)))
    const asked = [...authors.toReversed(), authors[0] as string]
    const found = await store().getOutboxMany(asked)
    expect(found.map(({ version }) => version)).toEqual([...posts.toReversed(), posts[0]].map((post) => post?.version))
  })

  it('a deletion leaves a tombstone with audience and key, and moves the id to the removed ones', async () => {
    const author = freshViewer()
    const [kept, gone] = [await publishOne(store(), draftOf(author)), await publishOne(store(), draftOf(author, FULL))]
    const tombstone = await store().delete(gone, optionsAt())
    expect(tombstone).toEqual(tombstoneOf(gone, tombstone.version))
    expect(tombstone.version).toBeGreaterThan(gone.version)
    expect(await postOf(store(), gone.id)).toEqual(tombstone)
    expect(await outboxOf(store(), author)).toEqual({ added: [kept.id], removed: [gone.id], version: tombstone.version })
    expect(await store().delete(gone, optionsAt())).toEqual(tombstone)
    expect(await store().delete(tombstone, optionsAt())).toEqual(tombstone)
    expect((await outboxOf(store(), author))?.version).toBe(tombstone.version)
  })

  it('the deletion of a restricted post keeps its audience and leaves the outbox as it is', async () => {
    const author = freshViewer()
    const post = await publishOne(store(), draftOf(author, { audience: ['1', '2'] }))
    const tombstone = await store().delete(post, optionsAt())
    expect(tombstone.audience).toEqual(['1', '2'])
    expect(await outboxOf(store(), author)).toEqual({ added: [], removed: [], version: 0 })
  })

  it('a post that the store does not hold is deleted, above its version', async () => {
    const author = freshViewer()
    const now = later()
    const id = postIdOf(tickAt(now - 1_000_000), regionOf(author, regions()))
    const post = { ...draftOf(author, FULL), id, version: tickAt(now + 5_000), deleted: false }
    const tombstone = await store().delete(post, optionsAt(now))
    expect(tombstone).toEqual(tombstoneOf(post, post.version + 1))
    expect(await outboxOf(store(), author)).toEqual({ added: [], removed: [id], version: tombstone.version })
    expect(await store().delete(post, optionsAt())).toEqual(tombstone)
    expect((await publishOne(store(), draftOf(author), now)).version).toBeGreaterThan(tombstone.version)
    // Other tests of this region go on above that version.
    later(10_000)
  })

  it('posts are read in the order of the ids; an unknown id and one of no region are undefined', async () => {
    const posts = []
    for (let post = 0; post < 20; post++) posts.push(await publishOne(store(), draftOf(freshViewer())))
    const ids = [...posts.map(({ id }) => id).toReversed(), '1', String(16_383), '9223372036854775807', posts[0]?.id as string]
    const found = await store().getPostMany(ids)
    expect(found).toEqual([...posts.toReversed(), undefined, undefined, undefined, posts[0]])
    expect(await store().getPostMany([])).toEqual([])
  })

  it('the largest post of the public API is stored and read', async () => {
    const url = `https://example.com/${'p'.repeat(480)}`
    const audience = numbered(1_000, 9e15)
    const post = await publishOne(store(), draftOf(freshViewer(), { text: '👋'.repeat(2_000), media: Array(9).fill(url), audience }))
    expect(await postOf(store(), post.id)).toEqual(post)
  })
}
