/** The traces of a viewer in the hot store of the feed and in the counters on Redis. */
import type { ViewerId } from '../../../../core/domain.ts'
import type { Traces } from '../../../../core/erasure/traces.ts'
import { unpackId } from '../../../../core/keys.ts'
import { scriptCommand, type Connection } from '../../../../stores/redis/connection.ts'
import { packGroup } from '../../../../stores/redis/packing.ts'
import { readScript } from '../../../../stores/redis/scripts.ts'
import { countKeys, findMembers, unlinkKeys } from '../../../../stores/redis/traces.ts'
import { USERS } from '../../model/post-events.ts'
import type { PostId } from '../../packed/post-id.ts'
import type { FeedHotStore } from '../hot-store.ts'
import type { FeedHotTraces } from '../traces.ts'
import { blockOf, hashOf, packedOid } from './counters/blocks.ts'
import { makeCounterLayout } from './counters/keys.ts'
import { makeFeedLayout, unpackMember } from './keys.ts'
import { makeLongsetLayout } from './longsets.ts'

export type RedisTracesOptions = { prefix: string; regions: number }

const REMOVE_COUNTER = readScript(new URL('./counters/scripts/', import.meta.url), 'remove-counter')
const POSTS_PER_COMMAND = 1_000
const TOMBSTONE = 1

/** `hot` drops dirty marks without contents. */
export function openFeedTraces(
  connection: Connection,
  hot: Pick<FeedHotStore, 'dropDirty'>,
  { prefix, regions }: RedisTracesOptions,
): FeedHotTraces {
  const layout = makeFeedLayout(prefix, regions)
  const longsets = makeLongsetLayout(prefix, regions)

  function keysOf(viewer: ViewerId): string[] {
    const region = layout.regionOf(viewer)
    const kinds = [layout.clientKeys, layout.outbox, layout.deleted, layout.inbox, layout.recalled, layout.words]
    return [...kinds.map((kind) => kind(region, viewer)), longsets.longset(viewer), longsets.lease(viewer)]
  }

  const dirtyOf = (viewer: ViewerId): Promise<Buffer[]> =>
    findMembers(connection, 'zscan', layout.dirty(layout.regionOf(viewer)), (member) => unpackMember(member).viewer === viewer)

  /** The keys of these posts and of those that the viewer published lately. */
  async function postKeysOf(viewer: ViewerId, stored: readonly PostId[], dirty: readonly Buffer[]): Promise<string[]> {
    const region = layout.regionOf(viewer)
    const [known] = await connection.send([{ name: 'hvals', args: [layout.clientKeys(region, viewer)] }])
    const lately = (known as Buffer[]).map((value) => unpackId(value, 0))
    const waiting = dirty.flatMap((member) => unpackMember(member).post ?? [])
    return [...new Set([...stored, ...lately, ...waiting])].map((id) => layout.post(region, id))
  }

  /** `live`: posts that are newer than the deletions. */
  async function eraseTombstones(keys: readonly string[]): Promise<{ removed: number; live: number }> {
    let [removed, live] = [0, 0]
    for (let at = 0; at < keys.length; at += POSTS_PER_COMMAND) {
      const some = keys.slice(at, at + POSTS_PER_COMMAND)
      const posts = (await connection.send(some.map((key) => ({ name: 'getrange', args: [key, 0, 0] })))) as Buffer[]
      const deleted = some.filter((_, index) => posts[index]?.[0] === TOMBSTONE)
      live += posts.filter((post) => post.length > 0 && post[0] !== TOMBSTONE).length
      if (deleted.length > 0) removed += await unlinkKeys(connection, deleted)
    }
    return { removed, live }
  }

  return {
    async erase(viewer, ids) {
      const dirty = await dirtyOf(viewer)
      const { removed, live } = await eraseTombstones(await postKeysOf(viewer, ids, dirty))
      // The lists have newer posts.
      if (live > 0) return removed
      const lists = await unlinkKeys(connection, keysOf(viewer))
      if (dirty.length > 0) await hot.dropDirty(dirty.map(unpackMember))
      return removed + lists + dirty.length
    },
    async count(viewer, ids) {
      const dirty = await dirtyOf(viewer)
      const posts = await postKeysOf(viewer, ids, dirty)
      return dirty.length + (await countKeys(connection, [...keysOf(viewer), ...posts]))
    },
  }
}

/** `entryBytes`: of the packed counters of a user. */
export function openCounterTraces(connection: Connection, entryBytes: number, { prefix, regions }: RedisTracesOptions): Traces {
  const layout = makeCounterLayout(prefix, regions)

  /** A growing number of blocks moves the entry: then the script asks for the call again. */
  async function run(viewer: ViewerId, isRemoval: boolean): Promise<number> {
    const region = layout.regionOf(viewer)
    const oid = packedOid(viewer)
    for (;;) {
      const [known] = await connection.send([{ name: 'hget', args: [layout.size(region, USERS), 'blocks'] }])
      const blocks = known === null ? 1 : Number((known as Buffer).toString())
      const keys = [
        layout.size(region, USERS),
        layout.overflow(region, USERS),
        layout.dirty(region),
        layout.versions(region),
        layout.block(region, USERS, blockOf(hashOf(oid), blocks)),
      ]
      const args = [blocks, entryBytes, oid, packGroup(viewer, USERS), isRemoval ? 1 : 0]
      const [found] = await connection.send([scriptCommand(REMOVE_COUNTER, keys, args)])
      if (Number(found) >= 0) return Number(found)
    }
  }

  return { erase: (viewer) => run(viewer, true), count: (viewer) => run(viewer, false) }
}
