/**
 * `tidemark backup` copies a deployment into a folder, and may run beside the service: all stores of the embedded shape, and of the
 * distributed shape what only Redis has.
 */
import { systemClock } from '../../core/clock.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import type { Flags } from '../process/settings.ts'
import { backupDistributed } from './distributed.ts'
import { backupEmbedded } from './embedded.ts'
import { makeBackup } from './folder.ts'

export type BackupFlags = Flags & { out: string }

export async function backup(flags: BackupFlags, print: (line: string) => void): Promise<void> {
  const { out } = flags
  const config = await readSettingsInEffect(flags)
  requireDataFolder(config)
  const startedAt = systemClock.now()
  const { regions, redis } = config.stores
  const shape = redis === undefined ? 'embedded' : 'distributed'
  const copy = () => (redis === undefined ? backupEmbedded(config, out) : backupDistributed(config, out, startedAt))
  const { files } = await makeBackup(out, async () => ({ shape, regions, startedAt, files: await copy() }))
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  print(`${files.length} ${files.length === 1 ? 'file' : 'files'} with ${bytes} bytes in ${out}`)
  const point = new Date(startedAt).toISOString()
  if (redis === undefined) print(`the backup has every write that was acknowledged before ${point}`)
  else print(`with MySQL of ${new Date().toISOString()} or later, it has every write that was acknowledged before ${point}`)
}
