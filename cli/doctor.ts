/** `tidemark doctor`: prints the findings of stores/examine.ts, which every process also checks while it runs. */
import type { Config } from '../config/config.ts'
import { systemClock } from '../core/clock.ts'
import { isTidemarkError } from '../core/errors.ts'
import { NOTHING_TO_DO } from './nothing-to-do.ts'
import { makeLog } from './process/log.ts'
import { readLiveVersion } from './process/live-config.ts'
import { readSources, type Flags, type Settings } from './process/settings.ts'
import { examineStores } from './stores/examine.ts'
import type { Finding } from './stores/findings.ts'

/** Resolves to false if a finding is wrong. */
export async function doctor(flags: Flags, print: (line: string) => void): Promise<boolean> {
  const { config, findings: ofConfig } = await examineLive(readSources(flags))
  // The findings repeat the complaints of drivers as sentences, so their log lines are dropped.
  const findings = [...(await examineStores(config, systemClock, makeLog({ level: 'fatal' }))), ...ofConfig]
  for (const { store, level, name, sentence } of findings) {
    print(`${level.padEnd(8)}  ${store.padEnd(11)}  ${sentence}${name === undefined ? '' : ` [${name}]`}`)
  }
  if (findings.length === 0) print(NOTHING_TO_DO)
  return findings.every(({ level }) => level !== 'wrong')
}

/** The configuration with the newest live version. Without a version there is no finding. */
async function examineLive(settings: Settings): Promise<{ config: Config; findings: Finding[] }> {
  try {
    const { value, version } = await readLiveVersion(settings)
    const sentence = `live version ${version} is valid`
    return { config: value.config, findings: version === 0 ? [] : [{ store: 'config', level: 'good', sentence }] }
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    // Another finding says that Redis does not answer.
    if (error.code !== 'CONFIG_INVALID') return { config: settings.config, findings: [] }
    const reasons = error.message.replaceAll('\n', '; ')
    const sentence = `the newest live version cannot be used, and processes keep the last valid one: ${reasons}`
    return { config: settings.config, findings: [{ store: 'config', level: 'wrong', name: 'live-config', sentence }] }
  }
}
