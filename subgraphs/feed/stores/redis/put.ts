/**
 * The viewer's writes: one script per region and call, and for large audiences one per some viewers.
 *
 * A script whose answer is lost is sent again, by `connection.ts` or by ioredis. A repeated publication finds its client key, and a repeated
 * deletion its tombstone. Repeated words get a higher version; if other words of the viewer came in between, the call that was answered last
 * wins, as both were under way.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { scriptCommand, type Command, type Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion, type RegionBatch } from '../../../../stores/redis/grouping.ts'
import { contentKey, headKey, inboxKey } from '../../model/cache-keys.ts'
import { contentsHash, encodePost, encodeWords, tombstoneOf } from '../../model/post-codec.ts'
import { names, withoutViewer, type FilterWords, type Post, type PostDraft } from '../../model/post.ts'
import { tickOf, type PostId } from '../../packed/post-id.ts'
import { unpackIds } from '../../packed/vector.ts'
import type { FeedStoreOptions, PublishOptions, PublishOutcome } from '../hot-store.ts'
import { packMember, packPostId, type FeedLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { decodeStoredPost, tickOfTime } from './values.ts'

/** So that a script blocks its server for less than a millisecond. */
const INBOXES_PER_SCRIPT = 25
const BUSINESS = 0

export function makeFeedWriting(connection: Connection, layout: FeedLayout) {
  const run = async (command: Command): Promise<unknown> => (await connection.send([command]))[0]

  function inboxCommand(
    { region, items }: RegionBatch<ViewerId>,
    id: PostId,
    action: 'add' | 'remove',
    { now, keepMs }: FeedStoreOptions,
  ): Command {
    const viewers = items.map(({ item }) => item)
    const keys = viewers.flatMap((viewer) => [layout.inbox(region, viewer), layout.recalled(region, viewer)])
    const args = [tickOfTime(now), packPostId(id), action, tickOfTime(now - keepMs), ...viewers.map(inboxKey)]
    return scriptCommand(SCRIPTS.changeInboxes, [layout.changes(region), ...keys], args)
  }

  async function changeInboxes(id: PostId, viewers: readonly ViewerId[], action: 'add' | 'remove', options: FeedStoreOptions) {
    const address = (viewer: ViewerId) => ({ viewer, business: BUSINESS })
    const batches = groupByRegion([...new Set(viewers)], address, layout.regionOf, INBOXES_PER_SCRIPT)
    await connection.send(batches.map((batch) => inboxCommand(batch, id, action, options)))
  }

  return {
    async publish(draft: PostDraft, { now, repeatsOnly = false }: PublishOptions): Promise<PublishOutcome> {
      const { author, clientKey, audience } = draft
      const region = layout.regionOf(author)
      const keys = [layout.changes(region), layout.held(region), layout.dirty(region)]
      keys.push(layout.clientKeys(region, author), layout.outbox(region, author), layout.posts(region))
      const message = Buffer.from(encodePost({ ...draft, version: 0, deleted: false }))
      const head = audience === undefined ? headKey(author) : ''
      const args = [tickOfTime(now), now, region, clientKey, contentsHash(draft), message, author, head, repeatsOnly ? 1 : 0]
      const answer = await run(scriptCommand(SCRIPTS.publish, keys, args))
      const [outcome, packed, held] = answer as [number, Buffer, Buffer | undefined]
      if (outcome === 3) return { status: 'unknown' }
      const [id] = unpackIds(packed) as [PostId]
      if (outcome === 2) return { status: 'conflict', id }
      if (held !== undefined) return { status: 'repeated', post: decodeStoredPost(id, held) }
      return { status: 'published', post: { ...draft, id, version: tickOf(id), deleted: false } }
    },

    async delete(post: Post, { now }: FeedStoreOptions): Promise<Post> {
      const { id, author, version, audience } = post
      const region = layout.regionOf(author)
      const keys = [layout.changes(region), layout.held(region), layout.dirty(region), layout.post(region, id)]
      keys.push(layout.outbox(region, author), layout.deleted(region, author))
      const message = Buffer.from(encodePost(tombstoneOf(post, 0)))
      const head = audience === undefined ? headKey(author) : ''
      const args = [tickOfTime(now), now, version, packPostId(id), message, author, contentKey(id), head]
      return decodeStoredPost(id, (await run(scriptCommand(SCRIPTS.deletePost, keys, args))) as Buffer)
    },

    /** The new audience is made here, so the script changes the version that it was made of, or answers with the stored post. */
    async removeFromAudience(post: Post, viewer: ViewerId, { now }: FeedStoreOptions): Promise<Post> {
      const { id, author } = post
      const region = layout.regionOf(author)
      const keys = [layout.changes(region), layout.held(region), layout.dirty(region), layout.post(region, id)]
      for (let stored = post; ;) {
        const next = names(stored, viewer) ? Buffer.from(encodePost({ ...withoutViewer(stored, viewer), version: 0 })) : ''
        const args = [tickOfTime(now), now, stored.version, packPostId(id), next, author, contentKey(id)]
        const answer = (await run(scriptCommand(SCRIPTS.replacePost, keys, args))) as Buffer | null
        if (answer === null) return stored
        stored = decodeStoredPost(id, answer)
        if (!names(stored, viewer)) return stored
      }
    },

    addToInboxes: (id: PostId, viewers: readonly ViewerId[], options: FeedStoreOptions): Promise<void> =>
      changeInboxes(id, viewers, 'add', options),
    removeFromInboxes: (id: PostId, viewers: readonly ViewerId[], options: FeedStoreOptions): Promise<void> =>
      changeInboxes(id, viewers, 'remove', options),

    async setWords(viewer: ViewerId, words: readonly string[], { now }: FeedStoreOptions): Promise<FilterWords> {
      const region = layout.regionOf(viewer)
      const keys = [layout.changes(region), layout.dirty(region), layout.words(region, viewer)]
      const message = Buffer.from(encodeWords({ words, version: 0 }))
      const args = [tickOfTime(now), now, message, packMember({ viewer, post: undefined }), inboxKey(viewer)]
      return { words: [...words], version: Number(await run(scriptCommand(SCRIPTS.setWords, keys, args))) }
    },

    async noteChange(viewer: ViewerId, key: string, { now }: FeedStoreOptions): Promise<number> {
      const changes = layout.changes(layout.regionOf(viewer))
      return Number(await run(scriptCommand(SCRIPTS.noteChange, [changes], [tickOfTime(now), key])))
    },
  }
}
