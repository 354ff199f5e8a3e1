/** Contract of the feed's hot store: the regions' lists of changes. */
import { expect, it } from 'vitest'
import { contentKey, graphKey, headKey, inboxKey } from '../../../subgraphs/feed/model/cache-keys.ts'
import type { FeedHotStore } from '../../../subgraphs/feed/stores/hot-store.ts'
import { freshViewerIn, later, numbered } from '../reports.ts'
import { KEEP_MS, draftOf, optionsAt, publishOne, purgeAll, tickAt } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

export function changesContract({ store, regions, another }: FeedStoreSubject): void {
  const viewerIn = (region: number): string => freshViewerIn(region, regions())

  async function changedSince(tick: number, region: number, asked: FeedHotStore = store()): Promise<Map<string, number>> {
    const [changes] = await asked.listChanges(new Map([[region, tick]]))
    return new Map(changes?.changed.map(({ key, version }) => [key, version]))
  }

  it('every kind of change is noted under the key of the value that it makes old, with its version', async () => {
    const [author, viewer] = [viewerIn(1), viewerIn(1)]
    const since = tickAt(later()) - 1
    const post = await publishOne(store(), draftOf(author))
    expect(await changedSince(since, 1)).toEqual(new Map([[headKey(author), post.version]]))
    const restricted = await publishOne(store(), draftOf(author, { audience: [viewer] }))
    await store().addToInboxes(restricted.id, [viewer], optionsAt())
    const { version: inbox } = (await store().getInboxMany([viewer]))[0] ?? { version: 0 }
    expect(await changedSince(restricted.version, 1)).toEqual(new Map([[inboxKey(viewer), inbox]]))
    const tombstone = await store().delete(post, optionsAt())
    expect(await changedSince(inbox, 1)).toEqual(
      new Map([
        [headKey(author), tombstone.version],
        [contentKey(post.id), tombstone.version],
      ]),
    )
    const hidden = await store().delete(restricted, optionsAt())
    expect(await changedSince(tombstone.version, 1)).toEqual(new Map([[contentKey(restricted.id), hidden.version]]))
    const words = await store().setWords(viewer, ['x'], optionsAt())
    expect(await changedSince(hidden.version, 1)).toEqual(new Map([[inboxKey(viewer), words.version]]))
    const version = await store().noteChange(viewer, graphKey(viewer), optionsAt())
    expect(await changedSince(words.version, 1)).toEqual(new Map([[graphKey(viewer), version]]))
  })

  it('a key occurs once, with its newest change', async () => {
    const author = viewerIn(0)
    const since = tickAt(later()) - 1
    await publishOne(store(), draftOf(author))
    const { version } = await publishOne(store(), draftOf(author))
    const [changes] = await store().listChanges(new Map([[0, since]]))
    expect(changes).toEqual({ region: 0, changed: [{ key: headKey(author), version }], version, isPartial: false })
  })

  it('regions are asked together, each above its own tick, and those without a change are left out', async () => {
    const authors = [viewerIn(0), viewerIn(1)]
    const since = tickAt(later()) - 1
    const posts = []
    for (const author of authors) posts.push(await publishOne(store(), draftOf(author)))
    const [first, second] = posts.map(({ version }) => version) as [number, number]
    const both = await store().listChanges(
      new Map([
        [0, since],
        [1, since],
      ]),
    )
    expect(both.toSorted((a, b) => a.region - b.region).map(({ region, version }) => [region, version])).toEqual([
      [0, first],
      [1, second],
    ])
    const one = await store().listChanges(
      new Map([
        [0, first],
        [1, since],
      ]),
    )
    expect(one.map(({ region }) => region)).toEqual([1])
    expect(await store().listChanges(new Map())).toEqual([])
  })

  it('a change of one process is listed for another', async () => {
    const author = viewerIn(1)
    const since = tickAt(later()) - 1
    const other = await another()
    const { version } = await publishOne(other, draftOf(author))
    expect(await changedSince(since, 1)).toEqual(new Map([[headKey(author), version]]))
    await other.close()
  })

  it('many changes are listed completely', async () => {
    const viewers = numbered(1_300).map(() => viewerIn(0))
    const since = tickAt(later()) - 1
    const { id } = await publishOne(store(), draftOf(viewerIn(1), { audience: viewers.slice(0, 1_000) }))
    await store().addToInboxes(id, viewers.slice(0, 1_000), optionsAt())
    for (const viewer of viewers.slice(1_000)) await store().noteChange(viewer, graphKey(viewer), optionsAt())
    const found = await changedSince(since, 0)
    expect([...found.keys()].toSorted()).toEqual(
      [...viewers.slice(0, 1_000).map(inboxKey), ...viewers.slice(1_000).map(graphKey)].toSorted(),
    )
  })

  it('many changes of several regions are listed completely, each in its region', async () => {
    const asked = [0, 1, 2, 3]
    const since = tickAt(later()) - 1
    const viewers = asked.map((region) => numbered(region === 2 ? 0 : 400).map(() => viewerIn(region)))
    for (const viewer of viewers.flat()) await store().noteChange(viewer, graphKey(viewer), optionsAt())
    const found = await store().listChanges(new Map(asked.map((region) => [region, since])))
    const keys = new Map(found.map(({ region, changed }) => [region, changed.map(({ key }) => key).toSorted()]))
    expect(keys).toEqual(new Map([0, 1, 3].map((region) => [region, (viewers[region] ?? []).map(graphKey).toSorted()])))
  })

  it('an answer is partial exactly if changes above the asked tick were forgotten', async () => {
    const [first, second] = [viewerIn(0), viewerIn(0)]
    const since = tickAt(later()) - 1
    const old = await store().noteChange(first, graphKey(first), optionsAt())
    const kept = await store().noteChange(second, graphKey(second), optionsAt(later(KEEP_MS)))
    expect((await store().listChanges(new Map([[0, since]])))[0]?.isPartial).toBe(false)
    await purgeAll(store(), regions(), later() - 1_000)
    const [partial] = await store().listChanges(new Map([[0, since]]))
    expect(partial?.isPartial).toBe(true)
    expect(partial?.changed).toContainEqual({ key: graphKey(second), version: kept })
    expect(partial?.changed.map(({ key }) => key)).not.toContain(graphKey(first))
    expect((await store().listChanges(new Map([[0, old]])))[0]).toMatchObject({ isPartial: false, version: kept })
    expect(await store().listChanges(new Map([[0, kept]]))).toEqual([])
  })
}
