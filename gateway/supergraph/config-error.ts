import { TidemarkError } from '../../core/errors.ts'

/** A mistake in a file, an address or a schema of a graph. The message tells how to correct it. */
export function configError(message: string, cause?: unknown): TidemarkError {
  return new TidemarkError('CONFIG_INVALID', message, { cause })
}
