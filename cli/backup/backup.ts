/** `tidemark backup` copies the embedded stores into a folder. It may run beside the service. */
import { systemClock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import type { Flags } from '../process/settings.ts'
import { backupEmbedded } from './embedded.ts'
import { makeBackup } from './folder.ts'

export type BackupFlags = Flags & { out: string }

export async function backup(flags: BackupFlags, print: (line: string) => void): Promise<void> {
  const { out } = flags
  const config = await readSettingsInEffect(flags)
  if (config.stores.redis !== undefined)
    throw new TidemarkError('CONFIG_INVALID', 'the configuration is of the distributed shape: back up MySQL and Redis with their own tools')
  requireDataFolder(config)
  const startedAt = systemClock.now()
  const { regions } = config.stores
  const { files } = await makeBackup(out, async () => ({ shape: 'embedded', regions, startedAt, files: await backupEmbedded(config, out) }))
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  print(`${files.length} ${files.length === 1 ? 'file' : 'files'} with ${bytes} bytes in ${out}`)
  print(`the backup has every write that was acknowledged before ${new Date(startedAt).toISOString()}`)
}
