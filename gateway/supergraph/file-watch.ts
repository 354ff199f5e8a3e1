/**
 * Watches files that editors and deployments may replace in any way: written in place, renamed over, or (Kubernetes) swapped by a
 * symbolic link two folders up. It therefore watches folders instead of files. Any event in a folder makes it compare the size, time
 * and inode of the watched files.
 */
import { statSync, watch, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock, Timer } from '../../core/clock.ts'

export type Watch = {
  /** Watches these files from now on. */
  update(files: readonly string[]): void
  close(): void
}

/** Editors write a file in several steps. It is read after this time without an event. */
const QUIET_MS = 100

export function watchFiles(onChange: () => void, clock: Clock): Watch {
  const folders = new Map<string, FSWatcher>()
  let files: readonly string[] = []
  let seen = ''
  let quiet: Timer | undefined

  function look(): void {
    quiet?.cancel()
    quiet = clock.after(QUIET_MS, () => {
      const now = stateOf(files)
      if (now === seen) return
      seen = now
      onChange()
    })
  }

  function close(folder: string): void {
    folders.get(folder)?.close()
    folders.delete(folder)
  }

  return {
    update(next) {
      // The state is not read here: a file that changed after it was read must count as changed. The price is one extra look.
      if (next.join('\n') !== files.join('\n')) seen = ''
      files = [...next]
      const wanted = new Set(files.map((file) => dirname(file)))
      for (const folder of folders.keys()) if (!wanted.has(folder)) close(folder)
      for (const folder of wanted) {
        if (folders.has(folder)) continue
        try {
          const watcher = watch(folder, { persistent: false }, look)
          // The folder was removed. A poll or a signal still reloads.
          watcher.on('error', () => close(folder))
          folders.set(folder, watcher)
        } catch {
          // The file system cannot be watched. A poll or a signal still reloads.
        }
      }
    },
    close() {
      quiet?.cancel()
      for (const folder of folders.keys()) close(folder)
    },
  }
}

function stateOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false })
      return stat === undefined ? 'absent' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`
    })
    .join('\n')
}
