/**
 * Watches files that may be replaced in any of the ways editors and deployments do it: written in place, renamed over, or
 * (Kubernetes) swapped by a symbolic link two folders up. So folders are watched, not files; whatever happens in one is a
 * reason to look, and what counts is whether size, time or inode of a watched file have changed.
 */
import { statSync, watch, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock, Timer } from '../../core/clock.ts'

export type Watch = {
  /** Watches these files instead. */
  update(files: readonly string[]): void
  close(): void
}

/** Editors write a file in several steps: this long nothing may happen before it is read. */
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
      // Not looked at here: a file that changed since it was read must count as changed. Others cost one look too many.
      if (next.join('\n') !== files.join('\n')) seen = ''
      files = [...next]
      const wanted = new Set(files.map((file) => dirname(file)))
      for (const folder of folders.keys()) if (!wanted.has(folder)) close(folder)
      for (const folder of wanted) {
        if (folders.has(folder)) continue
        try {
          const watcher = watch(folder, { persistent: false }, look)
          // The folder itself went away. A poll or a signal still reloads.
          watcher.on('error', () => close(folder))
          folders.set(folder, watcher)
        } catch {
          // A file system that cannot be watched: a poll or a signal still reloads.
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
