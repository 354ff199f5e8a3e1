/**
 * A live value in Redis: one hash with the text as JSON and its version, a list of the last versions, and a shard channel with a notice of
 * each change. A notice may be lost, so followers also poll. While Redis is down the last value stays; when it is back, the next poll has
 * the newest one.
 */
import type { LiveSetting } from '../../config/live/live-setting.ts'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { followSource, VERSIONS_KEPT, type LiveSource, type LiveValue, type StoredVersion, type Versioned } from '../../core/live-value.ts'
import { databaseOf, type RedisConnectionOptions } from './clients.ts'
import { connect, scriptCommand, type Connection } from './connection.ts'
import { slotOf } from './region-tags.ts'
import { readScript } from './scripts.ts'
import { makeShardChannels } from './shard-channels.ts'

const CHANGE = readScript(new URL('./scripts/', import.meta.url), 'change-live-value')
const POLL_MS = 1_000

export type RedisValueOptions = RedisConnectionOptions & { prefix?: string }

/** Opens the value for reading and changing. Failures of Redis surface as HOT_STORE_UNAVAILABLE. */
export function openRedisValue<T>(setting: LiveSetting<T>, options: RedisValueOptions): LiveSource<T> & { close(): void } {
  const connection = connect(options)
  return { ...sourceOf(connection, setting, placeOf(setting.name, options)), close: () => connection.close() }
}

/**
 * Follows the value. Resolves after the first read, also if that failed: then `first` is the value until Redis answers. `report` gets one
 * sentence when the value cannot be read or is not valid, and again when the reason changes.
 */
export async function followRedisValue<T>(
  setting: LiveSetting<T>,
  first: T,
  options: RedisValueOptions & { /** Milliseconds between two polls. Default 1000. */ pollMs?: number },
  clock: Clock,
  report: (sentence: string) => void,
): Promise<LiveValue<T>> {
  const connection = connect(options)
  const place = placeOf(setting.name, options)
  const pollMs = options.pollMs ?? POLL_MS
  const live = followSource<T>({ name: setting.name, first: { value: first, version: 0 }, read, pollMs }, clock, report)
  // A failed subscription is repeated until it succeeds, and every gap ends with a read.
  const channels = makeShardChannels(
    connection,
    () => void live.wake(),
    () => void live.wake(),
  )

  async function read(current: Versioned<T>): Promise<Versioned<T> | undefined> {
    const stored = await readText(connection, place)
    if (stored === undefined && current.version > 0)
      throw new TidemarkError('CONFIG_INVALID', `Redis has lost ${place.key}, set the value again`)
    if (stored === undefined || stored.version <= current.version) return undefined
    return { value: parseText(setting, place, stored.text), version: stored.version }
  }

  channels.subscribe(place.channel, place.slot).then(
    () => live.wake(),
    () => undefined,
  )
  await live.wake()
  return {
    ...live,
    async stop() {
      const stopping = live.stop()
      channels.close()
      connection.close()
      await stopping
    },
  }
}

type Place = { key: string; history: string; channel: string; slot: number }

/** The channel of another database has its number: channels belong to no database. */
function placeOf(name: string, options: RedisValueOptions): Place {
  const tag = `live-${name.replaceAll(' ', '-')}`
  const key = `${options.prefix ?? 'tm'}:{${tag}}`
  return { key, history: `${key}:versions`, channel: `${key}${databaseOf(options) || ''}`, slot: slotOf(tag) }
}

function sourceOf<T>(connection: Connection, setting: LiveSetting<T>, place: Place): LiveSource<T> {
  const { key, history, channel } = place
  return {
    async read() {
      const stored = await readText(connection, place)
      return stored && { value: parseText(setting, place, stored.text), version: stored.version }
    },

    async change(value, expectedVersion, note = ''): Promise<Versioned<T>> {
      const checked = setting.parse(value)
      const args = [expectedVersion, JSON.stringify(value), channel, note, VERSIONS_KEPT]
      const [answer] = await connection.send([scriptCommand(CHANGE, [key, history], args)])
      const [isStored, version] = answer as [number, Buffer]
      if (isStored === 1) return { value: checked, version: Number(version) }
      throw new TidemarkError(
        'LIVE_VALUE_CHANGED',
        `${setting.name} has version ${version.toString()}, not ${expectedVersion}: look at that version, and repeat the change on it`,
      )
    },

    async history() {
      const [answer] = await connection.send([{ name: 'lrange', args: [history, 0, -1] }])
      return (answer as Buffer[]).map((each): StoredVersion => {
        const [version = '', note = '', ...lines] = each.toString().split('\n')
        const value = parseJson(lines.join('\n'), history)
        return { version: Number(version), at: Number(version), value, note: note || undefined }
      })
    },
  }
}

async function readText(connection: Connection, { key }: Place): Promise<{ text: string; version: number } | undefined> {
  const [answer] = await connection.send([{ name: 'hmget', args: [key, 'version', 'text'] }])
  const [version, text] = (answer as (Buffer | null)[]).map((each) => each?.toString())
  return version === undefined || text === undefined ? undefined : { text, version: Number(version) }
}

function parseText<T>(setting: LiveSetting<T>, { key }: Place, text: string): T {
  return setting.parse(parseJson(text, key), `${key} in Redis`)
}

function parseJson(text: string, key: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${key} in Redis is not JSON`, { cause: error })
  }
}
