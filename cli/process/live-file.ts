/**
 * A live value in a YAML or JSON file. The folder is watched, and the file is also read at an interval, because some file systems report no
 * changes. A file that is missing or not valid changes nothing: the last valid value stays.
 */
import { readFileSync, statSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { checkedValue, type LiveSetting } from '../../config/live-setting.ts'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { makeHeldValue, type LiveValue } from '../../core/live-value.ts'
import { makeWorker } from '../../core/worker.ts'
import { watchFiles } from '../../gateway/supergraph/file-watch.ts'

const POLL_MS = 10_000

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
  let complaint: string | undefined
  const held = makeHeldValue<T>({ value: parseSetting(setting, text, path), version: versionAfter(0) }, complain)
  const worker = makeWorker(clock, look, () => pollMs, complain)
  const watch = watchFiles(() => void worker.wake(), clock)
  watch.update([path])
  // The first look catches a change between reading and watching.
  void worker.wake()

  function versionAfter(last: number): number {
    return Math.max(last + 1, Math.floor(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0))
  }

  function complain(error: unknown): void {
    const sentence = `${(error as Error).message.replaceAll('\n', '; ')}: the last value of ${setting.name} stays`
    if (sentence !== complaint) report(sentence)
    complaint = sentence
  }

  async function look(): Promise<void> {
    const now = readText(path)
    if (now !== text || complaint !== undefined) {
      const value = parseSetting(setting, now, path)
      if (now !== text) held.replace({ value, version: versionAfter(held.current().version) })
    }
    text = now
    complaint = undefined
  }

  return {
    current: held.current,
    follow: held.follow,
    async stop() {
      watch.close()
      await worker.stop()
    },
  }
}

/** Reads and validates a file once. Throws CONFIG_INVALID. */
export function readSettingFile<T>(setting: LiveSetting<T>, path: string): T {
  return parseSetting(setting, readText(path), path)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function parseSetting<T>(setting: LiveSetting<T>, text: string, path: string): T {
  const document = parseDocument(text, { prettyErrors: false })
  const [mistake] = document.errors
  if (mistake !== undefined) {
    // A mistake at the end of the file is in its last line with contents.
    const line = text.slice(0, mistake.pos[0]).trimEnd().split('\n').length
    throw new TidemarkError('CONFIG_INVALID', `${path} is not YAML (line ${line}): ${mistake.message}`)
  }
  if (document.contents === null) throw new TidemarkError('CONFIG_INVALID', `${path} is empty: write the value of ${setting.name} into it`)
  return checkedValue(setting, document.toJS(), path)
}
