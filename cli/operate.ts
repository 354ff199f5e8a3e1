/** `tidemark migrate` and `tidemark doctor`. */
import { systemClock } from '../core/clock.ts'
import { examineStores } from './stores/examine.ts'
import { migrateStores, printSchema } from './stores/operate.ts'
import { makeLog } from './process/log.ts'
import { readSettings, type Flags } from './process/settings.ts'

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

const NOTHING_TO_DO =
  'nothing to do: these settings name no servers, and the embedded stores need no preparation; set stores.redis, kafka and mysql for the distributed shape'

/** Resolves to false if a finding is wrong. */
export async function doctor(flags: Flags, print: (line: string) => void): Promise<boolean> {
  // The findings repeat the complaints of drivers as sentences, so their log lines are dropped.
  const findings = await examineStores(readSettings(flags), systemClock, makeLog({ level: 'fatal' }))
  for (const { store, level, name, sentence } of findings) {
    print(`${level.padEnd(8)}  ${store.padEnd(11)}  ${sentence}${name === undefined ? '' : ` [${name}]`}`)
  }
  if (findings.length === 0) print(NOTHING_TO_DO)
  return findings.every(({ level }) => level !== 'wrong')
}
