/**
 * A live value in a YAML or JSON file. The folder is watched, and the file is also read at an interval, because some file systems report no
 * changes. A file that is missing or not valid changes nothing: the last valid value stays.
 */
import { readFileSync, statSync } from 'node:fs'
import { parseDocument } from 'yaml'
import type { LiveSetting } from '../../config/live/live-setting.ts'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { followSource, type LiveValue, type Versioned } from '../../core/live-value.ts'
import { watchFiles } from '../../gateway/supergraph/file-watch.ts'

const POLL_MS = 1_000

/**
 * Throws CONFIG_INVALID if the file is not valid at the start. `report` gets one sentence when it is not valid later, and again when the
 * reason changes. The version is the time of the file's change in milliseconds, or one more than the last version.
 */
export function followFile<T>(
  setting: LiveSetting<T>,
  path: string,
  clock: Clock,
  report: (sentence: string) => void,
  pollMs = POLL_MS,
): LiveValue<T> {
  let text = readText(path)
  const first = { value: parseSetting(setting, text, path), version: versionOf(path) }
  const live = followSource<T>({ name: setting.name, first, read: look, pollMs }, clock, report)
  const watch = watchFiles(() => void live.wake(), clock)
  watch.update([path])
  // The first look catches a change between reading and watching.
  void live.wake()

  async function look(current: Versioned<T>): Promise<Versioned<T> | undefined> {
    const now = readText(path)
    if (now === text && live.problem() === undefined) return undefined
    const value = parseSetting(setting, now, path)
    const isNew = now !== text
    text = now
    return isNew ? { value, version: Math.max(current.version + 1, versionOf(path)) } : undefined
  }

  return {
    ...live,
    async stop() {
      watch.close()
      await live.stop()
    },
  }
}

/** Reads and validates a file once. Throws CONFIG_INVALID. */
export function readSettingFile<T>(setting: LiveSetting<T>, path: string): Versioned<T> {
  return { value: parseSetting(setting, readText(path), path), version: versionOf(path) }
}

/** The parsed YAML or JSON of a file. `name`: of the value that belongs there. Throws CONFIG_INVALID. */
export function readYamlFile(path: string, name: string): unknown {
  return parseYaml(readText(path), path, name)
}

function versionOf(path: string): number {
  return Math.max(1, Math.floor(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0))
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function parseSetting<T>(setting: LiveSetting<T>, text: string, path: string): T {
  return setting.parse(parseYaml(text, path, setting.name), path)
}

function parseYaml(text: string, path: string, name: string): unknown {
  const document = parseDocument(text, { prettyErrors: false })
  const [mistake] = document.errors
  if (mistake !== undefined) {
    // A mistake at the end of the file is in its last line with contents.
    const line = text.slice(0, mistake.pos[0]).trimEnd().split('\n').length
    throw new TidemarkError('CONFIG_INVALID', `${path} is not YAML (line ${line}): ${mistake.message}`)
  }
  if (document.contents === null) throw new TidemarkError('CONFIG_INVALID', `${path} is empty: write the value of ${name} into it`)
  return document.toJS()
}
