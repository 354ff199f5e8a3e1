/** The checks of `tidemark doctor` for MySQL, MariaDB and TiDB: version, schema, durability and limits, each with the fix. */
import { type Clock, systemClock } from '../../core/clock.ts'
import type { StoreFindingName } from '../../config/store-findings.ts'
import type { Database } from './database.ts'
import { codeSchemaVersion, storedSchemaVersion } from './schema-version.ts'
import { SELECT_FACTS, SHOW_GRANTS, SHOW_VARIABLES } from './statements.ts'
import { binlogObstacle, readBinlogFacts } from './binlog-facts.ts'

/** Maps each check to the name of its finding. */
export const MYSQL_FINDINGS = {
  version: 'mysql-version',
  schema: 'mysql-schema',
  durability: 'mysql-durability',
  'binary log': 'mysql-binlog',
  'change feed': 'mysql-feed',
  sql_mode: 'mysql-sql-mode',
  read_only: 'mysql-read-only',
  packet: 'mysql-packet',
  clock: 'mysql-clock',
} as const satisfies Record<string, StoreFindingName>

export type MysqlFinding = {
  /** `wrong`: does not work or loses data. `doubtful`: works, but should be checked. */
  level: 'good' | 'doubtful' | 'wrong'
  /** The subject of the check, in one or two words. */
  subject: keyof typeof MYSQL_FINDINGS
  /** The finding. Unless it is good, also the fix. */
  sentence: string
}

const SKEW_MAX_MS = 1_000
/** The largest filter, 3 MiB, is written as 6 MiB of hexadecimal digits. Batches of rows are much smaller. */
const PACKET_BYTES_MIN = 8_388_608

/**
 * Rejects with the code of the failure if the server does not answer. `followsBinlog`: the configuration has `thumbup.changes.feed:
 * binlog`; otherwise the binary log need not be readable.
 */
export async function checkMysql(database: Database, clock: Clock = systemClock, followsBinlog = true): Promise<MysqlFinding[]> {
  const askedAt = clock.now()
  const [facts] = (await database.send(SELECT_FACTS)).rows
  const tookMs = clock.now() - askedAt
  const [version, sqlMode, serverSeconds] = [String(facts?.[0]), String(facts?.[1]), Number(facts?.[2])]
  const variables = new Map((await database.send(SHOW_VARIABLES)).rows.map((row) => [String(row[0]), String(row[1])]))
  return [
    versionFinding(version),
    schemaFinding(await storedSchemaVersion(database)),
    durabilityFinding(variables.get('innodb_flush_log_at_trx_commit')),
    binlogFinding(variables),
    ...(followsBinlog ? [await feedFinding(database)] : []),
    finding(
      sqlMode.includes('STRICT'),
      'wrong',
      'sql_mode',
      `sql_mode is "${sqlMode}"`,
      'let the session set it: values that do not fit must be refused',
    ),
    finding(
      variables.get('read_only') !== 'ON',
      'wrong',
      'read_only',
      `read_only is ${variables.get('read_only') ?? 'OFF'}`,
      'point the url at the primary',
    ),
    packetFinding(Number(variables.get('max_allowed_packet') ?? Infinity)),
    skewFinding(serverSeconds * 1_000 - askedAt, tookMs),
  ]
}

function finding(
  good: boolean,
  otherwise: 'doubtful' | 'wrong',
  subject: MysqlFinding['subject'],
  found: string,
  advice: string,
): MysqlFinding {
  return good ? { level: 'good', subject, sentence: found } : { level: otherwise, subject, sentence: `${found}: ${advice}` }
}

/** MariaDB has descending indexes since 10.8, and tests run 10.11. TiDB reports itself as a MySQL. */
export function versionFinding(version: string): MysqlFinding {
  const tidb = /TiDB-v(\d+\.\d+)/.exec(version)?.[1]
  if (tidb !== undefined) return leastVersion('TiDB', version, tidb, [6, 5])
  if (/MariaDB/i.test(version)) return leastVersion('MariaDB', version, version, [10, 11])
  return leastVersion('MySQL', version, version, [8, 0])
}

function leastVersion(name: string, version: string, numbers: string, [leastMajor, leastMinor]: [number, number]): MysqlFinding {
  const [major = 0, minor = 0] = numbers.split('.').map((part) => Number.parseInt(part, 10))
  const enough = major > leastMajor || (major === leastMajor && minor >= leastMinor)
  return finding(enough, 'wrong', 'version', `the server is ${name} ${version}`, `use ${name} ${leastMajor}.${leastMinor} or later`)
}

function schemaFinding(stored: number | undefined): MysqlFinding {
  const wanted = codeSchemaVersion()
  const found = stored === undefined ? 'there is no schema' : `the schema has version ${stored}`
  const advice = (stored ?? 0) > wanted ? `this program knows ${wanted}: run the newer Tidemark that migrated it` : 'run `tidemark migrate`'
  return finding(stored === wanted, 'wrong', 'schema', found, advice)
}

function durabilityFinding(value: string | undefined): MysqlFinding {
  const found = `innodb_flush_log_at_trx_commit is ${value ?? 'not known to this server'}`
  return finding(value === undefined || value === '1', 'wrong', 'durability', found, 'set it to 1, or a crash loses what was acknowledged')
}

/** MySQL and MariaDB refuse READ COMMITTED if the binary log is statement-based. */
function binlogFinding(variables: ReadonlyMap<string, string>): MysqlFinding {
  const [log, format, synced] = [
    variables.get('log_bin') ?? 'OFF',
    variables.get('binlog_format') ?? 'ROW',
    variables.get('sync_binlog') ?? '1',
  ]
  if (log !== 'ON') return { level: 'good', subject: 'binary log', sentence: 'the server writes no binary log' }
  if (format === 'STATEMENT')
    return finding(false, 'wrong', 'binary log', 'binlog_format is STATEMENT', 'set it to ROW or MIXED, or no write is accepted')
  return finding(
    synced !== '0',
    'doubtful',
    'binary log',
    `binlog_format is ${format}, sync_binlog ${synced}`,
    'set sync_binlog to 1, or replicas may differ after a crash',
  )
}

const MAY_REPLICATE = /GRANT ALL PRIVILEGES ON \*\.\*|REPLICATION SLAVE/i

/** Without a binary log, the service follows its own events, so this is never wrong. */
async function feedFinding(database: Database): Promise<MysqlFinding> {
  const subject = 'change feed'
  const obstacle = binlogObstacle(await readBinlogFacts(database))
  if (obstacle !== undefined) return { level: 'good', subject, sentence: `of events only: ${obstacle}` }
  const grants = (await database.send(SHOW_GRANTS)).rows.map((row) => String(row[0])).join('\n')
  const found = MAY_REPLICATE.test(grants) ? 'the binary log can be followed' : 'this account lacks the right REPLICATION SLAVE'
  return finding(
    MAY_REPLICATE.test(grants),
    'doubtful',
    subject,
    found,
    'GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* to it, or set feed to events',
  )
}

function packetFinding(bytes: number): MysqlFinding {
  return finding(
    bytes >= PACKET_BYTES_MIN,
    'wrong',
    'packet',
    `max_allowed_packet is ${bytes}`,
    `set it to ${PACKET_BYTES_MIN} or more, so that the largest filter of a viewer fits`,
  )
}

/** No stored value depends on the server's clock, but other clocks may be wrong too. */
function skewFinding(aheadMs: number, tookMs: number): MysqlFinding {
  const off = Math.max(0, Math.abs(aheadMs - tookMs / 2) - tookMs / 2)
  const found = `the server's clock is off by ${Math.round(off)} ms`
  return finding(off <= SKEW_MAX_MS, 'doubtful', 'clock', found, 'synchronize the clocks of all machines (NTP)')
}
