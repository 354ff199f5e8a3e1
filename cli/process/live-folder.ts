/**
 * A live value as a folder of versions, one JSON file each, named by its number. Processes of one machine share it. A version is written
 * whole under another name and then linked, which fails if the version exists. So two writers cannot both make the next version, and a
 * reader never sees half a file.
 *
 * The first version is the current time in milliseconds, so that numbers go on growing after the folder was lost: processes ignore a
 * version that is not higher than their own. Two writers of a first version may have different times. Each therefore prepares a whole
 * folder and renames it, which fails if the folder has a version.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { LiveSetting } from '../../config/live/live-setting.ts'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { followSource, VERSIONS_KEPT, type LiveSource, type LiveValue, type StoredVersion, type Versioned } from '../../core/live-value.ts'
import { makeFolder } from '../../stores/lmdb/make-folder.ts'

const POLL_MS = 500

type Stored = { at: number; value: unknown; note?: string | undefined }

/** The folder is made with the first version. */
export function openVersionFolder<T>(setting: LiveSetting<T>, folder: string, clock: Clock): LiveSource<T> {
  return {
    read: () => Promise.resolve().then(() => readNewest(setting, folder)),

    async change(value, expectedVersion, note) {
      const checked = setting.parse(value)
      const newest = versionsIn(folder).at(0) ?? 0
      if (newest !== expectedVersion) throw changed(setting.name, newest, expectedVersion)
      const stored = { at: clock.now(), value, note }
      const version = newest === 0 ? stored.at : newest + 1
      const isStored = newest === 0 ? writeFirst(folder, version, stored) : writeNext(folder, version, stored)
      if (!isStored) throw changed(setting.name, versionsIn(folder).at(0) ?? 0, expectedVersion)
      for (const old of versionsIn(folder).slice(VERSIONS_KEPT)) rmSync(fileOf(folder, old), { force: true })
      return { value: checked, version }
    },

    async history() {
      return versionsIn(folder).map((version): StoredVersion => ({ version, ...readStoredOrNothing(folder, version) }))
    },
  }
}

/** `first`: the value until there is a version. `report` gets one sentence per problem, and again when the reason changes. */
export async function followVersionFolder<T>(
  setting: LiveSetting<T>,
  first: T,
  folder: string,
  clock: Clock,
  report: (sentence: string) => void,
): Promise<LiveValue<T>> {
  const read = async ({ version }: Versioned<T>): Promise<Versioned<T> | undefined> => {
    if ((versionsIn(folder).at(0) ?? 0) <= version) return undefined
    try {
      return readNewest(setting, folder)
    } catch (error) {
      // A process that starts has no last valid value yet. The next poll reports the newest one.
      const older = version === 0 ? newestValid(setting, folder) : undefined
      if (older === undefined) throw error
      return older
    }
  }
  const live = followSource<T>({ name: setting.name, first: { value: first, version: 0 }, read, pollMs: POLL_MS }, clock, report)
  await live.wake()
  return live
}

function readNewest<T>(setting: LiveSetting<T>, folder: string): Versioned<T> | undefined {
  const [version] = versionsIn(folder)
  return version === undefined ? undefined : readVersion(setting, folder, version)
}

/** Throws CONFIG_INVALID. */
function readVersion<T>(setting: LiveSetting<T>, folder: string, version: number): Versioned<T> {
  return { value: setting.parse(readStored(folder, version).value, `version ${version}`), version }
}

function newestValid<T>(setting: LiveSetting<T>, folder: string): Versioned<T> | undefined {
  for (const version of versionsIn(folder)) {
    try {
      return readVersion(setting, folder, version)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
    }
  }
  return undefined
}

/** Newest first. */
function versionsIn(folder: string): number[] {
  try {
    return readdirSync(folder)
      .flatMap((name) => (/^[1-9]\d{0,14}\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
      .toSorted((one, other) => other - one)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new TidemarkError('CONFIG_INVALID', `${folder} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function readStored(folder: string, version: number): Stored {
  try {
    return JSON.parse(readFileSync(fileOf(folder, version), 'utf8')) as Stored
  } catch (error) {
    const sentence = `${fileOf(folder, version)} cannot be read (${(error as Error).message}): set the value again`
    throw new TidemarkError('CONFIG_INVALID', sentence, { cause: error })
  }
}

/** For an operator, who replaces a version that cannot be read. */
function readStoredOrNothing(folder: string, version: number): Stored {
  try {
    return readStored(folder, version)
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return { at: statSync(fileOf(folder, version)).mtimeMs, value: undefined, note: 'cannot be read' }
  }
}

/** False if the folder has a version. */
function writeFirst(folder: string, version: number, stored: Stored): boolean {
  const draft = `${folder}-draft-${process.pid}-${version}`
  try {
    makeFolder(dirname(folder))
    mkdirSync(draft)
    writeFileSync(fileOf(draft, version), JSON.stringify(stored), { flush: true })
    renameSync(draft, folder)
    return true
  } catch (error) {
    if (versionsIn(folder).length > 0) return false
    throw unwritable(folder, error)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** False if the version exists. */
function writeNext(folder: string, version: number, stored: Stored): boolean {
  const draft = join(folder, `draft-${process.pid}-${version}`)
  try {
    writeFileSync(draft, JSON.stringify(stored), { flush: true })
    linkSync(draft, fileOf(folder, version))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw unwritable(folder, error)
  } finally {
    rmSync(draft, { force: true })
  }
}

function unwritable(folder: string, error: unknown): TidemarkError {
  return new TidemarkError('CONFIG_INVALID', `${folder} cannot be written: ${(error as Error).message}`, { cause: error })
}

function fileOf(folder: string, version: number): string {
  return join(folder, `${version}.json`)
}

function changed(name: string, version: number, expected: number): TidemarkError {
  return new TidemarkError(
    'LIVE_VALUE_CHANGED',
    `${name} has version ${version}, not ${expected}: look at that version, and repeat the change on it`,
  )
}
