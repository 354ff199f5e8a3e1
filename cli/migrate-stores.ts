/** `tidemark migrate`. */
import { systemClock } from '../core/clock.ts'
import { NOTHING_TO_DO } from './nothing-to-do.ts'
import { makeLog } from './process/log.ts'
import { readSettings, type Flags } from './process/settings.ts'
import { migrateStores, printSchema } from './stores/operate.ts'

/** Resolves to false if the stores of a business could not be prepared. `complain` gets the reasons. */
export async function migrate(
  flags: Flags & { print?: boolean },
  print: (line: string) => void,
  complain: (line: string) => void,
): Promise<boolean> {
  if (flags.print === true) {
    print(printSchema())
    return true
  }
  const { done, refused } = await migrateStores(readSettings(flags), systemClock, makeLog())
  for (const sentence of done) print(sentence)
  if (done.length === 0 && refused.length === 0) print(NOTHING_TO_DO)
  for (const { code, message } of refused) complain(`${code}: ${message}`)
  return refused.length === 0
}
