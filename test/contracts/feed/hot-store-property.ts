/**
 * Contract of the feed's hot store: any list of operations has the answers of the model, ids and versions included. The clock is ahead of
 * all regions when a list begins, and each list ends with an empty store. A failure prints the shortest list and its seed.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { DirtyKey } from '../../../subgraphs/feed/model/dirty-keys.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import type { FeedHotStore } from '../../../subgraphs/feed/stores/hot-store.ts'
import { graphKey } from '../../../subgraphs/feed/model/cache-keys.ts'
import { makeFeedStoreModel } from '../../../harness/models/feed/hot-store-model.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, later } from '../reports.ts'
import { listed, purgeAll, tickAt } from './posts.ts'
import type { FeedStoreSubject } from './hot-store-subject.ts'

const VIEWERS = 4
const KEYS = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6']
const TEXTS = ['', 'a', 'b']
const KEEP_MS = 50

type Operation =
  | { kind: 'publish'; viewer: number; clientKey: string; text: string; audience: number[] | undefined }
  | { kind: 'delete'; place: number }
  | { kind: 'add' | 'remove'; place: number; viewers: number[] }
  | { kind: 'narrow'; place: number; viewer: number }
  | { kind: 'words'; viewer: number; words: string[] }
  | { kind: 'note'; viewer: number }
  | { kind: 'persist'; count: number }
  | { kind: 'late persist' }
  | { kind: 'purge'; age: number; limit: number }
  | { kind: 'list dirty'; age: number; limit: number }

const kind = <K extends string>(name: K) => fc.constant(name)
const viewer = fc.nat({ max: VIEWERS - 1 })
const viewers = fc.array(viewer, { maxLength: 3 })
const place = fc.nat({ max: 5 })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: kind('publish'),
      viewer,
      clientKey: fc.constantFrom(...KEYS),
      text: fc.constantFrom(...TEXTS),
      audience: fc.option(viewers, { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('delete'), place }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('add', 'remove'), place, viewers }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('narrow'), place, viewer }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('words'), viewer, words: fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('note'), viewer }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('persist'), count: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('late persist') }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('purge'), age: fc.nat({ max: 60 }), limit: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('list dirty'), age: fc.nat({ max: 60 }), limit: fc.nat({ max: 3 }) }) },
)

export function feedPropertyContract({ store, regions }: FeedStoreSubject): void {
  it('any list of operations has the answers of the model', async () => {
    await emptied(store(), regions())
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(operation, fc.nat({ max: 20 })), { maxLength: 24 }), async (steps) => {
        const names = [freshViewerIn(0, regions()), freshViewerIn(0, regions()), freshViewer(), freshNamedViewer()]
        const begin = later(1_000)
        const sides = [store(), makeFeedStoreModel(regions())].map((target) => makeSide(target, names, regions(), begin))
        for (const [index, [step, pause]] of steps.entries()) {
          const now = later(pause)
          const [real, model] = await Promise.all(sides.map((side) => side.perform(step, now)))
          expect(real, `step ${index}: ${JSON.stringify(step)}`).toEqual(model)
        }
        await Promise.all(sides.map((side) => side.empty()))
      }),
      { numRuns: 150 },
    )
  })
}

/** One of the two stores, with the posts and the dirty contents that its callers know. */
function makeSide(store: FeedHotStore, names: readonly string[], regions: number, begin: number) {
  const posts: Post[] = []
  const all = [...Array(regions).keys()]
  const since = new Map(all.map((region) => [region, tickAt(begin) - 1]))
  let read: { key: DirtyKey; version: number }[] = []

  async function readDirty(now: number, count: number): Promise<void> {
    const keys = await store.listDirty(all, now, 1_000)
    // Adapters list regions in different orders.
    const sorted = keys.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)).slice(0, count)
    const contents = await store.readDirty(sorted)
    read = sorted.map((key, index) => ({ key, version: contents[index]?.version ?? 0 }))
  }

  async function act(step: Operation, now: number): Promise<unknown> {
    const options = { now, keepMs: KEEP_MS }
    const post = 'place' in step ? posts[step.place % Math.max(1, posts.length)] : undefined
    const nameOf = (viewer: number): string => names[viewer] as string
    switch (step.kind) {
      case 'publish': {
        const { clientKey, text, audience } = step
        const draft = { author: nameOf(step.viewer), clientKey, text, media: [], source: undefined, audience: audience?.map(nameOf) }
        const outcome = await store.publish(draft, options)
        if (outcome.status === 'published') posts.push(outcome.post)
        return outcome
      }
      case 'delete':
        return post && store.delete(post, options)
      case 'add':
        return post && store.addToInboxes(post.id, step.viewers.map(nameOf), options)
      case 'remove':
        return post && store.removeFromInboxes(post.id, step.viewers.map(nameOf), options)
      case 'narrow':
        return post && store.removeFromAudience(post, nameOf(step.viewer), options)
      case 'words':
        return store.setWords(nameOf(step.viewer), step.words, options)
      case 'note':
        return store.noteChange(nameOf(step.viewer), graphKey(nameOf(step.viewer)), options)
      case 'persist':
        await readDirty(now, step.count)
        return store.clearDirty(read)
      case 'late persist':
        return store.clearDirty(read)
      case 'purge':
        return purgeAll(store, regions, now - step.age, step.limit)
      case 'list dirty':
        return (await store.listDirty(all, now - step.age, 1_000)).length
      default:
        return step satisfies never
    }
  }

  return {
    /** Returns the answer, and everything that can be read. */
    async perform(step: Operation, now: number) {
      const answer = await act(step, now)
      const changes = await store.listChanges(since)
      return {
        answer,
        posts: await store.getPostMany(posts.map(({ id }) => id)),
        outboxes: (await store.getOutboxMany(names)).map(listed),
        inboxes: (await store.getInboxMany(names)).map(listed),
        words: await Promise.all(names.map(store.getWords)),
        dirty: await store.countDirty(),
        changes: changes
          .map((change) => ({ ...change, changed: change.changed.toSorted((a, b) => (a.key < b.key ? -1 : 1)) }))
          .toSorted((a, b) => a.region - b.region),
      }
    },
    empty: () => emptied(store, regions),
  }
}

async function emptied(store: FeedHotStore, regions: number): Promise<void> {
  const now = later()
  const keys = await store.listDirty([...Array(regions).keys()], now, 100_000)
  const contents = await store.readDirty(keys)
  await store.clearDirty(keys.map((key, index) => ({ key, version: contents[index]?.version ?? 0 })))
  await purgeAll(store, regions, now + 3_600_000)
  expect(await store.countDirty()).toBe(0)
}
