/** Statements about the server, its sessions and the version of the schema, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. */
import { numberLiteral } from './literals.ts'

/** For every connection. The lock wait is shorter than the statement timeout. READ COMMITTED takes no gap locks. */
export const SESSION = [
  `SET SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION innodb_lock_wait_timeout = 5`,
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
]

export const PING = 'SELECT 1'

export const SELECT_SCHEMA_VERSION = 'SELECT COALESCE(MAX(version), 0) FROM schema_version'

/** The schema version of the oldest program that may use the schema. */
export const SELECT_OLDEST_PROGRAM = 'SELECT oldest FROM schema_support WHERE id = 1'

export const SELECT_REGIONS = 'SELECT regions FROM deployment WHERE id = 1'

export const TAKE_MIGRATION_LOCK = `SELECT GET_LOCK(LEFT(CONCAT('tidemark.', DATABASE()), 64), 30)`

export const GIVE_MIGRATION_LOCK = `SELECT RELEASE_LOCK(LEFT(CONCAT('tidemark.', DATABASE()), 64))`

/** The first process to start decides; IGNORE, because two may be first. */
export function insertRegions(regions: number): string {
  return `INSERT IGNORE INTO deployment (id, regions) VALUES (1, ${numberLiteral(regions)})`
}

export function insertSchemaVersion(version: number, appliedAt: number): string {
  return `INSERT INTO schema_version (version, applied_at) VALUES (${numberLiteral(version)}, ${numberLiteral(appliedAt)})`
}

export const SELECT_FACTS = 'SELECT VERSION(), @@SESSION.sql_mode, UNIX_TIMESTAMP(NOW(3))'

export const SHOW_GRANTS = 'SHOW GRANTS'

export const SHOW_VARIABLES = `SHOW VARIABLES WHERE Variable_name IN
('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'max_allowed_packet', 'read_only')`

export const BEGIN = 'BEGIN'

export const COMMIT = 'COMMIT'

export const ROLLBACK = 'ROLLBACK'

/** One snapshot for all reads until the commit, taken at once. The first statement affects only the next transaction. */
export const BEGIN_SNAPSHOT = ['SET TRANSACTION ISOLATION LEVEL REPEATABLE READ', 'START TRANSACTION WITH CONSISTENT SNAPSHOT']
