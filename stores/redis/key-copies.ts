/**
 * Copies of whole keys, for backups: the bytes of DUMP and the time of expiry. A key is copied at some moment of the scan. A scan finds
 * every key that is there from its beginning to its end.
 */
import type { RedisConnectionOptions } from './clients.ts'
import { connect, type Connection } from './connection.ts'
import { makeWalk } from './walking.ts'

/** `expiresAt`: milliseconds since the epoch, 0 = never. `bytes`: of DUMP, in base64. */
export type KeyCopy = { key: string; expiresAt: number; bytes: string }

export type KeysOptions = RedisConnectionOptions & { prefix: string }

const WITHOUT_LIMIT = Number.POSITIVE_INFINITY
/** Keys that any command leaves behind, and counts of rate limits. */
const TRIVIAL = /^(?:-meta|:(?:\w+:)*meta|:limit:.*)$/s

/** Calls `take` with the copies of the keys for which `isWanted` is true. `isWanted` gets the key without the prefix. */
export async function copyKeys(
  options: KeysOptions,
  isWanted: (name: string) => boolean,
  take: (copies: KeyCopy[]) => Promise<void>,
): Promise<void> {
  await connected(options, async (connection) => {
    await walkNames(connection, options.prefix, WITHOUT_LIMIT, async (names) => {
      const keys = names.filter(isWanted).map((name) => options.prefix + name)
      if (keys.length > 0) await take(await readCopies(connection, keys))
      return names.length
    })
  })
}

async function readCopies(connection: Connection, keys: readonly string[]): Promise<KeyCopy[]> {
  const answers = await connection.send(keys.flatMap((key) => ['dump', 'pexpiretime'].map((name) => ({ name, args: [key] }))))
  return keys.flatMap((key, at) => copyOf(key, answers[2 * at] as Buffer | null, Number(answers[2 * at + 1])) ?? [])
}

/**
 * The copy of a key by the answers of DUMP and PEXPIRETIME; undefined if the key expired before either command, or was removed. PEXPIRETIME
 * gives -1 for a key without expiry, and -2 for a missing key.
 */
export function copyOf(key: string, bytes: Buffer | null, expiryTime: number): KeyCopy | undefined {
  if (bytes === null || expiryTime === -2) return undefined
  return { key, expiresAt: Math.max(0, expiryTime), bytes: bytes.toString('base64') }
}

/** A copy that has expired is left out by Redis. */
export async function putKeys(options: KeysOptions, copies: readonly KeyCopy[]): Promise<void> {
  await connected(options, async (connection) => {
    await connection.send(
      copies.map(({ key, expiresAt, bytes }) => ({
        name: 'restore',
        args: [key, expiresAt, Buffer.from(bytes, 'base64'), 'REPLACE', 'ABSTTL'],
      })),
    )
  })
}

/** A key of this prefix; undefined if there is none but trivial ones. */
export async function findKey(options: KeysOptions): Promise<string | undefined> {
  let found: string | undefined
  await connected(options, (connection) =>
    walkNames(connection, options.prefix, 1, (names) => {
      const name = names.find((each) => !TRIVIAL.test(each))
      if (name !== undefined) found = options.prefix + name
      return Promise.resolve(name === undefined ? 0 : 1)
    }),
  )
  return found
}

/** The keys of a prefix without it. Another prefix may begin with this one. */
function walkNames(connection: Connection, prefix: string, limit: number, take: (names: string[]) => Promise<number>): Promise<number> {
  // A hyphen between two characters would be a range.
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}[-{:]*`
  return makeWalk(connection)(pattern, limit, (keys) => take(keys.map((key) => key.slice(prefix.length))))
}

async function connected<T>(options: KeysOptions, act: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = connect(options)
  try {
    return await act(connection)
  } finally {
    connection.close()
  }
}
