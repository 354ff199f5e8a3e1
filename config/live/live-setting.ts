/** A value that does not come with the configuration, but from a source that can change it while processes run (`core/live-value.ts`). */
import { z, type ZodType, type ZodTypeDef } from 'zod'
import { TidemarkError } from '../../core/errors.ts'
import { mistakesOf } from '../mistakes.ts'

export type LiveSetting<T> = {
  /** For messages. */
  readonly name: string
  /**
   * The validated value. `place`: where it stands, for messages. Throws CONFIG_INVALID with one sentence per mistake, joined by newlines.
   */
  parse(value: unknown, place?: string): T
}

/** `name`: as in the configuration, such as `cache.layout`. */
export function settingOf<T>(name: string, schema: ZodType<T, ZodTypeDef, unknown>): LiveSetting<T> {
  return {
    name,
    parse(value, place) {
      const parsed = z.object({ [name]: schema }).safeParse({ [name]: value })
      if (parsed.success) return parsed.data[name] as T
      const sources = place === undefined ? [] : [{ name: place, values: { [name]: value } }]
      throw new TidemarkError('CONFIG_INVALID', mistakesOf(parsed.error.issues, { [name]: value }, sources).join('\n'))
    },
  }
}
