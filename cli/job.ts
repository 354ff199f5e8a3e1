/** `tidemark job NAME`: one persisting job. */
import { TidemarkError } from '../core/errors.ts'
import type { Flags } from './settings.ts'
import { start } from './start.ts'

export async function job(name: string, flags: Flags): Promise<void> {
  if (name !== 'history') throw new TidemarkError('CONFIG_INVALID', `there is no job "${name}": say history`)
  await start('job', flags)
}
