/**
 * Leaves out the rows that did not change since a version. The versions of an export are those of the hot stores: milliseconds since the
 * epoch times 1,024. Posts and filter words have another clock, and marks of the archive have none, so their rows are compared by the time. Owners, filters and staged plays have no version and are always complete.
 */
import { VERSIONS_PER_MS } from '../../core/version.ts'
import { POST_EPOCH_MS, TICKS_PER_MS } from '../../subgraphs/feed/packed/post-id.ts'
import type { Kind, Row, RowOf } from './rows.ts'
import type { Walk } from './source.ts'

export function sinceFilter(walk: Walk, since: number | undefined): Walk {
  if (since === undefined) return walk
  return {
    ...walk,
    async *pages(after) {
      for await (const page of walk.pages(after)) yield { ...page, rows: page.rows.filter((row) => changedAt(walk.kind, row) >= since) }
    },
  }
}

/** As a version of the hot stores. Infinity: unknown. */
export function changedAt(kind: Kind, row: Row): number {
  switch (kind) {
    case 'settings':
    case 'progress':
      return (row as RowOf<'progress'>).version
    case 'mark':
    case 'follow': {
      const { version, markedAt } = row as RowOf<'mark'>
      return Math.max(version, markedAt * VERSIONS_PER_MS)
    }
    case 'post':
    case 'words':
      return (POST_EPOCH_MS + (row as RowOf<'words'>).version / TICKS_PER_MS) * VERSIONS_PER_MS
    case 'count':
    case 'user-count': {
      // Totals that an import has counted have no time.
      const { version } = row as RowOf<'count'>
      return version < POST_EPOCH_MS * VERSIONS_PER_MS ? Infinity : version
    }
    default:
      return Infinity
  }
}
