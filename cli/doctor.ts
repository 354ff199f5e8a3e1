/** `tidemark doctor`: prints the findings of stores/examine.ts, which every process also checks while it runs. */
import { systemClock } from '../core/clock.ts'
import { NOTHING_TO_DO } from './nothing-to-do.ts'
import { makeLog } from './process/log.ts'
import { readSettings, type Flags } from './process/settings.ts'
import { examineStores } from './stores/examine.ts'

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
