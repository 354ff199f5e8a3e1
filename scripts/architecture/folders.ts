/** A folder holds at most 25 files, and its files export each name once. */
import { posix } from 'node:path'
import type { Repository } from '../repository.ts'
import { exportedNames, isModule } from './modules.ts'

const FILES_MAX = 25
/** Decision records are one numbered list, and each alert has a page. */
const LISTS = new Set(['docs/decisions', 'docs/operating/runbooks'])

/** Every benchmark and every attack exports the same entry, and a runner finds the files by their place. */
const ENTRIES: readonly { path: RegExp; name: string }[] = [
  { path: /^bench\/.*\.bench\.ts$/, name: 'bench' },
  { path: /^harness\/abuse\/attacks\//, name: 'attacks' },
]

export function largeFolders({ files }: Repository): string[] {
  const folders = Map.groupBy(files, (path) => posix.dirname(path))
  return [...folders]
    .filter(([folder, paths]) => paths.length > FILES_MAX && !LISTS.has(folder))
    .map(([folder, paths]) => `${folder} holds ${paths.length} files: split it, ${FILES_MAX} is the limit`)
}

export function repeatedExports({ files, read }: Repository): string[] {
  const exports = [...files]
    .filter(isModule)
    .flatMap((path) => exportedNames(read(path)).map((name) => ({ folder: posix.dirname(path), path, name })))
    .filter(({ path, name }) => !ENTRIES.some((entry) => entry.name === name && entry.path.test(path)))
  return [...Map.groupBy(exports, ({ folder, name }) => `${folder} ${name}`).values()]
    .filter((same) => same.length > 1)
    .map(
      (same) =>
        `${same[0]?.folder} exports ${same[0]?.name} twice: rename it in one of ${same.map(({ path }) => posix.basename(path)).join(', ')}`,
    )
}
