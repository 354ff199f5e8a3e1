/**
 * `tidemark layout` shows the layout of the cache, checks a file with a layout, and sets the layout that processes take from Redis. Running
 * processes follow a change within seconds.
 */
import { stringify } from 'yaml'
import { CACHE_LAYOUT, type CacheLayout } from '../config/cache.ts'
import type { Config } from '../config/config.ts'
import { TidemarkError } from '../core/errors.ts'
import type { LiveSource } from '../core/live-value.ts'
import { openRedisValue } from '../stores/redis/live-value.ts'
import { readSettingFile } from './process/live-file.ts'
import { readSettings, type Flags } from './process/settings.ts'

export type LayoutFlags = Flags & { expect?: string }

export async function layout(what: string, file: string | undefined, flags: LayoutFlags, print: (line: string) => void): Promise<void> {
  const config = readSettings(flags)
  switch (what) {
    case 'show':
      return show(config, print)
    case 'check':
      readSettingFile(CACHE_LAYOUT, fileOf(what, file))
      return print(`${file} is a valid layout`)
    case 'set':
      return set(config, fileOf(what, file), flags.expect, print)
    default:
      throw new TidemarkError('CONFIG_INVALID', `"${what}" is not a command of layout: use show, check FILE or set FILE`)
  }
}

function fileOf(what: string, file: string | undefined): string {
  if (file !== undefined) return file
  throw new TidemarkError('CONFIG_INVALID', `layout ${what} needs a file: name a YAML or JSON file with main, backup and l1`)
}

async function show(config: Config, print: (line: string) => void): Promise<void> {
  const { layout: configured, layoutFrom } = config.cache
  const ofConfig = configured === undefined ? 'no layout: each process caches in its own memory' : stringify(configured).trimEnd()
  if (layoutFrom === 'config') return print(`# from cache.layout in the configuration\n${ofConfig}`)
  if (layoutFrom !== 'redis') return print(`# from ${layoutFrom}\n${stringify(readSettingFile(CACHE_LAYOUT, layoutFrom)).trimEnd()}`)
  const stored = await inRedis(config, (source) => source.read())
  if (stored === undefined) print(`# version 0, from the configuration: none was set yet\n${ofConfig}`)
  else print(`# version ${stored.version}\n${stringify(stored.value).trimEnd()}`)
}

async function set(config: Config, file: string, expect: string | undefined, print: (line: string) => void): Promise<void> {
  const { layoutFrom } = config.cache
  if (layoutFrom !== 'redis') {
    const place = layoutFrom === 'config' ? 'cache.layout of the configuration' : layoutFrom
    throw new TidemarkError('CONFIG_INVALID', `processes take the layout from ${place}: change it there, or set cache.layoutFrom: redis`)
  }
  const expected = Number(expect)
  if (expect === undefined || !/^\d{1,15}$/.test(expect))
    throw new TidemarkError('CONFIG_INVALID', 'layout set needs --expect with the version that `tidemark layout show` prints')
  const value = readSettingFile(CACHE_LAYOUT, file)
  const { version } = await inRedis(config, (source) => source.change(value, expected))
  print(`version ${version} is set: processes take it over within seconds`)
}

async function inRedis<A>({ stores }: Config, use: (source: LiveSource<CacheLayout>) => Promise<A>): Promise<A> {
  // `cacheMistakes` refuses layoutFrom: redis without a Redis.
  const source = openRedisValue(CACHE_LAYOUT, stores.redis as NonNullable<Config['stores']['redis']>)
  try {
    return await use(source)
  } finally {
    source.close()
  }
}
