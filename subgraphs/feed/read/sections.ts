/**
 * Sections of lists. The list of an author's posts has three: the head (its newest ids), the outbox (more of them), and the rest, which is
 * read from the stores by index. An inbox has two: the newest ids together with the viewer's filter words, and the rest. A home feed needs
 * the newest id of every author (`newest-ids.ts`), and sections only of the authors whose posts can be on the page. The first sections are
 * cached.
 *
 * A load reads the hot store first and then the record store (`overlay.ts`). Its value is stamped with the newest change that it includes.
 * That is the version of the hot store's list, and at least the version that was noted when the load began, because a change is noted in the
 * same step that makes it.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Found, Stamped, TieredCache } from '../../../cache/tiered-cache.ts'
import { headKey, inboxKey, outboxKey } from '../model/cache-keys.ts'
import type { IdColumns } from '../packed/merge.ts'
import type { PostId } from '../packed/post-id.ts'
import { LACKS_HOT_STORE, LACKS_RECORD_STORE, encodeSection, isSection, lacksOf, type Section } from '../packed/section.ts'
import type { FeedHotStore, ListAsked, ListChanges } from '../stores/hot-store.ts'
import type { FeedRecords, ListPart } from '../stores/record-store.ts'
import type { VersionFloor } from './freshness.ts'
import { makeIdColumns, makeNewestIds, type NewestFigures } from './newest-ids.ts'
import { combine, horizonOf, readHot, readRecords } from './overlay.ts'
import { decodeInbox, encodeInbox, isInbox, noteLacks, stampOf, type Inbox } from './values.ts'

/** Ids of each section. */
export type SectionSizes = {
  /** The newest ids of an author's list: 256 bytes. A home feed reads as many of each author who can be on the page. */
  head: number
  /** The newest ids of the list in all, which are cached. */
  outbox: number
  /** The newest ids of an inbox, which are cached. */
  inbox: number
  /** Ids beyond these that are read at a time. */
  rest: number
}

const SIZES: SectionSizes = { head: 32, outbox: 500, inbox: 500, rest: 100 }

export type ReadStores = { hot: FeedHotStore; records: FeedRecords }

/** Of each author either the head or the newest id. */
export type NewestIdsOrHeads = IdColumns & { heads: (Buffer | undefined)[] }

export type Sections = {
  /** In order. Heads are read if this process does not know the newest id of an author. While the hot store is down, all are read. */
  newestIds(authors: readonly ViewerId[], floorOf: VersionFloor, degraded: Degraded): Promise<NewestIdsOrHeads>
  /** The newest ids of each author's list, in order: the bytes of sections. */
  heads(authors: readonly ViewerId[], floorOf: VersionFloor, degraded: Degraded): Promise<Buffer[]>
  /** More of them. */
  outboxes(authors: readonly ViewerId[], floorOf: VersionFloor, degraded: Degraded): Promise<Buffer[]>
  /** Ids below one, from the stores. */
  restOfOutboxes(authors: readonly ViewerId[], before: PostId, degraded: Degraded): Promise<Section[]>
  /** `version`: it includes the changes of the inbox up to this tick. -1 if a store was down. */
  inbox(viewer: ViewerId, floorOf: VersionFloor, degraded: Degraded): Promise<Inbox & { version: number }>
  restOfInbox(viewer: ViewerId, before: PostId, degraded: Degraded): Promise<Section>
  figures(): NewestFigures
}

type ListReads = {
  changes(owners: readonly ViewerId[], part: ListAsked): Promise<ListChanges[]>
  parts(owners: readonly ViewerId[], before: PostId | undefined, limit: number): Promise<ListPart[]>
}

type Combined = { section: Section; version: number }

/** `keepMs`: the hot store has all changes of this time. */
export function makeSections(
  { hot, records }: ReadStores,
  cache: TieredCache,
  clock: Clock,
  keepMs: number,
  sizes: SectionSizes = SIZES,
): Sections {
  const posts: ListReads = { changes: hot.getOutboxMany, parts: records.listOutboxMany }
  const known = makeNewestIds(clock)
  const inboxes: ListReads = { changes: hot.getInboxMany, parts: records.listInboxMany }

  async function readBoth(reads: ListReads, owners: readonly ViewerId[], before: PostId | undefined, limit: number): Promise<Combined[]> {
    const horizon = horizonOf(clock.now(), keepMs)
    const changes = await readHot(
      owners.map((viewer) => ({ viewer })),
      (some) =>
        reads.changes(
          some.map(({ viewer }) => viewer),
          { before, limit },
        ),
    )
    const parts = await readRecords(owners.length, () => reads.parts(owners, before, limit))
    return owners.map((_, at) => ({
      section: combine(changes[at], parts[at], { before, limit, horizon }),
      version: changes[at]?.version ?? 0,
    }))
  }

  async function cached(keys: readonly string[], limit: number, floorOf: VersionFloor, degraded: Degraded): Promise<Found[]> {
    const load = async (missing: readonly string[]): Promise<Stamped[]> => {
      const floors = missing.map(floorOf)
      const owners = missing.map((key) => key.slice(1))
      const loaded = await readBoth(posts, owners, undefined, limit)
      return loaded.map(({ section, version }, at) => ({
        value: encodeSection(section),
        version: stampOf(section.lacks, version, floors[at] as number),
      }))
    }
    const values = (await cache.getMany(keys, load, floorOf, (_, value) => isSection(value))) as Found[]
    for (const { value } of values) noteLacks(lacksOf(value), degraded)
    return values
  }

  async function loadInbox(key: string, floorOf: VersionFloor): Promise<Stamped> {
    const floor = floorOf(key)
    const viewer = key.slice(1)
    const [{ section, version }] = (await readBoth(inboxes, [viewer], undefined, sizes.inbox)) as [Combined]
    // Read after the version of the list, so the words are never older than the version says.
    const [hotWords] = await readHot([{ viewer }], async () => [(await hot.getWords(viewer)) ?? null])
    const [stored] = hotWords ? [] : await readRecords(1, async () => [(await records.getWordsMany([viewer]))[0] ?? null])
    const hotLacks = hotWords === undefined ? LACKS_HOT_STORE : 0
    const lacks = section.lacks | hotLacks | (!hotWords && stored === undefined ? LACKS_RECORD_STORE : 0)
    const words = hotWords ?? stored ?? { words: [], version: 0 }
    return { value: encodeInbox({ section: encodeSection({ ...section, lacks }), words }), version: stampOf(lacks, version, floor) }
  }

  async function readHeads(keys: readonly string[], floorOf: VersionFloor, degraded: Degraded): Promise<Buffer[]> {
    const found = await cached(keys, sizes.head, floorOf, degraded)
    found.forEach((head, at) => known.note(keys[at] as string, head))
    return found.map(({ value }) => value)
  }

  async function rest(reads: ListReads, owners: readonly ViewerId[], before: PostId, degraded: Degraded): Promise<Section[]> {
    const read = await readBoth(reads, owners, before, sizes.rest)
    for (const { section } of read) noteLacks(section.lacks, degraded)
    return read.map(({ section }) => section)
  }

  return {
    async newestIds(authors, floorOf, degraded) {
      const keys = authors.map(headKey)
      const ids = makeIdColumns(keys.length)
      const places = degraded.has('hotStore') ? [...keys.keys()] : known.lookUp(keys, floorOf, ids)
      const read = await readHeads(
        places.map((place) => keys[place] as string),
        floorOf,
        degraded,
      )
      const heads = keys.map((): Buffer | undefined => undefined)
      places.forEach((place, at) => (heads[place] = read[at]))
      return { ...ids, heads }
    },
    heads: (authors, floorOf, degraded) => readHeads(authors.map(headKey), floorOf, degraded),
    async outboxes(authors, floorOf, degraded) {
      const found = await cached(authors.map(outboxKey), sizes.outbox, floorOf, degraded)
      return found.map(({ value }) => value)
    },
    restOfOutboxes: (authors, before, degraded) => rest(posts, authors, before, degraded),
    async inbox(viewer, floorOf, degraded) {
      const load = (keys: readonly string[]) => Promise.all(keys.map((key) => loadInbox(key, floorOf)))
      const [stamped] = await cache.getMany([inboxKey(viewer)], load, floorOf, (_, value) => isInbox(value))
      const { value, version } = stamped as Stamped
      const inbox = decodeInbox(value)
      noteLacks(lacksOf(inbox.section), degraded)
      return { ...inbox, version }
    },
    restOfInbox: async (viewer, before, degraded) => (await rest(inboxes, [viewer], before, degraded))[0] as Section,
    figures: known.figures,
  }
}
