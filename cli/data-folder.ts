/** Commands that only read must not make an empty data folder of a name that was mistyped. */
import { existsSync } from 'node:fs'
import type { Config } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'

/** Throws CONFIG_INVALID. In the distributed shape there is none to look for. */
export function requireDataFolder({ stores }: Config): void {
  if (stores.redis !== undefined || existsSync(stores.data)) return
  throw new TidemarkError('CONFIG_INVALID', `${stores.data} does not exist: name the data folder of a service with --data or TIDEMARK_DATA`)
}
