/** The job's side of the store: dirty marks are listed, cleared and dropped. Each call may be repeated, since it refers to versions. */
import type { DirtyWalk } from '../../../../core/domain.ts'
import { scriptCommand, type Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import { countMembers, walkMembers, type SetPlaces } from '../../../../stores/redis/region-sets.ts'
import type { DirtyKey } from '../../model/dirty-keys.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import { packMember, unpackMember, type FeedLayout } from './keys.ts'
import type { makeFeedReading } from './read.ts'
import { SCRIPTS } from './scripts.ts'
import { decodeStoredPost, decodeStoredWords } from './values.ts'

/** So that a script blocks its server for less than a millisecond. */
const KEYS_PER_SCRIPT = 100
const BUSINESS = 0

export function makeFeedPersisting(connection: Connection, layout: FeedLayout, { getValues }: ReturnType<typeof makeFeedReading>) {
  const contentsKey = (region: number, { viewer, post }: DirtyKey): string =>
    post === undefined ? layout.words(region, viewer) : layout.post(region, post)
  const address = ({ viewer }: DirtyKey) => ({ viewer, business: BUSINESS })

  return {
    async readDirty(keys: readonly DirtyKey[]): Promise<(Post | FilterWords | undefined)[]> {
      const values = await getValues(
        keys.map((key) => {
          const region = layout.regionOf(key.viewer)
          return { region, key: contentsKey(region, key) }
        }),
      )
      return keys.map(({ post }, at) => {
        const value = values[at]
        if (!value) return undefined
        return post === undefined ? decodeStoredWords(value) : decodeStoredPost(post, value)
      })
    },

    async clearDirty(keys: readonly { key: DirtyKey; version: number }[]): Promise<void> {
      const batches = groupByRegion(keys, ({ key }) => address(key), layout.regionOf, KEYS_PER_SCRIPT)
      const commands = batches.map(({ region, items }) =>
        scriptCommand(
          SCRIPTS.clearDirty,
          [layout.dirty(region), ...items.map(({ item }) => contentsKey(region, item.key))],
          items.flatMap(({ item }) => [packMember(item.key), item.version]),
        ),
      )
      await connection.send(commands)
    },

    async dropDirty(keys: readonly DirtyKey[]): Promise<void> {
      const batches = groupByRegion(keys, address, layout.regionOf, KEYS_PER_SCRIPT)
      const commands = batches.map(({ region, items }) =>
        scriptCommand(
          SCRIPTS.dropDirty,
          [layout.dirty(region), ...items.map(({ item }) => contentsKey(region, item))],
          items.map(({ item }) => packMember(item)),
        ),
      )
      await connection.send(commands)
    },

    async listDirty(regions: readonly number[], dirtyBefore: number, limit: number, walk: DirtyWalk = {}): Promise<DirtyKey[]> {
      const places = (walk.place as SetPlaces | undefined) ?? new Map(regions.map((region) => [region, undefined]))
      const found = await walkMembers(connection, layout.dirty, places, dirtyBefore, limit)
      walk.place = found.places
      return found.members.map(unpackMember)
    },

    countDirty: (): Promise<number> => countMembers(connection, layout.dirty, layout.regions),
  }
}
