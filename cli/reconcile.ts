/**
 * `tidemark reconcile`: counts all stored marks of all businesses again, in the record stores themselves; no other part of a
 * deployment need run. What differs is printed, and there is a bug: `count = number of rows in that state` always holds.
 */
import { systemClock } from '../core/clock.ts'
import { openMarkRecords } from '../stores/open-marks.ts'
import { reconcileWhole } from '../subgraphs/thumbup/whole-reconciliation.ts'
import { businessOf } from './business-of.ts'
import { requireDataFolder } from './data-folder.ts'
import { readSettings, type Flags } from './settings.ts'

/** Drifting subjects and owners that are printed, of each business; all are counted. */
const PRINTED_MAX = 100

/** Resolves to false if there is drift. */
export async function reconcile(flags: Flags & { business?: string }, print: (line: string) => void): Promise<boolean> {
  const config = readSettings(flags)
  const businesses =
    flags.business === undefined ? config.businesses.filter(({ thumbup }) => thumbup.enabled) : [businessOf(config, flags.business)]
  requireDataFolder(config)
  const stores = await openMarkRecords(config, systemClock)
  let total = 0
  try {
    for (const { name, number } of businesses) {
      let [subjects, owners, drifting] = [0, 0, 0]
      for await (const page of reconcileWhole(stores.of(number), number)) {
        subjects += page.subjects
        owners += page.owners
        const lines = [
          ...page.drift.map(
            ({ oid, counts, rows }) =>
              `DRIFT  ${name}/${oid}: ${counts.likes} likes and ${counts.dislikes} dislikes are counted, ${rows.likes} and ${rows.dislikes} are stored`,
          ),
          ...page.ownerDrift.map(
            ({ owner, likes, summed }) =>
              `DRIFT  ${name}, owner ${owner}: ${likes} likes received are counted, the subjects have ${summed}`,
          ),
        ]
        for (const line of lines.slice(0, Math.max(0, PRINTED_MAX - drifting))) print(line)
        drifting += lines.length
      }
      print(`${name}: ${subjects} subjects and ${owners} owners recounted, ${drifting} differ`)
      total += drifting
    }
  } finally {
    await stores.close()
  }
  return total === 0
}
