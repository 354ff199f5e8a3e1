/**
 * The feed's hot store in plain maps. Every adapter is compared with it, and tests and the simulator use it if they do not test the store
 * itself. It implements the whole port as documented, without optimizations, and passes the contract. `makeFeedStoreModel` is the port with
 * immediate calls: no call fails, and none sees half of another.
 */
import type { DirtyWalk, ViewerId } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import { contentKey, headKey, inboxKey } from '../../../subgraphs/feed/model/cache-keys.ts'
import type { DirtyKey } from '../../../subgraphs/feed/model/dirty-keys.ts'
import { contentsHash, tombstoneOf } from '../../../subgraphs/feed/model/post-codec.ts'
import { names, withoutViewer, type FilterWords, type Post, type PostDraft } from '../../../subgraphs/feed/model/post.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, postIdOf, postTick, tickAfter, tickOf, type PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { packIds, partOf } from '../../../subgraphs/feed/packed/vector.ts'
import type {
  FeedHotStore,
  FeedStoreOptions,
  ListAsked,
  ListChanges,
  PublishOptions,
  PublishOutcome,
  RegionChanges,
} from '../../../subgraphs/feed/stores/hot-store.ts'

/** `dirtySince`: 0 = clean. */
type Held<T> = { key: DirtyKey; content: T; dirtySince: number }
type Region = { last: number; forgotten: number; notes: Map<string, number> }

type Model = {
  regions: number
  posts: Map<PostId, Held<Post>>
  words: Map<ViewerId, Held<FilterWords>>
  clientKeys: Map<string, { id: PostId; hash: string }>
  /** By cache key: each id of an outbox or inbox, with the tick of its removal. */
  lists: Map<string, Map<PostId, number>>
  states: Region[]
}

export type FeedStoreState = ReturnType<typeof makeFeedStoreState>

const ADDED = 0

export function makeFeedStoreState(regions: number) {
  const states = Array.from({ length: regions }, (): Region => ({ last: 0, forgotten: 0, notes: new Map() }))
  const model: Model = { regions, posts: new Map(), words: new Map(), clientKeys: new Map(), lists: new Map(), states }
  return { ...makeWriting(model), ...makeReading(model), ...makePersisting(model) }
}

const regionFor = ({ regions }: Model, viewer: ViewerId): number => regionOf(viewer, regions)
const stateOf = (model: Model, viewer: ViewerId): Region => model.states[regionFor(model, viewer)] as Region
const listOf = ({ lists }: Model, key: string): Map<PostId, number> => lists.get(key) ?? new Map<PostId, number>()
const heldOf = ({ words, posts }: Model, { viewer, post }: DirtyKey) => (post === undefined ? words.get(viewer) : posts.get(post))

function makeWriting(model: Model) {
  const { posts, words, clientKeys, lists } = model

  function nextTick(viewer: ViewerId, now: number, above = 0): number {
    const state = stateOf(model, viewer)
    state.last = Math.max(tickAfter(state.last, now), above + 1)
    return state.last
  }

  function put(key: string, id: PostId, removedAt: number): void {
    lists.set(key, listOf(model, key).set(id, removedAt))
  }

  function publish(draft: PostDraft, { now, repeatsOnly = false }: PublishOptions): PublishOutcome {
    const name = JSON.stringify([draft.author, draft.clientKey])
    const hash = contentsHash(draft).toString('hex')
    const known = clientKeys.get(name)
    if (known !== undefined && known.hash !== hash) return { status: 'conflict', id: known.id }
    if (known !== undefined) return { status: 'repeated', post: (posts.get(known.id) as Held<Post>).content }
    if (repeatsOnly) return { status: 'unknown' }
    const version = postTick(nextTick(draft.author, now), draft.audience !== undefined)
    stateOf(model, draft.author).last = version
    const id = postIdOf(version, regionFor(model, draft.author))
    const post = { ...draft, id, version, deleted: false }
    posts.set(id, { key: { viewer: draft.author, post: id }, content: post, dirtySince: now })
    clientKeys.set(name, { id, hash })
    if (draft.audience === undefined) {
      put(headKey(draft.author), id, ADDED)
      stateOf(model, draft.author).notes.set(headKey(draft.author), version)
    }
    return { status: 'published', post }
  }

  function deletePost(post: Post, { now }: FeedStoreOptions): Post {
    const { id, author } = post
    const held = posts.get(id)
    if (held?.content.deleted === true) return held.content
    const version = nextTick(author, now, post.version)
    const content = tombstoneOf(post, version)
    posts.set(id, { key: { viewer: author, post: id }, content, dirtySince: held?.dirtySince || now })
    if (post.audience === undefined) {
      put(headKey(author), id, version)
      stateOf(model, author).notes.set(headKey(author), version)
    }
    stateOf(model, author).notes.set(contentKey(id), version)
    return content
  }

  function removeFromAudience(post: Post, viewer: ViewerId, { now }: FeedStoreOptions): Post {
    const held = posts.get(post.id)
    const stored = held?.content ?? post
    if (!names(stored, viewer)) return stored
    const content = { ...withoutViewer(stored, viewer), version: nextTick(post.author, now, stored.version) }
    posts.set(post.id, { key: { viewer: post.author, post: post.id }, content, dirtySince: held?.dirtySince || now })
    stateOf(model, post.author).notes.set(contentKey(post.id), content.version)
    return content
  }

  function changeInboxes(id: PostId, viewers: readonly ViewerId[], isRemoval: boolean, { now, keepMs }: FeedStoreOptions): void {
    const ticks = new Map<number, number>()
    for (const viewer of new Set(viewers)) {
      const list = listOf(model, inboxKey(viewer))
      if (list.has(id) && (!isRemoval || list.get(id) !== ADDED)) continue
      const tick = ticks.get(regionFor(model, viewer)) ?? nextTick(viewer, now)
      ticks.set(regionFor(model, viewer), tick)
      const oldTick = Math.min((now - keepMs - POST_EPOCH_MS) * TICKS_PER_MS, stateOf(model, viewer).forgotten)
      for (const [old, removedAt] of list) if (tickOf(old) < oldTick && removedAt < oldTick) list.delete(old)
      put(inboxKey(viewer), id, isRemoval ? tick : ADDED)
      stateOf(model, viewer).notes.set(inboxKey(viewer), tick)
    }
  }

  function setWords(viewer: ViewerId, list: readonly string[], { now }: FeedStoreOptions): FilterWords {
    const content = { words: [...list], version: nextTick(viewer, now) }
    words.set(viewer, { key: { viewer, post: undefined }, content, dirtySince: words.get(viewer)?.dirtySince || now })
    stateOf(model, viewer).notes.set(inboxKey(viewer), content.version)
    return content
  }

  function noteChange(viewer: ViewerId, key: string, { now }: FeedStoreOptions): number {
    const tick = nextTick(viewer, now)
    stateOf(model, viewer).notes.set(key, tick)
    return tick
  }

  return { publish, deletePost, removeFromAudience, changeInboxes, setWords, noteChange }
}

function makeReading(model: Model) {
  function changesOf(viewer: ViewerId, key: string, part?: ListAsked): ListChanges {
    const list = listOf(model, key)
    const version = stateOf(model, viewer).notes.get(key) ?? 0
    const vector = (isAdded: boolean): Buffer => packIds([...list].filter(([, at]) => (at === ADDED) === isAdded).map(([id]) => id))
    return { ...partOf(vector(true), part), removed: vector(false), version }
  }

  function listChanges(since: ReadonlyMap<number, number>): RegionChanges[] {
    return [...since].flatMap(([region, tick]) => {
      const { last, forgotten, notes } = model.states[region] as Region
      const changed = [...notes].filter(([, version]) => version > tick).map(([key, version]) => ({ key, version }))
      changed.sort((a, b) => a.version - b.version)
      return changed.length === 0 && tick >= forgotten ? [] : [{ region, changed, version: last, isPartial: tick < forgotten }]
    })
  }

  return {
    listChanges,
    getWords: (viewer: ViewerId) => model.words.get(viewer)?.content,
    getPost: (id: PostId) => model.posts.get(id)?.content,
    getOutbox: (author: ViewerId, part?: ListAsked) => changesOf(author, headKey(author), part),
    getInbox: (viewer: ViewerId, part?: ListAsked) => changesOf(viewer, inboxKey(viewer), part),
  }
}

function makePersisting(model: Model) {
  const { posts, words, clientKeys, lists } = model
  const dirty = (): Held<Post | FilterWords>[] => [...posts.values(), ...words.values()].filter(({ dirtySince }) => dirtySince > 0)

  /** A walk remembers all keys that it has returned. */
  function listDirty(wanted: readonly number[], dirtyBefore: number, limit: number, walk: DirtyWalk = {}): DirtyKey[] {
    const walked = (walk.place as Set<DirtyKey> | undefined) ?? new Set()
    const found = dirty().filter((held) => held.dirtySince <= dirtyBefore && wanted.includes(regionFor(model, held.key.viewer)))
    found.sort((a, b) => a.dirtySince - b.dirtySince)
    const keys = found.map(({ key }) => key).filter((key) => !walked.has(key))
    walk.place = new Set([...walked, ...keys.slice(0, limit)])
    return keys.slice(0, limit)
  }

  function clearDirty(keys: readonly { key: DirtyKey; version: number }[]): void {
    for (const { key, version } of keys) {
      const held = heldOf(model, key)
      if (held?.content.version === version) held.dirtySince = 0
    }
  }

  function purgeOld(wanted: readonly number[], changedBefore: number, limit: number): number {
    const below = (changedBefore - POST_EPOCH_MS) * TICKS_PER_MS
    let room = limit
    for (const [id, { key, content, dirtySince }] of posts) {
      if (room === 0 || dirtySince > 0 || content.version >= below || !wanted.includes(regionFor(model, key.viewer))) continue
      posts.delete(id)
      listOf(model, headKey(key.viewer)).delete(id)
      for (const [name, known] of clientKeys) if (known.id === id) clientKeys.delete(name)
      room -= 1
    }
    for (const region of wanted) {
      const state = model.states[region] as Region
      for (const [key, version] of state.notes) {
        const viewer = key.startsWith(inboxKey('')) ? key.slice(1) : undefined
        const hasDirtyWords = viewer !== undefined && (words.get(viewer)?.dirtySince ?? 0) > 0
        if (room === 0 || hasDirtyWords || version >= below) continue
        state.notes.delete(key)
        state.forgotten = Math.max(state.forgotten, version)
        if (viewer !== undefined) {
          lists.delete(key)
          words.delete(viewer)
        }
        room -= 1
      }
    }
    return limit - room
  }

  return {
    ...{ listDirty, clearDirty, purgeOld },
    readDirty: (key: DirtyKey) => heldOf(model, key)?.content,
    countDirty: () => dirty().length,
  }
}

export function makeFeedStoreModel(regions: number): FeedHotStore {
  const state = makeFeedStoreState(regions)
  return {
    publish: async (draft, options) => state.publish(draft, options),
    addToInboxes: async (id, viewers, options) => state.changeInboxes(id, viewers, false, options),
    removeFromInboxes: async (id, viewers, options) => state.changeInboxes(id, viewers, true, options),
    delete: async (post, options) => state.deletePost(post, options),
    removeFromAudience: async (post, viewer, options) => state.removeFromAudience(post, viewer, options),
    setWords: async (viewer, words, options) => state.setWords(viewer, words, options),
    getWords: async (viewer) => state.getWords(viewer),
    getPostMany: async (ids) => ids.map(state.getPost),
    getOutboxMany: async (authors, part) => authors.map((author) => state.getOutbox(author, part)),
    getInboxMany: async (viewers, part) => viewers.map((viewer) => state.getInbox(viewer, part)),
    listChanges: async (since) => state.listChanges(since),
    noteChange: async (viewer, key, options) => state.noteChange(viewer, key, options),
    readDirty: async (keys) => keys.map(state.readDirty),
    clearDirty: async (keys) => state.clearDirty(keys),
    dropDirty: async () => {},
    listDirty: async (regions, dirtyBefore, limit, walk) => state.listDirty(regions, dirtyBefore, limit, walk),
    countDirty: async () => state.countDirty(),
    purgeOld: async (regions, changedBefore, limit) => state.purgeOld(regions, changedBefore, limit),
    check: async () => {},
    close: async () => {},
  }
}
