/** `tidemark restore` puts a backup (`backup.ts`) into empty stores. No process may run on them. */
import { TidemarkError } from '../../core/errors.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import type { Flags } from '../process/settings.ts'
import type { Config } from '../../config/config.ts'
import { restoreDistributed } from './distributed.ts'
import { restoreEmbedded } from './embedded.ts'
import { readBackup, type Backup } from './folder.ts'

export async function restore(folder: string, flags: Flags, print: (line: string) => void): Promise<void> {
  const backup = readBackup(folder)
  const config = await readSettingsInEffect(flags)
  requireSame(config, backup)
  if (backup.shape === 'embedded') await restoreEmbedded(config, backup, folder)
  else await restoreDistributed(config, backup, folder, flags, print)
  const begun = new Date(backup.startedAt).toISOString()
  print(`restored all files of ${folder}`)
  print(`the stores have every write that was acknowledged before ${begun}${backup.shape === 'embedded' ? '' : ', except journaled ones'}`)
  // MySQL may be later, but the copies of keys have the data of viewers who were erased since the backup began.
  if (backup.shape === 'distributed') print(`erase again each viewer who was erased after ${begun}, when the backup began`)
}

function requireSame({ stores }: Config, { shape, regions }: Backup): void {
  const own = stores.redis === undefined ? 'embedded' : 'distributed'
  if (shape !== own)
    throw new TidemarkError(
      'CONFIG_INVALID',
      `the backup is of the ${shape} shape, and the configuration of the ${own} one: restore it to its own shape, then use "tidemark export" and "import"`,
    )
  if (regions !== stores.regions)
    throw new TidemarkError(
      'DATA_INCOMPATIBLE',
      `the backup has ${regions} regions, not ${stores.regions}: set stores.regions to ${regions}`,
    )
}
