/** `tidemark migrate` and `tidemark doctor`. */
import { systemClock } from '../core/clock.ts'
import { examineStores, migrateStores, printSchema } from '../stores/operate.ts'
import { makeLog } from './log.ts'
import { readSettings, type Flags } from './settings.ts'

export async function migrate(flags: Flags & { print?: boolean }, print: (line: string) => void): Promise<void> {
  if (flags.print === true) {
    print(printSchema())
    return
  }
  for (const sentence of await migrateStores(readSettings(flags), systemClock, makeLog())) print(sentence)
}

/** Resolves to false if something is wrong. */
export async function doctor(flags: Flags, print: (line: string) => void): Promise<boolean> {
  // What a driver complains of on the way is what the findings say in a sentence.
  const findings = await examineStores(readSettings(flags), systemClock, makeLog({ level: 'fatal' }))
  for (const { store, level, sentence } of findings) print(`${level.padEnd(8)}  ${store.padEnd(11)}  ${sentence}`)
  return findings.every(({ level }) => level !== 'wrong')
}
