/**
 * The port of one process to the model of the feed's hot store. The gate decides when calls take effect, and in which parts: calls that
 * touch several regions happen region by region. The observer learns of each change at the instant it happens.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { regionOfPost, type PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { FeedHotStore, PublishOutcome, RegionChanges } from '../../../subgraphs/feed/stores/hot-store.ts'
import { makeFeedStoreState, type FeedStoreState } from '../../models/feed/hot-store-model.ts'
import { atOnce, type Gate } from '../gate.ts'

/** Faults that an adapter of the hot store could have. */
export type FeedStoreFaults = {
  /** Clears a dirty mark at any version. */
  clearsUnchecked?: boolean
  /** Forgets client keys at once. */
  forgetsKeys?: boolean
  /** A deletion is not noted among the changes. */
  hidesDeletions?: boolean
}

export type FeedObserver = {
  published(post: Post): void
  deleted(id: PostId): void
  wordsSet(viewer: ViewerId, words: readonly string[]): void
}

export type FeedWorldState = { state: FeedStoreState; regions: number; faults: FeedStoreFaults; observer: FeedObserver; keys: number }

export function makeFeedWorldState(regions: number, faults: FeedStoreFaults, observer: FeedObserver): FeedWorldState {
  return { state: makeFeedStoreState(regions), regions, faults, observer, keys: 0 }
}

export function openModelFeedStore(world: FeedWorldState, gate: Gate): FeedHotStore {
  const { state, regions, faults, observer } = world
  const once = <T>(name: string, args: readonly unknown[], act: () => T): Promise<T> => atOnce(gate, 'hot', name, args, act)

  function perRegion<T, R>(name: string, items: readonly T[], of: (item: T) => number, act: (items: readonly T[]) => readonly R[]) {
    const results: R[] = []
    const parts = Array.from(Map.groupBy(items.keys(), (place) => of(items[place] as T)).values(), (places) => () => {
      const done = act(places.map((place) => items[place] as T))
      places.forEach((place, index) => (results[place] = done[index] as R))
    })
    return gate.call('hot', name, [items], parts, () => results)
  }
  const regionOfViewer = (viewer: ViewerId): number => regionOf(viewer, regions)
  const nothing = (): undefined => undefined

  function publish(...[draft, options]: Parameters<FeedStoreState['publish']>): PublishOutcome {
    const clientKey = faults.forgetsKeys === true ? `${draft.clientKey} ${++world.keys}` : draft.clientKey
    const outcome = state.publish({ ...draft, clientKey }, options)
    if (outcome.status === 'conflict') return outcome
    const post = { ...outcome.post, clientKey: draft.clientKey }
    if (outcome.status === 'published') observer.published(post)
    return { ...outcome, post }
  }

  function clearDirty(keys: Parameters<FeedHotStore['clearDirty']>[0]): void {
    if (faults.clearsUnchecked !== true) state.clearDirty(keys)
    else state.clearDirty(keys.map(({ key, version }) => ({ key, version: state.readDirty(key)?.version ?? version })))
  }

  function listChanges(since: ReadonlyMap<number, number>): RegionChanges[] {
    const changes = state.listChanges(since)
    if (faults.hidesDeletions !== true) return changes
    return changes.map((each) => ({ ...each, changed: each.changed.filter(({ key }) => !key.startsWith('c')) }))
  }

  return {
    publish: (draft, options) => once('publish', [{ viewer: draft.author, ...draft }], () => publish(draft, options)),
    addToInboxes: (id, viewers, options) =>
      perRegion('addToInboxes', viewers, regionOfViewer, (some) => {
        state.changeInboxes(id, some, false, options)
        return []
      }).then(nothing),
    removeFromInboxes: (id, viewers, options) =>
      perRegion('removeFromInboxes', viewers, regionOfViewer, (some) => {
        state.changeInboxes(id, some, true, options)
        return []
      }).then(nothing),
    delete: (post, options) =>
      once('delete', [{ viewer: post.author, post: post.id }], () => {
        const tombstone = state.deletePost(post, options)
        observer.deleted(post.id)
        return tombstone
      }),
    setWords: (viewer, words, options) =>
      once('setWords', [{ viewer }, words], () => {
        observer.wordsSet(viewer, words)
        return state.setWords(viewer, words, options)
      }),
    getWords: (viewer) => once('getWords', [{ viewer }], () => state.getWords(viewer)),
    getPostMany: (ids) => perRegion('getPostMany', ids, regionOfPost, (some) => some.map(state.getPost)),
    getOutboxMany: (authors) => perRegion('getOutboxMany', authors, regionOfViewer, (some) => some.map(state.getOutbox)),
    getInboxMany: (viewers) => perRegion('getInboxMany', viewers, regionOfViewer, (some) => some.map(state.getInbox)),
    listChanges(since) {
      const found: RegionChanges[] = []
      const parts = Array.from(since, (one) => () => void found.push(...listChanges(new Map([one]))))
      return gate.call('hot', 'listChanges', [], parts, () => found)
    },
    noteChange: (viewer, key, options) => once('noteChange', [{ viewer }, key], () => state.noteChange(viewer, key, options)),
    readDirty: (keys) =>
      perRegion(
        'readDirty',
        keys,
        ({ viewer }) => regionOfViewer(viewer),
        (some) => some.map(state.readDirty),
      ),
    clearDirty: (keys) =>
      perRegion(
        'clearDirty',
        keys,
        ({ key }) => regionOfViewer(key.viewer),
        (some) => {
          clearDirty(some)
          return []
        },
      ).then(nothing),
    // In the model a dirty mark is part of its contents.
    dropDirty: (keys) => once('dropDirty', [keys], nothing),
    listDirty: (some, dirtyBefore, limit, walk) => once('listDirty', [some], () => state.listDirty(some, dirtyBefore, limit, walk)),
    countDirty: () => once('countDirty', [], state.countDirty),
    purgeOld: (some, changedBefore, limit) => once('purgeOld', [some, changedBefore], () => state.purgeOld(some, changedBefore, limit)),
    check: () => once('check', [], nothing),
    close: () => Promise.resolve(),
  }
}
