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
import { countJournaled, describeJournaled } from './journaled.ts'

export type BackupFlags = Flags & { out: string }

export async function backup(flags: BackupFlags, print: (line: string) => void): Promise<void> {
  const { out } = flags
  const config = await readSettingsInEffect(flags)
  requireDataFolder(config)
  const startedAt = systemClock.now()
  const { regions, redis } = config.stores
  const shape = redis === undefined ? 'embedded' : 'distributed'
  const journaled = redis === undefined ? 0 : await countJournaled(config)
  const copy = () => (redis === undefined ? backupEmbedded(config, out) : backupDistributed(config, out, startedAt, print))
  const { files } = await makeBackup(out, async () => ({ shape, regions, startedAt, files: await copy() }))
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  print(`${files.length} ${files.length === 1 ? 'file' : 'files'} with ${bytes} bytes in ${out}`)
  const point = new Date(startedAt).toISOString()
  if (redis === undefined) return print(`the backup has every write that was acknowledged before ${point}`)
  const later = new Date().toISOString()
  print(`with MySQL of ${later} or later, it has every write that was acknowledged before ${point}, except journaled ones`)
  print(describeJournaled(config, journaled))
}
