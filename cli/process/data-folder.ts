/** The data folders of a configuration, before anything opens them. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'

/**
 * Commands that only read must not create an empty data folder for a mistyped name. Throws CONFIG_INVALID. In the distributed
 * shape, these commands do not read the data folder.
 */
export function requireDataFolder({ stores }: Config): void {
  if (stores.redis === undefined) requireFolder(stores.data)
}

/** For commands about journals, which the distributed shape too keeps in the data folder. Throws CONFIG_INVALID in both shapes. */
export function requireFolder(data: string): void {
  const found = statSync(data, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return
  const reason = found === undefined ? 'does not exist' : 'is not a folder'
  throw new TidemarkError('CONFIG_INVALID', `${data} ${reason}: name the data folder of a service with --data or TIDEMARK_DATA`)
}

/**
 * Warns of data folders that other users can open. A process creates its folders for its owner alone. An existing folder, such as a mounted
 * volume, keeps its mode, because an operator may have given a group access on purpose.
 */
export function warnOfOpenFolders({ stores, businesses }: Config, log: { warn(message: string): void }): void {
  const folders = [stores.data, ...businesses.map(({ thumbup }) => thumbup.stores?.data)].filter((folder) => folder !== undefined)
  for (const folder of new Set(folders.map((each) => resolve(each)))) {
    const found = statSync(folder, { throwIfNoEntry: false })
    const mode = (found?.mode ?? 0) & 0o777
    if (found?.isDirectory() !== true || (mode & 0o077) === 0) continue
    log.warn(`other users of this machine may open the data folder ${folder} (mode ${mode.toString(8)}): run "chmod -R go-rwx ${folder}"`)
  }
}
