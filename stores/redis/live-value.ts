/**
 * A live value in Redis: one hash with the text as JSON and its version, and a shard channel with a notice of each change. A notice may be
 * lost, so followers also poll. While Redis is down the last value stays; when it is back, the next poll has the newest one.
 */
import { checkedValue, type LiveSetting } from '../../config/live-setting.ts'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { makeHeldValue, type LiveSource, type LiveValue, type Versioned } from '../../core/live-value.ts'
import { makeWorker } from '../../core/worker.ts'
import { databaseOf, type RedisConnectionOptions } from './clients.ts'
import { connect, scriptCommand, type Connection } from './connection.ts'
import { slotOf } from './region-tags.ts'
import { readScript } from './scripts.ts'
import { makeShardChannels } from './shard-channels.ts'

const CHANGE = readScript(new URL('./scripts/', import.meta.url), 'change-live-value')
const POLL_MS = 3_000

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
  options: RedisValueOptions & { /** Milliseconds between two polls. Default 3000. */ pollMs?: number },
  clock: Clock,
  report: (sentence: string) => void,
): Promise<LiveValue<T>> {
  const connection = connect(options)
  const place = placeOf(setting.name, options)
  const source = sourceOf(connection, setting, place)
  const held = makeHeldValue<T>({ value: first, version: 0 }, complain)
  const worker = makeWorker(clock, read, () => options.pollMs ?? POLL_MS, complain)
  // A failed subscription is repeated until it succeeds, and every gap ends with a read.
  const channels = makeShardChannels(
    connection,
    () => void worker.wake(),
    () => void worker.wake(),
  )
  let complaint: string | undefined
  let isStopped = false

  function complain(error: unknown): void {
    const sentence = `${(error as Error).message.replaceAll('\n', '; ')}: the last value of ${setting.name} stays`
    if (sentence !== complaint && !isStopped) report(sentence)
    complaint = sentence
  }

  async function read(): Promise<void> {
    const stored = await source.read()
    if (stored === undefined && held.current().version > 0)
      throw new TidemarkError('CONFIG_INVALID', `Redis has lost ${place.key}, set the value again`)
    if (stored !== undefined) held.replace(stored)
    complaint = undefined
  }

  channels.subscribe(place.channel, place.slot).then(
    () => worker.wake(),
    () => undefined,
  )
  await worker.wake()
  return {
    current: held.current,
    follow: held.follow,
    async stop() {
      isStopped = true
      channels.close()
      connection.close()
      await worker.stop()
    },
  }
}

type Place = { key: string; channel: string; slot: number }

/** The channel of another database has its number: channels belong to no database. */
function placeOf(name: string, options: RedisValueOptions): Place {
  const tag = `live-${name}`
  const key = `${options.prefix ?? 'tm'}:{${tag}}`
  return { key, channel: `${key}${databaseOf(options) || ''}`, slot: slotOf(tag) }
}

function sourceOf<T>(connection: Connection, setting: LiveSetting<T>, { key, channel }: Place): LiveSource<T> {
  const { name } = setting
  return {
    async read() {
      const [answer] = await connection.send([{ name: 'hmget', args: [key, 'version', 'text'] }])
      const [version, text] = (answer as (Buffer | null)[]).map((each) => each?.toString())
      if (version === undefined || text === undefined) return undefined
      return { value: parse(text), version: Number(version) }
    },

    async change(value, expectedVersion): Promise<Versioned<T>> {
      const checked = checkedValue(setting, value)
      const [answer] = await connection.send([scriptCommand(CHANGE, [key], [expectedVersion, JSON.stringify(checked), channel])])
      const [isStored, version] = answer as [number, Buffer]
      if (isStored === 1) return { value: checked, version: Number(version) }
      throw new TidemarkError(
        'LIVE_VALUE_CHANGED',
        `${name} has version ${version.toString()}, not ${expectedVersion}: look at that version, and repeat the change on it`,
      )
    },
  }

  function parse(text: string): T {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new TidemarkError('CONFIG_INVALID', `${key} in Redis is not JSON`, { cause: error })
    }
    return checkedValue(setting, value, `${key} in Redis`)
  }
}
