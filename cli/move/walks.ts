/**
 * The walks of an export: each reads the rows of one kind from the stores, a page at a time, and can be continued after a page.
 *
 * Changes that no job has persisted yet are only in the hot stores. They are read first: a dirty mark is cleared after its row is in the
 * record store, so a change that leaves the first walk is in the second one. A row may then be in both. An import keeps the newer one.
 *
 * A walk beside a running service is no snapshot: each row is as it was at some moment of the export. Changes after the begin of the export
 * may be missing.
 */
import type { BusinessConfig } from '../../config/config.ts'
import { FOLLOW_BUSINESS, postBusinessOf } from '../../config/feed.ts'
import type { BusinessNumber, MarkKey, MarkPlace, MarkRecord, ProgressKey, ViewerSettings } from '../../core/domain.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import type { CountRow } from '../../subgraphs/feed/model/counts.ts'
import type { FilterKey } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { Row, RowOf } from './rows.ts'
import { sinceFilter } from './since.ts'
import { postRow, progressRow, settingsRow, wordsRow, type Source, type Walk } from './source.ts'
import { unpersistedWalks } from './unpersisted.ts'
import { stagedPlays } from './staged-plays.ts'

const PAGE_ROWS = 1_000

/** In the order of the kinds, unpersisted changes first. */
export function walksOf(source: Source): Walk[] {
  const { stores, selected, selection } = source
  const hasFeed = exportsFeed(source)
  const walks = [
    ...unpersistedWalks(source, hasFeed),
    settingsWalk(source),
    progressWalk(source),
    ...(selection.viewer === undefined ? selected.map((business) => ownerWalk(source, business)) : []),
    ...selected.map((business) => markWalk(source, business)),
    ...(hasFeed ? [followWalk(source)] : []),
    // A filter has the plays of all businesses.
    ...(selection.businesses === undefined ? [filterWalk(source)] : []),
    stagedPlays(source),
    ...(hasFeed ? [postWalk(source), wordsWalk(source)] : []),
    ...(selection.viewer === undefined && stores.feed !== undefined ? selected.map((business) => countWalk(source, business)) : []),
    ...(hasFeed ? [userCountWalk(source)] : []),
  ]
  return walks.map((walk) => sinceFilter(walk, selection.since))
}

/** Only what the record stores do not have yet. */
export function hotWalksOf(source: Source): Walk[] {
  return [...unpersistedWalks(source, exportsFeed(source)), stagedPlays(source)]
}

function exportsFeed({ stores, selected, config }: Source): boolean {
  const posts = postBusinessOf(config)
  return stores.feed !== undefined && posts !== undefined && selected.includes(posts)
}

/** Reads page after page until one is empty. `rowOf`: undefined for a row that is left out. */
function pagesOf<T, P>(
  read: (after: P | undefined, limit: number) => Promise<readonly T[]>,
  placeOf: (row: T) => P,
  rowOf: (row: T) => Row | undefined,
): Walk['pages'] {
  return async function* (from) {
    for (let after = from as P | undefined; ;) {
      const found = await read(after, PAGE_ROWS)
      const last = found.at(-1)
      if (last === undefined) return
      after = placeOf(last)
      const rows = found.flatMap((row) => rowOf(row) ?? [])
      yield { rows, after, leftOut: found.length - rows.length }
    }
  }
}

/** For data of one viewer, which is one page. */
function onePage<T>(read: () => Promise<readonly T[]>, rowOf: (row: T) => Row | undefined): Walk['pages'] {
  return async function* (from) {
    if (from !== undefined) return
    const found = await read()
    const rows = found.flatMap((row) => rowOf(row) ?? [])
    if (found.length > 0) yield { rows, after: true, leftOut: found.length - rows.length }
  }
}

function settingsWalk(source: Source): Walk {
  const { stores, selection } = source
  const { viewer } = selection
  const rowOf = (row: { viewer: string; settings: ViewerSettings }) => settingsRow(source, row.viewer, row.settings)
  if (viewer === undefined) {
    const pages = pagesOf(
      (after: string | undefined, limit) => stores.records.listAllSettings(after, limit),
      (row) => row.viewer,
      rowOf,
    )
    return { name: 'settings', kind: 'settings', pages }
  }
  const read = async () =>
    (await stores.records.getSettingsMany([viewer])).flatMap((settings) => (settings === undefined ? [] : [{ viewer, settings }]))
  return { name: 'settings', kind: 'settings', pages: onePage(read, rowOf) }
}

function progressWalk(source: Source): Walk {
  const read = (after: ProgressKey | undefined, limit: number) =>
    source.stores.records.listAllProgress(after, limit, source.selection.viewer)
  return {
    name: 'progress',
    kind: 'progress',
    pages: pagesOf(
      read,
      ({ key }) => key,
      ({ key, record }) => progressRow(source, key, record),
    ),
  }
}

function recordsOf({ stores }: Source, business: BusinessNumber) {
  return (stores.tenants.get(business) ?? stores.marks).records
}

function ownerWalk(source: Source, { number, name }: BusinessConfig): Walk {
  const read = (after: string | undefined, limit: number) => recordsOf(source, number).listRegistrations(number, after, limit)
  const pages = pagesOf(
    read,
    ({ oid }) => oid,
    ({ oid, owner }) => ({ business: name, id: oid, owner }),
  )
  return { name: `owner ${name}`, kind: 'owner', pages }
}

function markWalk(source: Source, { number, name }: BusinessConfig): Walk {
  const rowOf = ({ viewer, oid }: MarkKey, { mark, markedAt, version }: MarkRecord): RowOf<'mark'> => ({
    viewer,
    business: name,
    id: oid,
    mark,
    markedAt,
    version,
  })
  return { name: `mark ${name}`, kind: 'mark', pages: marksOf(source, number, rowOf) }
}

function followWalk(source: Source): Walk {
  const rowOf = ({ viewer, oid }: MarkKey, { markedAt, version }: MarkRecord): RowOf<'follow'> => ({
    viewer,
    id: oid,
    mark: 'LIKE',
    markedAt,
    version,
  })
  return { name: 'follow', kind: 'follow', pages: marksOf(source, FOLLOW_BUSINESS, rowOf) }
}

function marksOf(source: Source, business: BusinessNumber, rowOf: (key: MarkKey, record: MarkRecord) => Row): Walk['pages'] {
  const records = recordsOf(source, business)
  const { viewer } = source.selection
  if (viewer === undefined) {
    const read = (after: MarkKey | undefined, limit: number) => records.exportMarks(business, after, limit)
    return pagesOf(
      read,
      ({ key }) => key,
      ({ key, record }) => rowOf(key, record),
    )
  }
  const read = (after: MarkPlace | undefined, limit: number) => records.listMarks(viewer, business, ['LIKE', 'DISLIKE'], after, limit)
  return pagesOf(
    read,
    ({ oid, markedAt }) => ({ id: oid, markedAt }),
    ({ oid, ...record }) => rowOf({ viewer, business, oid }, record),
  )
}

function filterWalk({ stores, selection }: Source): Walk {
  const read = (after: FilterKey | undefined, limit: number) => stores.seen.records.listAllFilters(after, limit, selection.viewer)
  const pages = pagesOf(
    read,
    ({ viewer, month }) => ({ viewer, month }),
    (row) => ({
      ...{ viewer: row.viewer, month: row.month, expiresAt: row.expiresAt },
      filter: row.filter.toString('base64'),
    }),
  )
  return { name: 'filter', kind: 'filter', pages }
}

function postWalk({ stores, selection }: Source): Walk {
  const read = (after: string | undefined, limit: number) =>
    stores.feed?.records.listPosts(after, limit, selection.viewer) ?? Promise.resolve([])
  return { name: 'post', kind: 'post', pages: pagesOf(read, ({ id }) => id, postRow) }
}

function wordsWalk({ stores, selection }: Source): Walk {
  const { viewer } = selection
  const records = stores.feed?.records
  type Words = { viewer: string; words: { words: readonly string[]; version: number } }
  const rowOf = ({ viewer: owner, words }: Words) => wordsRow(owner, words)
  if (viewer === undefined) {
    const pages = pagesOf(
      (after: string | undefined, limit) => records?.listWords(after, limit) ?? Promise.resolve([]),
      (row: Words) => row.viewer,
      rowOf,
    )
    return { name: 'words', kind: 'words', pages }
  }
  const read = async () =>
    ((await records?.getWordsMany([viewer])) ?? []).flatMap((words) => (words === undefined ? [] : [{ viewer, words }]))
  return { name: 'words', kind: 'words', pages: onePage(read, rowOf) }
}

function countWalk({ stores }: Source, { number, name }: BusinessConfig): Walk {
  const read = (after: string | undefined, limit: number) =>
    stores.feed?.counters.records.listTotals(number, after, limit) ?? Promise.resolve([])
  const rowOf = ({ subject, counts, version }: CountRow): RowOf<'count'> => ({
    business: name,
    id: subject.oid,
    counts: { ...counts },
    version,
  })
  return { name: `count ${name}`, kind: 'count', pages: pagesOf(read, ({ subject }) => subject.oid, rowOf) }
}

function userCountWalk({ stores, selection }: Source): Walk {
  const { viewer } = selection
  const records = stores.feed?.counters.records
  const rowOf = ({ subject, counts, version }: CountRow): RowOf<'user-count'> => ({ id: subject.oid, counts: { ...counts }, version })
  if (viewer === undefined) {
    const read = (after: string | undefined, limit: number) => records?.listTotals(USERS, after, limit) ?? Promise.resolve([])
    return { name: 'user-count', kind: 'user-count', pages: pagesOf(read, ({ subject }) => subject.oid, rowOf) }
  }
  const subject = { business: USERS, oid: viewer }
  const read = async () =>
    ((await records?.getTotalsMany([subject])) ?? []).flatMap((total) => (total === undefined ? [] : [{ subject, ...total }]))
  return { name: 'user-count', kind: 'user-count', pages: onePage(read, rowOf) }
}
