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
import type { Gate } from '../gate.ts'
import { makeRegionCalls } from './region-calls.ts'

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

export type FeedWorldState = {
  state: FeedStoreState
  regions: number
  /** Regions that are lost, as on a cluster. Undefined: the store has no parts. */
  lost: Set<number> | undefined
  faults: FeedStoreFaults
  observer: FeedObserver
  keys: number
}

export function makeFeedWorldState(
  regions: number,
  lost: Set<number> | undefined,
  faults: FeedStoreFaults,
  observer: FeedObserver,
): FeedWorldState {
  return { state: makeFeedStoreState(regions), regions, lost, faults, observer, keys: 0 }
}

export function openModelFeedStore(world: FeedWorldState, gate: Gate): FeedHotStore {
  const { state, regions, lost, faults, observer } = world
  const { inRegions, once, together, perRegion } = makeRegionCalls(gate, regions, lost)
  const regionOfViewer = (viewer: ViewerId): number => regionOf(viewer, regions)
  const nothing = (): undefined => undefined

  function publish(...[draft, options]: Parameters<FeedStoreState['publish']>): PublishOutcome {
    const clientKey = faults.forgetsKeys === true ? `${draft.clientKey} ${++world.keys}` : draft.clientKey
    const outcome = state.publish({ ...draft, clientKey }, options)
    if (outcome.status === 'conflict' || outcome.status === 'unknown') return outcome
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
    publish: (draft, options) =>
      once('publish', regionOfViewer(draft.author), [{ viewer: draft.author, ...draft }], () => publish(draft, options)),
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
      once('delete', regionOfViewer(post.author), [{ viewer: post.author, post: post.id }], () => {
        const tombstone = state.deletePost(post, options)
        observer.deleted(post.id)
        return tombstone
      }),
    removeFromAudience: (post, viewer, options) =>
      once('removeFromAudience', regionOfViewer(post.author), [{ viewer: post.author, post: post.id }], () =>
        state.removeFromAudience(post, viewer, options),
      ),
    setWords: (viewer, words, options) =>
      once('setWords', regionOfViewer(viewer), [{ viewer }, words], () => {
        observer.wordsSet(viewer, words)
        return state.setWords(viewer, words, options)
      }),
    getWords: (viewer) => once('getWords', regionOfViewer(viewer), [{ viewer }], () => state.getWords(viewer)),
    getPostMany: (ids) => perRegion('getPostMany', ids, regionOfPost, (some) => some.map(state.getPost)),
    getOutboxMany: (authors, part) =>
      perRegion('getOutboxMany', authors, regionOfViewer, (some) => some.map((author) => state.getOutbox(author, part))),
    getInboxMany: (viewers, part) =>
      perRegion('getInboxMany', viewers, regionOfViewer, (some) => some.map((viewer) => state.getInbox(viewer, part))),
    listChanges(since) {
      const found: RegionChanges[] = []
      const acts = new Map(Array.from(since, (one) => [one[0], () => void found.push(...listChanges(new Map([one])))]))
      return inRegions('listChanges', [], acts, () => found)
    },
    noteChange: (viewer, key, options) =>
      once('noteChange', regionOfViewer(viewer), [{ viewer }, key], () => state.noteChange(viewer, key, options)),
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
    dropDirty: (keys) =>
      together(
        'dropDirty',
        keys.map(({ viewer }) => regionOfViewer(viewer)),
        nothing,
      ),
    listDirty: (some, dirtyBefore, limit, walk) => together('listDirty', some, () => state.listDirty(some, dirtyBefore, limit, walk)),
    countDirty: () => together('countDirty', [], state.countDirty),
    purgeOld: (some, changedBefore, limit) => together('purgeOld', some, () => state.purgeOld(some, changedBefore, limit)),
    check: (part = 0) => once('check', part, [], nothing),
    ...(lost === undefined ? {} : { partOf: regionOfViewer }),
    close: () => Promise.resolve(),
  }
}
