/**
 * The service of the feed. When a call resolves, its change is durable in the hot store, and every later read in every process sees it.
 * There is no journal: while the hot store is down, calls fail with HOT_STORE_UNAVAILABLE, and a repetition is harmless.
 *
 * A publication goes through these steps:
 *
 *   inputs.ts       checks it
 *   the source      must be readable by the author, and public: a share of a restricted post would show it to others. Otherwise only a
 *                   repetition of an accepted publication succeeds
 *   hot store       stores the post and puts it into the outbox, in one step
 *   inboxes         of the audience, region by region
 *   counters        the public posts of the author, and the shares of the source
 *   aggregator      sends the key to the log
 *
 * A step that fails after the second is repeated by the client with the same key: each step is idempotent. Counters are an exception. A
 * failure there does not fail the call, because the persist step counts the same events again.
 *
 * A restricted post is not counted: its author's number of posts would reveal it.
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError, TidemarkError } from '../../../core/errors.ts'
import { checkId } from '../../../core/keys.ts'
import { saysDown, UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import { requireScope, SCOPE_COUNTS_WRITE, type Viewer } from '../../../core/viewer.ts'
import { checkPublish, checkWords, unknownPost, type CountEventInput, type PublishPostInput } from '../inputs.ts'
import type { CountEvent } from '../model/counts.ts'
import type { DirtyKey } from '../model/dirty-keys.ts'
import { eventsOfPost } from '../model/post-events.ts'
import { countedEvents } from '../persist/counted-events.ts'
import { maySee, recipientsOf, type FilterWords, type Post } from '../model/post.ts'
import { isPostId, type PostId } from '../packed/post-id.ts'
import type { FeedHotStore } from '../stores/hot-store.ts'
import { countInputs, type CountAnswer, type CountParts } from './counting.ts'

export type FeedService = {
  /** Throws the codes of `UserErrorCode`, and HOT_STORE_UNAVAILABLE. */
  publish(author: Viewer, input: PublishPostInput, degraded: Degraded): Promise<{ post: Post; repeated: boolean }>
  /** The tombstone. Throws POST_UNKNOWN, FORBIDDEN, ID_INVALID. */
  delete(viewer: Viewer, id: string, degraded: Degraded): Promise<Post>
  /** Throws FILTER_WORDS_INVALID. */
  setWords(viewer: Viewer, words: readonly string[]): Promise<FilterWords>
  /** In the order of `events`. Throws INPUTS_TOO_MANY, FORBIDDEN, UNAUTHENTICATED. */
  adjustCounts(viewer: Viewer | undefined, events: readonly CountEventInput[], degraded: Degraded): Promise<CountAnswer[]>
  figures(): FeedServiceFigures
}

export type FeedServiceFigures = { published: number; repeated: number; deleted: number; wordsSet: number; counted: number }

export type FeedServiceParts = CountParts & {
  hot: Pick<FeedHotStore, 'publish' | 'addToInboxes' | 'removeFromInboxes' | 'delete' | 'setWords'>
  /** The hot store has this key's change: it may be flushed. */
  aggregate(key: DirtyKey): void
  onError(error: unknown): void
}

export type FeedServiceOptions = {
  /** The business of the posts. */
  business: BusinessNumber
  regions: number
  keepMs: number
  /** Throws BUSINESS_DISABLED if no posts are taken. Default: they are. */
  admit?(): void
}

export function makeFeedService(
  clock: Clock,
  parts: FeedServiceParts,
  { business, regions, keepMs, admit }: FeedServiceOptions,
): FeedService {
  const { hot, posts, count, aggregate, onError } = parts
  const figures: FeedServiceFigures = { published: 0, repeated: 0, deleted: 0, wordsSet: 0, counted: 0 }
  const options = () => ({ now: clock.now(), keepMs })

  /** The post as it is now. Throws if a store that may know it does not answer. */
  async function find(id: string, field: string, degraded: Degraded): Promise<Post> {
    checkId(id, field)
    const without: Degraded = new Set()
    const [post] = isPostId(id, regions) ? await posts([id], without) : []
    for (const store of without) degraded.add(store)
    if (post !== undefined) return post
    const [missing] = without
    if (missing === undefined) throw unknownPost(id, field)
    throw new TidemarkError(UNAVAILABLE[missing], `a store that may have post ${id} does not answer: send the call again`)
  }

  /** Undefined: the post can be shared. */
  async function refusalOf(id: PostId, author: ViewerId, degraded: Degraded): Promise<TidemarkError | undefined> {
    let source: Post
    try {
      source = await find(id, 'source', degraded)
    } catch (error) {
      if (isTidemarkError(error) && error.code === 'POST_UNKNOWN') return error
      throw error
    }
    if (!maySee(source, author)) return unknownPost(id, 'source')
    if (source.audience === undefined) return undefined
    return new TidemarkError('SOURCE_RESTRICTED', `post "${id}" is for chosen viewers only: share a public post`, { path: ['source'] })
  }

  /** The persist step counts events that fail here. */
  async function countLater(events: readonly CountEvent[], degraded: Degraded): Promise<void> {
    if (events.length === 0) return
    for (const result of await count(events)) {
      if (typeof result === 'string') continue
      if (saysDown(result, 'hotStore')) degraded.add('hotStore')
      else if (saysDown(result, 'recordStore')) degraded.add('recordStore')
      else onError(result)
    }
  }

  return {
    async publish({ id: author }, input, degraded) {
      admit?.()
      const draft = checkPublish(input, author)
      const refusal = draft.source === undefined ? undefined : await refusalOf(draft.source, author, degraded)
      // The source of a repetition may have been deleted since.
      const outcome = await hot.publish(draft, { ...options(), repeatsOnly: refusal !== undefined })
      if (outcome.status === 'unknown') throw refusal ?? new Error('a post was neither published nor repeated')
      if (outcome.status === 'conflict') {
        const message = `clientKey "${draft.clientKey.slice(0, 16)}" was used for post ${outcome.id} with other contents: send another key`
        throw new TidemarkError('CLIENT_KEY_REUSED', message, { path: ['clientKey'] })
      }
      const { post, status } = outcome
      figures[status]++
      if (post.audience !== undefined) await hot.addToInboxes(post.id, recipientsOf(post), options())
      // A store remembers events for an hour only, and a client key for longer.
      if (status === 'published') await countLater(eventsOfPost(post, business), degraded)
      aggregate({ viewer: author, post: post.id })
      return { post, repeated: status === 'repeated' }
    },
    async delete({ id: viewer }, id, degraded) {
      const post = await find(id, 'id', degraded)
      if (post.author !== viewer) {
        if (!maySee(post, viewer)) throw unknownPost(id, 'id')
        throw new TidemarkError('FORBIDDEN', `post "${id}" is of another author: delete only your own posts`, { path: ['id'] })
      }
      const tombstone = await hot.delete(post, options())
      if (post.audience !== undefined) await hot.removeFromInboxes(post.id, recipientsOf(post), options())
      // With the events of the publication: its process may have died before it counted them.
      if (!post.deleted) await countLater(countedEvents(tombstone, business, clock.now()), degraded)
      aggregate({ viewer, post: post.id })
      figures.deleted++
      return tombstone
    },
    async setWords({ id: viewer }, words) {
      const stored = await hot.setWords(viewer, checkWords(words), options())
      aggregate({ viewer, post: undefined })
      figures.wordsSet++
      return stored
    },
    async adjustCounts(viewer, inputs, degraded) {
      requireScope(viewer, SCOPE_COUNTS_WRITE)
      const answers = await countInputs(parts, inputs, { business, regions }, degraded)
      figures.counted += answers.filter(({ outcome }) => outcome === 'COUNTED').length
      return answers
    },
    figures: () => ({ ...figures }),
  }
}
