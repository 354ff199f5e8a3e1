/**
 * The changes that only the hot stores have, as rows of an export. Each walk reads the dirty keys of a region and their contents. It cannot
 * be continued: an interrupted walk begins again, and rows may be exported twice. `undefined` is a row of a business that is left out.
 */
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import type { BusinessNumber, Subject, ViewerId } from '../../core/domain.ts'
import { isSettingsKey } from '../../core/progress-key.ts'
import { regionOf } from '../../core/regions.ts'
import { chunked } from '../../stores/chunks.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import type { Post } from '../../subgraphs/feed/model/post.ts'
import type { MarkStores } from '../../subgraphs/thumbup/stores/guarded.ts'
import type { Row } from './rows.ts'
import { postRow, progressRow, selectedName, settingsRow, wordsRow, type Page, type Source, type Walk } from './source.ts'

const KEYS_AT_ONCE = 1_000
/** Dirty marks have the time of their process, whose clock may be ahead. */
const AHEAD_MS = 3_600_000

export function unpersistedWalks(source: Source, hasFeed: boolean): Walk[] {
  const { stores, selected } = source
  const ownStores = new Set([stores.marks, ...selected.flatMap(({ number }) => stores.tenants.get(number) ?? [])])
  return [
    walk('settings', () => dirtySettings(source)),
    walk('progress', () => dirtyProgress(source)),
    ...Array.from(ownStores, (own) => walk('mark', () => dirtyMarks(source, own))),
    ...(hasFeed
      ? [walk('follow', () => dirtyFollows(source)), walk('post', () => dirtyPosts(source)), walk('words', () => dirtyWords(source))]
      : []),
    ...(stores.feed === undefined || source.selection.viewer !== undefined ? [] : [walk('count', () => dirtyCounts(source))]),
    ...(hasFeed ? [walk('user-count', () => dirtyUserCounts(source))] : []),
  ].map((each, at) => ({ ...each, name: `unpersisted ${at} ${each.kind}` }))
}

type Found = (Row | undefined)[]

function walk(kind: Walk['kind'], read: () => AsyncGenerator<Found>): Walk {
  return {
    name: kind,
    kind,
    async *pages(): AsyncGenerator<Page> {
      for await (const found of read()) {
        const rows = found.filter((row) => row !== undefined)
        if (found.length > 0) yield { rows, after: undefined, leftOut: found.length - rows.length }
      }
    },
  }
}

function regionsOf({ config, selection }: Source): number[] {
  const { regions } = config.stores
  return selection.viewer === undefined ? Array.from({ length: regions }, (_, region) => region) : [regionOf(selection.viewer, regions)]
}

const isWanted = ({ selection }: Source, viewer: ViewerId): boolean => selection.viewer === undefined || selection.viewer === viewer

/** Keys of history, a region at a time. */
async function* dirtyKeys(source: Source, ofSettings: boolean) {
  const { hot } = source.stores
  for (const region of regionsOf(source)) {
    const keys = await hot.listDirty([region], source.now + AHEAD_MS, Number.MAX_SAFE_INTEGER)
    yield* chunked(
      keys.filter((key) => isSettingsKey(key) === ofSettings && isWanted(source, key.viewer)),
      KEYS_AT_ONCE,
    )
  }
}

async function* dirtySettings(source: Source): AsyncGenerator<Row[]> {
  for await (const keys of dirtyKeys(source, true)) {
    const settings = await source.stores.hot.readDirtySettings(keys.map(({ viewer }) => viewer))
    yield keys.flatMap(({ viewer }, at) => {
      const own = settings[at]
      return own === undefined || own.version === 0 ? [] : [settingsRow(source, viewer, own)]
    })
  }
}

async function* dirtyProgress(source: Source): AsyncGenerator<Found> {
  for await (const keys of dirtyKeys(source, false)) {
    const found = await source.stores.hot.readDirtyProgress(keys)
    yield found.flatMap(({ key, record }) => (record === undefined ? [] : [progressRow(source, key, record)]))
  }
}

async function* dirtyMarks(source: Source, { hot }: MarkStores): AsyncGenerator<Found> {
  for await (const found of markPages(source, hot)) {
    yield found.flatMap(({ key: { viewer, business, oid }, record }) => {
      if (record === undefined || business === FOLLOW_BUSINESS) return []
      const name = selectedName(source, business)
      return [name === undefined ? undefined : { viewer, business: name, id: oid, ...record }]
    })
  }
}

async function* dirtyFollows(source: Source): AsyncGenerator<Row[]> {
  for await (const found of markPages(source, source.stores.marks.hot)) {
    yield found.flatMap(({ key, record }) => {
      if (record === undefined || key.business !== FOLLOW_BUSINESS || record.mark === 'DISLIKE') return []
      return [{ viewer: key.viewer, id: key.oid, mark: record.mark, markedAt: record.markedAt, version: record.version }]
    })
  }
}

async function* markPages(source: Source, hot: MarkStores['hot']) {
  const place = {}
  const regions = regionsOf(source)
  for (;;) {
    const keys = await hot.listDirtyMarks(regions, source.now + AHEAD_MS, KEYS_AT_ONCE, place)
    if (keys.length === 0) return
    yield await hot.readDirtyMarks(keys.filter(({ viewer }) => isWanted(source, viewer)))
  }
}

async function* feedPages(source: Source) {
  const hot = source.stores.feed?.hot
  if (hot === undefined) return
  const place = {}
  const regions = regionsOf(source)
  for (;;) {
    const keys = await hot.listDirty(regions, source.now + AHEAD_MS, KEYS_AT_ONCE, place)
    if (keys.length === 0) return
    const wanted = keys.filter(({ viewer }) => isWanted(source, viewer))
    yield { keys: wanted, contents: await hot.readDirty(wanted) }
  }
}

async function* dirtyPosts(source: Source): AsyncGenerator<Row[]> {
  for await (const { contents } of feedPages(source))
    yield contents.flatMap((content) => (content !== undefined && 'author' in content ? [postRow(content satisfies Post)] : []))
}

async function* dirtyWords(source: Source): AsyncGenerator<Row[]> {
  for await (const { keys, contents } of feedPages(source)) {
    yield keys.flatMap(({ viewer }, at) => {
      const content = contents[at]
      return content !== undefined && 'words' in content ? [wordsRow(viewer, content)] : []
    })
  }
}

async function* dirtyCounts(source: Source): AsyncGenerator<Found> {
  for await (const rows of countPages(source, (business) => business !== USERS)) {
    yield rows.map(({ subject, counts, version }) => {
      const name = selectedName(source, subject.business)
      return name === undefined ? undefined : { business: name, id: subject.oid, counts: { ...counts }, version }
    })
  }
}

async function* dirtyUserCounts(source: Source): AsyncGenerator<Row[]> {
  for await (const rows of countPages(source, (business) => business === USERS)) {
    yield rows
      .filter(({ subject }) => isWanted(source, subject.oid))
      .map(({ subject, counts, version }) => ({ id: subject.oid, counts: { ...counts }, version }))
  }
}

async function* countPages(source: Source, isOurs: (business: BusinessNumber) => boolean) {
  const hot = source.stores.feed?.counters.hot
  if (hot === undefined) return
  for (const region of regionsOf(source)) {
    const subjects = (await hot.listDirty([region], source.now + AHEAD_MS, Number.MAX_SAFE_INTEGER)).filter(({ business }) =>
      isOurs(business),
    )
    for (const some of chunked(subjects, KEYS_AT_ONCE)) {
      const found = await hot.readDirty(some)
      yield some.flatMap((subject: Subject, at) => {
        const { counts, version } = found[at] ?? {}
        return counts === undefined || version === undefined ? [] : [{ subject, counts, version }]
      })
    }
  }
}
