/** A setting whose value does not come with the configuration, but from a watched file or a key in Redis (`core/live-value.ts`). */
import { z, type ZodType, type ZodTypeDef } from 'zod'
import { TidemarkError } from '../core/errors.ts'
import { mistakesOf } from './mistakes.ts'

export type LiveSetting<T> = {
  /** As in the configuration, such as `cache.layout`. */
  readonly name: string
  readonly schema: ZodType<T, ZodTypeDef, unknown>
}

/** The validated value. `place`: where it stands, for messages. Throws CONFIG_INVALID with one sentence per mistake, joined by newlines. */
export function checkedValue<T>({ name, schema }: LiveSetting<T>, value: unknown, place?: string): T {
  const parsed = z.object({ [name]: schema }).safeParse({ [name]: value })
  if (parsed.success) return parsed.data[name] as T
  const sources = place === undefined ? [] : [{ name: place, values: { [name]: value } }]
  throw new TidemarkError('CONFIG_INVALID', mistakesOf(parsed.error.issues, { [name]: value }, sources).join('\n'))
}
