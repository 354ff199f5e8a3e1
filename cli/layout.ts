/**
 * `tidemark layout` shows the layout of the cache, checks a file with a layout, and sets the layout that processes take from Redis. Running
 * processes follow a change within seconds.
 */
import { stringify } from 'yaml'
import { CACHE_LAYOUT } from '../config/cache.ts'
import type { Config } from '../config/config.ts'
import { TidemarkError } from '../core/errors.ts'
import { readSettingFile } from './process/live-file.ts'
import { readSettings, type Flags } from './process/settings.ts'
import { readCacheLayout, withLayoutInRedis } from './stores/cache-layout.ts'

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
  const { layoutFrom } = config.cache
  const { value, version } = await readCacheLayout(config)
  const text = value === undefined ? 'no layout: each process caches in its own memory' : stringify(value).trimEnd()
  if (layoutFrom === 'config') print(`# from cache.layout in the configuration\n${text}`)
  else if (layoutFrom !== 'redis') print(`# from ${layoutFrom}\n${text}`)
  else print(version === 0 ? `# version 0, from the configuration: none was set yet\n${text}` : `# version ${version}\n${text}`)
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
  const { version } = await withLayoutInRedis(config, (source) => source.change(value, expected))
  print(`version ${version} is set: processes take it over within seconds`)
}
