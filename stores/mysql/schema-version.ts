/**
 * The schema and its versions. Each file of `migrations/` is one version. `tidemark migrate` applies them in order under
 * a lock of the server, so two concurrent runs apply each version once.
 *
 * A program uses a schema that is newer than itself only if the schema says so: the table `schema_support` has the oldest
 * program that may use it. That is how the release before continues, and can be started again, after the migration.
 *
 * A DDL statement commits at once, so a migration can stop half-way. All its statements may be repeated, and its version
 * is written last. Running `tidemark migrate` again completes it.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import type { Database, Session } from './database.ts'
import { isMisconfigured, isMissingTable } from './failures.ts'
import {
  GIVE_MIGRATION_LOCK,
  SELECT_OLDEST_PROGRAM,
  SELECT_REGIONS,
  SELECT_SCHEMA_VERSION,
  TAKE_MIGRATION_LOCK,
  insertRegions,
  insertSchemaVersion,
} from './statements.ts'

export type Migration = { version: number; name: string; text: string }

const FOLDER = join(import.meta.dirname, 'migrations')
/** Adding an index to a large table may take hours. */
const MIGRATION_TIMEOUT_MS = 24 * 3_600_000

export function readMigrations(): Migration[] {
  const names = readdirSync(FOLDER).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
  return names.toSorted().map((name) => ({ version: Number(name.slice(0, 4)), name, text: readFileSync(join(FOLDER, name), 'utf8') }))
}

/** The statements of a migration, without comment lines. */
export function statementsOf(text: string): string[] {
  const code = text.replaceAll(/^--.*$/gm, '')
  return code.split(/;\s*$/m).flatMap((statement) => (statement.trim() === '' ? [] : [statement.trim()]))
}

export function codeSchemaVersion(): number {
  return readMigrations().at(-1)?.version ?? 0
}

/** The whole schema as SQL, for operators who apply it by other means, and for the parser of another database. */
export function printMigrations(): string {
  return readMigrations()
    .map(
      ({ version, name, text }) =>
        `-- ${name}\n${text.trim()}\nREPLACE INTO schema_version (version, applied_at) VALUES (${version}, UNIX_TIMESTAMP() * 1000);\n`,
    )
    .join('\n')
}

/**
 * Migrates the schema to this program's version. Returns the names of the applied migrations: none if the schema is newer and supports
 * this program. Throws DATA_INCOMPATIBLE if it is newer and does not, CONFIG_INVALID if the server rejects the credentials, RECORD_STORE_UNAVAILABLE if it does not answer.
 */
export function migrateMysql(database: Database, clock: Clock = systemClock): Promise<string[]> {
  return explainRefusal(() =>
    database.session(async (session) => {
      const lock = await session.send(TAKE_MIGRATION_LOCK, MIGRATION_TIMEOUT_MS)
      if (lock.rows[0]?.[0] !== 1) {
        throw new TidemarkError(
          'RECORD_STORE_UNAVAILABLE',
          `another \`tidemark migrate\` is at work on ${database.server}: wait until it has ended`,
        )
      }
      try {
        return await applyMissing(database, session, clock)
      } finally {
        // The lock ends with its connection anyway. A broken connection must not hide the original error.
        await session.send(GIVE_MIGRATION_LOCK).catch(() => undefined)
      }
    }),
  )
}

async function applyMissing(database: Database, session: Session, clock: Clock): Promise<string[]> {
  const stored = (await storedSchemaVersion(session)) ?? 0
  if (stored > codeSchemaVersion()) await requireSupport(database.server, session, stored)
  const missing = readMigrations().filter((migration) => migration.version > stored)
  for (const { version, text } of missing) {
    for (const statement of statementsOf(text)) await session.send(statement, MIGRATION_TIMEOUT_MS)
    await session.send(insertSchemaVersion(version, clock.now()))
  }
  return missing.map((migration) => migration.name)
}

/** Undefined if there is no schema. */
export async function storedSchemaVersion(session: Session): Promise<number | undefined> {
  try {
    return Number((await session.send(SELECT_SCHEMA_VERSION)).rows[0]?.[0])
  } catch (error) {
    if (isMissingTable(error)) return undefined
    throw error
  }
}

/**
 * Rejects unless the schema has this program's version, or a newer one that supports it, and the deployment this number of regions. The first process to check stores the
 * number. DATA_INCOMPATIBLE names the difference; CONFIG_INVALID means that the server rejects the credentials.
 */
export function checkSchema(database: Database, regions: number): Promise<void> {
  return explainRefusal(async () => {
    const stored = await storedSchemaVersion(database)
    const wanted = codeSchemaVersion()
    if (stored === undefined)
      throw new TidemarkError('DATA_INCOMPATIBLE', `${database.server} has no schema of Tidemark's: run \`tidemark migrate\``)
    if (stored > wanted) await requireSupport(database.server, database, stored)
    if (stored < wanted) {
      throw new TidemarkError(
        'DATA_INCOMPATIBLE',
        `the schema of ${database.server} has version ${stored}, this program needs ${wanted}: run \`tidemark migrate\``,
      )
    }
    if ((await database.send(SELECT_REGIONS)).rows.length === 0) await database.send(insertRegions(regions))
    const [row] = (await database.send(SELECT_REGIONS)).rows
    if (Number(row?.[0]) !== regions) {
      const sentence = `${database.server} belongs to a deployment of ${String(row?.[0])} regions, stores.regions is ${regions}`
      throw new TidemarkError('DATA_INCOMPATIBLE', `${sentence}: set it back, or use another database; it is fixed for a deployment's life`)
    }
  })
}

/** Throws unless a schema of this newer version supports this program. */
async function requireSupport(server: string, session: Session, stored: number): Promise<void> {
  const known = codeSchemaVersion()
  const oldest = await oldestProgram(session)
  if (oldest !== undefined && oldest <= known) return
  const needs = oldest === undefined ? '' : ` and programs from version ${oldest} on`
  const sentence = `the schema of ${server} has version ${stored}${needs}, this program knows ${known}`
  throw new TidemarkError('DATA_INCOMPATIBLE', `${sentence}: it was migrated by a newer Tidemark; run that, or use another database`)
}

/** Undefined if the schema does not say it. */
async function oldestProgram(session: Session): Promise<number | undefined> {
  try {
    const [row] = (await session.send(SELECT_OLDEST_PROGRAM)).rows
    return row === undefined ? undefined : Number(row[0])
  } catch (error) {
    if (isMissingTable(error)) return undefined
    throw error
  }
}

/** At a start, wrong credentials are a mistake to correct, not an outage to wait for. */
async function explainRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isTidemarkError(error) && isMisconfigured(error)) throw new TidemarkError('CONFIG_INVALID', error.message, { cause: error.cause })
    throw error
  }
}
