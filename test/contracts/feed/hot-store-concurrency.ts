/** Contract of the feed's hot store: two processes at once. */
import { setImmediate as breath } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { freshViewer, freshViewerIn, later, numbered } from '../reports.ts'
import { draftOf, inboxOf, optionsAt, outboxOf, publishOne } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

export function feedConcurrencyContract({ store, regions, another }: FeedStoreSubject): void {
  it('posts of two processes have distinct ids, which grow for each of them, and all are in the outbox', async () => {
    const author = freshViewerIn(1, regions())
    const neighbour = freshViewerIn(1, regions())
    const stores = [store(), await another()]
    const ids = await Promise.all(
      stores.map(async (own) => {
        const mine: bigint[] = []
        for (let round = 0; round < 40; round++) {
          const posts = await Promise.all([publishOne(own, draftOf(author)), publishOne(own, draftOf(neighbour))])
          mine.push(BigInt(posts[0].id))
        }
        return mine
      }),
    )
    for (const mine of ids) expect(mine).toEqual(mine.toSorted((a, b) => (a < b ? -1 : 1)))
    const all = ids.flat().toSorted((a, b) => (a < b ? -1 : 1))
    expect(new Set(all).size).toBe(80)
    expect((await outboxOf(store(), author))?.added).toEqual(all.map(String))
    await stores[1]?.close()
  })

  it('of simultaneous posts with one client key, one is published and the others are repetitions', async () => {
    const stores = [store(), await another()] as const
    for (let round = 0; round < 10; round++) {
      const draft = draftOf(freshViewer())
      const outcomes = await Promise.all(numbered(6).map((_, call) => stores[call % 2 === 0 ? 0 : 1].publish(draft, optionsAt())))
      expect(outcomes.filter(({ status }) => status === 'published')).toHaveLength(1)
      expect(outcomes.filter(({ status }) => status === 'repeated')).toHaveLength(5)
      expect((await outboxOf(store(), draft.author))?.added).toHaveLength(1)
    }
    await stores[1].close()
  })

  it('a page of changes has every acknowledged change up to its version', async () => {
    const author = freshViewerIn(0, regions())
    const reader = await another()
    let since = (await publishOne(store(), draftOf(author))).version
    let acknowledged = 0
    let done = false
    const reading = (async () => {
      for (; !done; await breath()) {
        const known = acknowledged
        const [changes] = await reader.listChanges(new Map([[0, since]]))
        since = Math.max(since, changes?.version ?? 0)
        expect(since).toBeGreaterThanOrEqual(known)
      }
    })()
    for (let round = 0; round < 60; round++) acknowledged = (await publishOne(store(), draftOf(author))).version
    done = true
    await reading
    await reader.close()
  })

  it('simultaneous additions of many posts leave none out', async () => {
    const viewers = numbered(20).map(() => freshViewer())
    const posts = await Promise.all(numbered(20).map(() => publishOne(store(), draftOf(freshViewer(), { audience: viewers }), later())))
    const other = await another()
    await Promise.all(posts.map(({ id }, place) => (place % 2 === 0 ? store() : other).addToInboxes(id, viewers, optionsAt())))
    const expected = posts
      .map(({ id }) => BigInt(id))
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map(String)
    for (const viewer of viewers) expect((await inboxOf(store(), viewer))?.added).toEqual(expected)
    await other.close()
  })
}
