/**
 * The traces of a viewer in the tables of the feed and of counters on MySQL: tombstones of posts, filter words, the inbox, totals. A post
 * leaves an inbox when the viewer leaves its audience, so the inbox is only counted.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import type { Traces } from '../../../../core/erasure/traces.ts'
import { unpackId } from '../../../../core/keys.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { idLiteral } from '../../../../stores/mysql/literals.ts'
import { countRows, type TracedRows } from '../../../../stores/mysql/traces.ts'
import { USERS } from '../../model/post-events.ts'
import type { FeedRecordTraces } from '../traces.ts'

export const FEED_ROWS: readonly TracedRows[] = [
  { table: 'feed_posts', condition: (viewer) => `author = ${viewer} AND deleted IS NOT NULL` },
  { table: 'feed_words', condition: (viewer) => `viewer = ${viewer}` },
]

/** Totals without those that are 0 are JSON. */
export const COUNTER_ROWS: readonly TracedRows[] = [
  { table: 'feed_counts', condition: (viewer) => `business = ${USERS} AND oid = ${viewer} AND counts = x'7b7d'` },
]

const ALL_ROWS: readonly TracedRows[] = [
  { table: 'feed_posts', condition: (viewer) => `author = ${viewer}` },
  { table: 'feed_words', condition: (viewer) => `viewer = ${viewer}` },
  { table: 'feed_inbox', condition: (viewer) => `viewer = ${viewer}` },
]

/** `rows`: the traces of FEED_ROWS. */
export function openFeedRecordTraces(database: Database, rows: Traces): FeedRecordTraces {
  return {
    erase: rows.erase,
    async count(viewer: ViewerId) {
      return (await database.send(countRows(ALL_ROWS, viewer))).rows.reduce((sum, [count]) => sum + Number(count), 0)
    },
    async listPostIds(author: ViewerId) {
      const { rows: found } = await database.send(`SELECT id FROM feed_posts WHERE author = ${idLiteral(author)}`)
      return found.map(([id]) => unpackId(id as Buffer, 0))
    },
  }
}
