/** A business that a command names, whether it is served, switched off or deleted. */
import type { BusinessConfig, Config } from '../config/config.ts'
import { TidemarkError } from '../core/errors.ts'

/** Throws BUSINESS_UNKNOWN. */
export function businessOf({ businesses }: Config, name: string): BusinessConfig {
  const found = businesses.find((business) => business.name === name)
  if (found !== undefined) return found
  const names = businesses.map((business) => business.name).join(', ')
  throw new TidemarkError('BUSINESS_UNKNOWN', `business "${name}" is not configured: use one of ${names}`)
}
