/**
 * Journaled writes were acknowledged while Redis was down, and are not in Redis yet. A backup of the distributed shape does not have them.
 */
import { existsSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { viewJournals } from '../stores/history.ts'

/** The number of writes that wait in the journals of the data folder. Call it before the copy: a write that is applied later may be missing. */
export async function countJournaled(config: Config): Promise<number> {
  let count = 0
  for (const view of viewJournals(config)) {
    try {
      count += (await view.count()).waiting
    } finally {
      await view.close()
    }
  }
  return count
}

export function describeJournaled({ stores }: Config, count: number): string {
  // A backup may run on a machine without processes, which has no data folder. So a missing folder is not an error.
  if (!existsSync(stores.data))
    return `${stores.data} does not exist, so no journal was read: check with "tidemark journal" that every machine with processes shows 0 waiting`
  if (count === 0)
    return 'no write waits in the journals of this machine; those of other machines must be empty, too (tidemark_journal_waiting_entries)'
  return `${count} ${count === 1 ? 'write' : 'writes'} in the journals of ${stores.data} may be missing in the backup: make another one when "tidemark journal" shows 0 waiting on every machine`
}
