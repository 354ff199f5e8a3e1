/**
 * The configuration of a running process. It follows the source of live versions (`live.from`), and every section of `config` is that of the
 * version in effect. Parts therefore read live settings when they use them, or follow their changes.
 */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createHash } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { LIVE_NAME, liveSetting, type LiveVersion } from '../../config/live/live.ts'
import type { LiveSetting } from '../../config/live/live-setting.ts'
import { liveView } from '../../config/live/live-view.ts'
import { systemClock, type Clock } from '../../core/clock.ts'
import { isTidemarkError, TidemarkError } from '../../core/errors.ts'
import { fixedValue, type LiveSource, type LiveValue, type Versioned } from '../../core/live-value.ts'
import { followFile, readSettingFile } from './live-file.ts'
import { followVersionFolder, openVersionFolder } from './live-folder.ts'
import { readSources, type Flags, type Settings } from './settings.ts'
import { tlsMistakesOf } from './tls-settings.ts'

export type LiveConfig = {
  /** Each section is that of the version in effect. An object that was read from it does not change. */
  readonly config: Config
  /**
   * Calls the listener with the picked settings when a version changes them. Returns a function that ends it. `used`: those that a part was
   * made with. If a version has changed them since, the listener is called at once. Default: those in effect.
   */
  onChange<T>(pick: (config: Config) => T, listener: (now: T, version: number) => void, used?: T): () => void
  status(): LiveStatus
  stop(): Promise<void>
}

/** `hash`: of the settings of the version, equal in processes with equal versions. `problem`: a newer version that is not in use. */
export type LiveStatus = { readonly version: number; readonly hash: string; readonly problem: string | undefined }

/** For tools and tests: nothing changes. */
export function fixedConfig(config: Config): LiveConfig {
  return liveConfigOf(fixedValue({ document: {}, config }))
}

/** Throws CONFIG_INVALID if a file is not valid at the start. A source that does not answer is reported, and followed. */
export async function followConfig(settings: Settings, clock: Clock, report: (sentence: string) => void): Promise<LiveConfig> {
  const { config } = settings
  const first: LiveVersion = { document: {}, config }
  let live: LiveValue<LiveVersion> | undefined
  const setting = settingFor(settings, () => live?.current().value.config ?? config)
  const source = sourceOf(config)
  switch (source.kind) {
    case 'off':
      live = fixedValue(first)
      break
    case 'redis':
      live = await (await redisValues()).followRedisValue(setting, first, source.redis, clock, report)
      break
    case 'folder':
      live = await followVersionFolder(setting, first, source.folder, clock, report)
      break
    case 'file':
      live = followFile(setting, source.file, clock, report)
  }
  return liveConfigOf(live)
}

function liveConfigOf(live: LiveValue<LiveVersion>): LiveConfig {
  const read = (): Config => live.current().value.config
  return {
    config: liveView(read),
    onChange(pick, listener, used = pick(read())) {
      let last: { settings: unknown } | undefined = { settings: used }
      const takeOver = ({ value, version }: Versioned<LiveVersion>): void => {
        const next = pick(value.config)
        if (last !== undefined && isDeepStrictEqual(last.settings, next)) return
        // A listener that throws may have taken over a part, so it is called again with any settings.
        last = undefined
        listener(next, version)
        last = { settings: next }
      }
      const unfollow = live.follow(takeOver)
      takeOver(live.current())
      return unfollow
    },
    status() {
      const { value, version } = live.current()
      return { version, hash: hashOf(value.document), problem: live.problem() }
    },
    stop: () => live.stop(),
  }
}

export function hashOf(document: unknown): string {
  return createHash('sha256').update(JSON.stringify(document)).digest('hex').slice(0, 8)
}

/** The version in effect at this moment; 0: none. Throws CONFIG_INVALID if it is not valid, and HOT_STORE_UNAVAILABLE. */
export async function readLiveVersion(settings: Settings): Promise<Versioned<LiveVersion>> {
  const none = { value: { document: {}, config: settings.config }, version: 0 }
  const source = sourceOf(settings.config)
  if (source.kind === 'off') return none
  if (source.kind === 'file')
    return readSettingFile(
      settingFor(settings, () => settings.config),
      source.file,
    )
  return (await withLiveSource(settings, (opened) => opened.read())) ?? none
}

/**
 * The configuration with the newest live version, for a command about stored data: a business may exist in that version only. Throws as
 * `readLiveVersion` does, because the command would leave out the data of such a business.
 */
export function readSettingsInEffect(flags: Flags): Promise<Config> {
  return configInEffect(readSources(flags))
}

/** As `readSettingsInEffect`, of sources that are read already. */
export async function configInEffect(settings: Settings): Promise<Config> {
  try {
    return (await readLiveVersion(settings)).value.config
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const sentence = `the newest live version cannot be read, and it may have businesses that tidemark.yaml lacks: ${error.message}`
    throw new TidemarkError(error.code, sentence, { cause: error })
  }
}

/**
 * Opens the source for an operator, who may change it. `before`: the configuration of the version that a change replaces. Throws
 * CONFIG_INVALID for a source without versions.
 */
export async function withLiveSource<A>(
  settings: Settings,
  use: (source: LiveSource<LiveVersion>) => Promise<A>,
  before: () => Config = () => settings.config,
  clock: Clock = systemClock,
): Promise<A> {
  const setting = settingFor(settings, before)
  const source = sourceOf(settings.config)
  if (source.kind === 'folder') return use(openVersionFolder(setting, source.folder, clock))
  if (source.kind !== 'redis') {
    const sentence =
      source.kind === 'file'
        ? `processes take ${LIVE_NAME} from ${source.file}, which has no versions: change that file`
        : `live.from is off, so there is no live configuration: set live.from to stores, and restart the processes`
    throw new TidemarkError('CONFIG_INVALID', sentence)
  }
  const opened = (await redisValues()).openRedisValue(setting, source.redis)
  try {
    return await use(opened)
  } finally {
    opened.close()
  }
}

/** Loaded on use: a process on the embedded stores needs no driver. */
const redisValues = () => import('../../stores/redis/live-value.ts')

/** Throws CONFIG_INVALID. `before`: the configuration of the version that the document replaces. */
export function checkDocument(settings: Settings, document: unknown, before: Config, place: string): LiveVersion {
  return settingFor(settings, () => before).parse(document, place)
}

function settingFor({ sources }: Settings, before: () => Config): LiveSetting<LiveVersion> {
  return liveSetting(sources, before, tlsMistakesOf)
}

export type SourceOfVersions =
  | { kind: 'off' }
  | { kind: 'file'; file: string }
  | { kind: 'folder'; folder: string }
  | { kind: 'redis'; redis: NonNullable<Config['stores']['redis']> }

export function sourceOf({ live, stores }: Config): SourceOfVersions {
  if (live.from === 'off') return { kind: 'off' }
  if (live.from !== 'stores') return { kind: 'file', file: live.from }
  return stores.redis === undefined ? { kind: 'folder', folder: join(stores.data, 'live') } : { kind: 'redis', redis: stores.redis }
}
