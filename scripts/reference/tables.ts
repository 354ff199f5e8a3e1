/** The tables of the record store as the migrations create them, with the meaning of each column. */
import { readMigrations, statementsOf } from '../../stores/mysql/schema-version.ts'
import { code, refuseUnused, table } from './page.ts'

type Column = { name: string; type: string }
export type CreatedTable = { name: string; columns: Column[]; primaryKey: string; indexes: string[] }

const FILE = 'scripts/reference/tables.ts'

const VIEWER = 'Packed id of the viewer.'
const BUSINESS = 'Number of the business.'
const OID = 'Packed id of the subject.'
const POST_ID = 'Id of the post, 8 bytes, big endian.'
const EPOCH = 'in milliseconds since the epoch'

type Words = { purpose: string; columns: Readonly<Record<string, string>> }

const TABLES: Readonly<Record<string, Words>> = {
  history: {
    purpose: 'One row per viewer and subject: the progress, or the tombstone of a deletion.',
    columns: {
      viewer: VIEWER,
      business: BUSINESS,
      oid: OID,
      viewed_at: `Time of the newest visit, ${EPOCH}. Of a tombstone: time of the deletion.`,
      since: `The newest deletion or clearing that the row survived, ${EPOCH}. A visit at or before it is void.`,
      resume_rank: 'Order of resume points: a higher rank wins.',
      version: 'Version of the hot store: a higher version is newer.',
      deleted: '1 for a tombstone.',
      resume: 'The resume point, as `Progress` of [records.proto](../../schema/records.proto).',
      written_hour: 'Hour of the version. The purge finds expired rows by it.',
    },
  },
  viewer_settings: {
    purpose: "A viewer's settings: one row with business 0, and one row per business that the viewer cleared.",
    columns: {
      viewer: VIEWER,
      business: 'Number of the business, or 0.',
      paused: '1 while the history of the viewer is paused.',
      cleared_at: `Everything viewed at or before this time is cleared, ${EPOCH}.`,
      version: 'A higher version is newer.',
    },
  },
  deployment: {
    purpose: 'One row: values that never change during the life of a deployment.',
    columns: { id: 'Always 1.', regions: 'The value of `stores.regions`.' },
  },
  schema_version: {
    purpose: 'One row per applied migration.',
    columns: { version: 'Number of the migration.', applied_at: `Time of the migration, ${EPOCH}.` },
  },
  schema_support: {
    purpose: 'One row: which programs may use the schema.',
    columns: { id: 'Always 1.', oldest: 'The schema version of the oldest program that may use this schema.' },
  },
  likes: {
    purpose: 'One row per viewer and subject: the mark, or the tombstone of an undone mark.',
    columns: {
      business: BUSINESS,
      viewer: VIEWER,
      oid: OID,
      mark: '0 NONE, 1 LIKE, 2 DISLIKE.',
      marked_at: `Time of the mark, ${EPOCH}.`,
      version: 'A higher version is newer.',
      covers: 'The mark that the archive still has for this key. This row hides it.',
      marked_hour: 'Hour of `marked_at`. The archive and the purge find old rows by it.',
    },
  },
  counts: {
    purpose: 'One row per subject: its counts, and its owner if the owner was registered.',
    columns: {
      business: BUSINESS,
      oid: OID,
      likes: 'Likes of the subject, archived ones included.',
      dislikes: 'Dislikes of the subject, archived ones included.',
      version: 'Number of transactions that changed the row. 0 if only the owner is known.',
      owner: 'Packed id of the owner.',
    },
  },
  owners: {
    purpose: 'One row per owner: the likes that the subjects of the owner received.',
    columns: { business: BUSINESS, owner: 'Packed id of the owner.', likes: 'Likes received.', version: 'A higher version is newer.' },
  },
  offsets: {
    purpose: 'One row per partition of a stream: how far it is persisted.',
    columns: {
      stream: 'Name of the topic, or of the embedded log.',
      stream_partition: 'Number of the partition.',
      persisted: 'Offset up to which the messages are persisted.',
    },
  },
  outbox: {
    purpose: 'Changes of a transaction whose events may not be in the log yet.',
    columns: { number: 'Number of the entry.', part: 'Number of the part. A large entry has several.', changes: 'The changes, as JSON.' },
  },
  mark_blocks: {
    purpose: 'The archive of marks: compact blocks in the order of pages.',
    columns: {
      business: BUSINESS,
      side: '0: marks of a viewer. 1: marks of a subject.',
      id: 'Packed id of the viewer or of the subject.',
      oldest_at: `Time of the oldest mark of the block, ${EPOCH}.`,
      oldest_id: 'The other id of that mark.',
      newest_at: `Time of the newest mark of the block, ${EPOCH}.`,
      likes: 'Likes in the block.',
      dislikes: 'Dislikes in the block.',
      block: 'The marks, compressed.',
    },
  },
  heartbeats: {
    purpose: 'One row per change feed: the beat that it waits for in the binary log, or in the topic of TiCDC.',
    columns: { feed: 'Name of the feed.', instance: 'The process that wrote the beat.', beat_at: `Time of the beat, ${EPOCH}.` },
  },
  feed_places: {
    purpose: 'One row per change feed: how far its changes are applied.',
    columns: { feed: 'Name of the feed.', place: 'GTIDs, or a file of the binary log and a position, as JSON.' },
  },
  seen_filters: {
    purpose: 'One row per viewer and month: the filter of the subjects that the viewer played.',
    columns: {
      viewer: VIEWER,
      month: 'Months since January 1970, UTC.',
      version: 'A higher version is newer.',
      expires_at: `Time at which the row is removed, ${EPOCH}.`,
      bytes: 'Length of the filter.',
      filter: 'The filter. NULL if it was quarantined.',
    },
  },
  seen_quarantine: {
    purpose: 'Filters that could not be read.',
    columns: {
      viewer: VIEWER,
      month: 'Months since January 1970, UTC.',
      version: 'Version of the damaged filter.',
      expires_at: `Time at which the row is removed, ${EPOCH}.`,
      reason: 'Why the filter could not be read.',
      filter: 'The bytes as they were found.',
    },
  },
  feed_posts: {
    purpose: 'One row per post, or the tombstone of a deleted post.',
    columns: {
      region: 'Region of the author: the low 14 bits of `id`.',
      id: POST_ID,
      author: 'Packed id of the author.',
      listed: '1 if the post is in the outbox of its author: public and not deleted.',
      version: 'A higher version is newer.',
      deleted: 'Version of the tombstone. NULL if the post is not deleted. The purge finds old tombstones by it.',
      post: 'The post, as `Post` of [records.proto](../../schema/records.proto).',
    },
  },
  feed_inbox: {
    purpose: 'One row per viewer and restricted post that the viewer may see.',
    columns: { viewer: VIEWER, id: POST_ID },
  },
  feed_words: {
    purpose: 'One row per viewer: the filter words.',
    columns: {
      viewer: VIEWER,
      version: 'A higher version is newer.',
      words: 'The words, as `FilterWords` of [records.proto](../../schema/records.proto).',
    },
  },
  feed_counts: {
    purpose: 'One row per counted subject: its absolute totals.',
    columns: {
      business: BUSINESS,
      oid: OID,
      version: 'Version of the hot store: the row with the higher version stays.',
      counts: 'JSON of the counters that are not 0.',
    },
  },
}

/** The tables that the migrations create. Their statements about the versions of the schema create none. */
function createdTables(): CreatedTable[] {
  const statements = readMigrations().flatMap(({ text }) => statementsOf(text))
  return statements.filter((statement) => !statement.startsWith('REPLACE INTO schema_support ')).map(createdTable)
}

export function tableBlocks(tables = createdTables()): string[] {
  const blocks = tables.flatMap(({ name, columns, primaryKey, indexes }) => {
    const words = TABLES[name]
    if (words === undefined) throw new Error(`the table "${name}" has no description: add one in ${FILE}`)
    const rows = columns.map((column) => {
      const meaning = words.columns[column.name]
      if (meaning === undefined) {
        throw new Error(`the column "${name}.${column.name}" has no description: add one in ${FILE}`)
      }
      return [code(column.name), code(column.type), meaning]
    })
    const described = Object.keys(words.columns).map((column) => `${name}.${column}`)
    refuseUnused(
      'column',
      described,
      columns.map((column) => `${name}.${column.name}`),
      FILE,
    )
    return [
      `### ${code(name)}`,
      words.purpose,
      table(['column', 'type', 'meaning'], rows),
      [`Primary key: ${code(primaryKey)}.`, ...indexes.map((index) => `Index: ${code(index)}.`)].join(' '),
    ]
  })
  refuseUnused(
    'table',
    Object.keys(TABLES),
    tables.map(({ name }) => name),
    FILE,
  )
  return blocks
}

/** Reads a CREATE TABLE statement. Throws for other statements: a migration that alters a table needs more code here. */
export function createdTable(statement: string): CreatedTable {
  const code = statement.replaceAll(/--.*$/gm, '').replaceAll(/\/\*.*?\*\//gs, '')
  const [, name, body] = /^\s*CREATE TABLE IF NOT EXISTS (\w+) \(\n(.*)\n\)/s.exec(code) ?? []
  if (name === undefined || body === undefined) {
    throw new Error(`${FILE} does not understand the statement "${statement.slice(0, 60)}"`)
  }
  const found: CreatedTable = { name, columns: [], primaryKey: '', indexes: [] }
  for (const line of body.split('\n').map((each) => each.trim().replace(/,$/, '').trim())) {
    const [, primaryKey] = /^PRIMARY KEY \((.*)\)/.exec(line) ?? []
    const [, index] = /^KEY \w+ \((.*)\)/.exec(line) ?? []
    const [, column = '', definition = ''] = /^(\w+) (.*)$/.exec(line) ?? []
    if (primaryKey !== undefined) found.primaryKey = primaryKey
    else if (index !== undefined) found.indexes.push(index)
    else {
      if (definition.endsWith(' PRIMARY KEY')) found.primaryKey = column
      found.columns.push({ name: column, type: typeOf(definition) })
    }
  }
  return found
}

/** The type alone, and NULL if the column takes it. */
function typeOf(definition: string): string {
  const [type = ''] = /^\w+(\(\d+\))?( UNSIGNED)?/.exec(definition) ?? []
  return / NOT NULL| GENERATED /.test(definition) ? type : `${type} NULL`
}
