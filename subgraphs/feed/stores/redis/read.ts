/**
 * Reads of the feed's hot store. Posts are one MGET per region. Lists of a region are one script, because their parts must be of one moment.
 * Each page asks all regions for their noted changes, and most of them have none. On a single server, one script asks many regions: a command
 * of its own for each region costs a page more than its posts do.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { scriptCommand, type Command, type Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import { headKey, inboxKey } from '../../model/cache-keys.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import { isPostId, regionOfPost, type PostId } from '../../packed/post-id.ts'
import type { ListAsked, ListChanges, RegionChanges } from '../hot-store.ts'
import { CLOCK, FORGOTTEN, packPostId, type FeedLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { decodeList, decodeStoredPost, decodeStoredWords } from './values.ts'
import { chunked } from '../../../../stores/chunks.ts'

/** So that a command blocks its server for less than a millisecond. */
const LISTS_PER_SCRIPT = 25
const POSTS_PER_COMMAND = 100
const CHANGES_PER_SCRIPT = 1_000
const REGIONS_PER_SCRIPT = 200
const BUSINESS = 0

type KeysOf = (region: number, viewer: ViewerId) => string
/** Lists of one kind: their keys. */
type Kind = { added: KeysOf; removed: KeysOf; cacheKey: (viewer: ViewerId) => string }
/** The number of regions that were read, then the place of a region, from 1, and its changes, alternating. */
type ChangesAnswer = [number, ...(number | Buffer[])[]]
type Gathered = { region: number; tick: number; changed: Map<string, number>; version: number; isPartial: boolean; isDone: boolean }

export function makeFeedReading(connection: Connection, layout: FeedLayout) {
  /** The stored values of keys, in order, by as few commands as there are regions. Undefined keys have none. */
  async function getValues(keys: readonly ({ region: number; key: string } | undefined)[]): Promise<(Buffer | null)[]> {
    const found: (Buffer | null)[] = keys.map(() => null)
    const batches: { args: string[]; indexes: number[] }[] = []
    const open = new Map<number, { args: string[]; indexes: number[] }>()
    for (const [index, asked] of keys.entries()) {
      if (asked === undefined) continue
      let batch = open.get(asked.region)
      if (batch === undefined || batch.args.length === POSTS_PER_COMMAND) {
        batch = { args: [], indexes: [] }
        open.set(asked.region, batch)
        batches.push(batch)
      }
      batch.args.push(asked.key)
      batch.indexes.push(index)
    }
    const answers = (await connection.send(batches.map(({ args }) => ({ name: 'mget', args })))) as (Buffer | null)[][]
    batches.forEach(({ indexes }, at) => indexes.forEach((index, place) => (found[index] = answers[at]?.[place] ?? null)))
    return found
  }

  async function getLists({ added, removed, cacheKey }: Kind, viewers: readonly ViewerId[], part: ListAsked | undefined) {
    const lists: ListChanges[] = Array.from({ length: viewers.length })
    const { limit = 0, before } = part ?? {}
    const asked = [limit, before === undefined ? '' : packPostId(before)]
    const batches = groupByRegion(viewers, (viewer) => ({ viewer, business: BUSINESS }), layout.regionOf, LISTS_PER_SCRIPT)
    const commands = batches.map(({ region, items }) => {
      const keys = items.flatMap(({ item }) => [added(region, item), removed(region, item)])
      return scriptCommand(SCRIPTS.getLists, [layout.changes(region), ...keys], [...asked, ...items.map(({ item }) => cacheKey(item))])
    })
    const answers = (await connection.send(commands)) as unknown[][]
    batches.forEach(({ items }, at) =>
      items.forEach(({ index }, place) => {
        const answer = (answers[at] as unknown[]).slice(place * 4, place * 4 + 4)
        const [ids, hasMore, gone, tick] = answer as [Buffer | null, number, Buffer[], Buffer | null]
        lists[index] = decodeList(ids, hasMore === 1, gone, tick)
      }),
    )
    return lists
  }

  const outboxes: Kind = { added: layout.outbox, removed: layout.deleted, cacheKey: headKey }
  const inboxes: Kind = { added: layout.inbox, removed: layout.recalled, cacheKey: inboxKey }

  const changesCommand = (some: readonly Gathered[]): Command =>
    scriptCommand(
      SCRIPTS.listChanges,
      some.map(({ region }) => layout.changes(region)),
      // From the last tick of a long answer on, since more keys may have it.
      [CHANGES_PER_SCRIPT, ...some.map(({ tick }) => tick)],
    )

  return {
    getValues,

    async getPostMany(ids: readonly PostId[]): Promise<(Post | undefined)[]> {
      const regions = ids.map((id) => (isPostId(id, layout.regions) ? regionOfPost(id) : undefined))
      const keys = ids.map((id, at) => {
        const region = regions[at]
        return region === undefined ? undefined : { region, key: layout.post(region, id) }
      })
      const values = await getValues(keys)
      return ids.map((id, at) => (values[at] ? decodeStoredPost(id, values[at]) : undefined))
    },

    getOutboxMany: (authors: readonly ViewerId[], part?: ListAsked): Promise<ListChanges[]> => getLists(outboxes, authors, part),
    getInboxMany: (viewers: readonly ViewerId[], part?: ListAsked): Promise<ListChanges[]> => getLists(inboxes, viewers, part),

    async getWords(viewer: ViewerId): Promise<FilterWords | undefined> {
      const region = layout.regionOf(viewer)
      const [value] = await getValues([{ region, key: layout.words(region, viewer) }])
      return value ? decodeStoredWords(value) : undefined
    },

    /** A long answer is read by several scripts. A key that changes in between moves to their end. */
    async listChanges(since: ReadonlyMap<number, number>): Promise<RegionChanges[]> {
      const all = Array.from(since, ([region, tick]): Gathered => {
        return { region, tick: tick + 1, changed: new Map(), version: tick, isPartial: false, isDone: false }
      })
      for (let open = all; open.length > 0; open = open.filter(({ isDone }) => !isDone)) {
        const parts = chunked(open, connection.isCluster ? 1 : REGIONS_PER_SCRIPT)
        const answers = (await connection.send(parts.map(changesCommand))) as ChangesAnswer[]
        parts.forEach((part, at) => takeAll(part, answers[at] as ChangesAnswer))
      }
      return all.flatMap(({ region, changed, version, isPartial }) => {
        const keys = Array.from(changed, ([key, tick]) => ({ key, version: tick }))
        return keys.length === 0 && !isPartial ? [] : [{ region, changed: keys, version, isPartial }]
      })
    },
  }
}

/** An answer of `list-changes.lua`. */
function takeAll(part: readonly Gathered[], [read, ...answers]: ChangesAnswer): void {
  let left = CHANGES_PER_SCRIPT
  for (let at = 0; at < answers.length; at += 2) {
    const [place, changes] = answers.slice(at, at + 2) as [number, Buffer[]]
    take(part[place - 1] as Gathered, changes)
    left -= changes.length / 2
  }
  const last = part[read - 1]
  for (const gathered of part.slice(0, read)) gathered.isDone = gathered !== last || left > 0
}

/** Members of the noted changes with their ticks, ascending. */
function take(gathered: Gathered, changes: readonly Buffer[]): void {
  for (let at = 0; at < changes.length; at += 2) {
    const [member, tick] = [String(changes[at]), Number(String(changes[at + 1]))]
    if (member === CLOCK) gathered.version = tick
    else if (member === FORGOTTEN) gathered.isPartial = true
    else gathered.changed.set(member, tick)
    gathered.tick = tick
  }
}
