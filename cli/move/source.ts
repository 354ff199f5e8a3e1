/** The stores of an export, the selection, and the rows of their records. */
import type { BusinessConfig, Config } from '../../config/config.ts'
import { makeBusinesses, type Businesses } from '../../config/businesses.ts'
import type { BusinessNumber, ProgressKey, ProgressRecord, ViewerSettings } from '../../core/domain.ts'
import type { Post } from '../../subgraphs/feed/model/post.ts'
import type { OpenStores } from '../stores/history.ts'
import type { Selection } from './folder.ts'
import type { Kind, Row, RowOf } from './rows.ts'

/** `leftOut`: rows of businesses that are not configured. */
export type Page = { rows: Row[]; after: unknown; leftOut: number }
/** `pages` continues behind `after`, the value of a page; undefined: from the beginning. */
export type Walk = { name: string; kind: Kind; pages(after: unknown): AsyncGenerator<Page> }

export type Source = {
  stores: OpenStores
  config: Config
  businesses: Businesses<BusinessConfig>
  /** The selected businesses. */
  selected: readonly BusinessConfig[]
  selection: Selection
  now: number
}

export function sourceOf(stores: OpenStores, config: Config, selection: Selection, now: number): Source {
  const businesses = makeBusinesses(config.businesses)
  const selected = selection.businesses === undefined ? businesses.all : selection.businesses.map((name) => businesses.byName(name))
  return { stores, config, businesses, selected, selection, now }
}

/** Undefined if the business is not configured or not selected. */
export function selectedName({ businesses, selected }: Source, number: BusinessNumber): string | undefined {
  const business = businesses.byNumber(number)
  return business !== undefined && selected.includes(business) ? business.name : undefined
}

export function settingsRow({ businesses, selected }: Source, viewer: string, settings: ViewerSettings): RowOf<'settings'> {
  const clearedAt: Record<string, number> = {}
  for (const [number, moment] of Object.entries(settings.clearedAt)) {
    const business = businesses.byNumber(Number(number))
    if (business !== undefined && selected.includes(business)) clearedAt[business.name] = moment
  }
  return { viewer, paused: settings.paused, clearedAt, version: settings.version }
}

export function progressRow(source: Source, { viewer, business, oid }: ProgressKey, record: ProgressRecord): RowOf<'progress'> | undefined {
  const name = selectedName(source, business)
  return name === undefined ? undefined : { viewer, business: name, id: oid, ...record }
}

export function postRow({ media, audience, ...post }: Post): RowOf<'post'> {
  return { ...post, media: [...media], audience: audience && [...audience] }
}

export function wordsRow(viewer: string, { words, version }: { words: readonly string[]; version: number }): RowOf<'words'> {
  return { viewer, words: [...words], version }
}
