import { TidemarkError } from '../../core/errors.ts'

/** What is wrong with files, addresses and schemas that make a graph. The message says what to do. */
export function configError(message: string, cause?: unknown): TidemarkError {
  return new TidemarkError('CONFIG_INVALID', message, { cause })
}
