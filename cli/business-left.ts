/**
 * `tidemark business-left`: what the stores still hold of a business's marks. Of one whose `thumbup.deleted` is set the job
 * removes everything in chunks; this says when it is done.
 */
import { systemClock } from '../core/clock.ts'
import { COUNTED_MAX } from '../subgraphs/thumbup/stores/hot-store.ts'
import { openStores } from './stores/history.ts'
import { businessOf } from './business-of.ts'
import { requireDataFolder } from './process/data-folder.ts'
import { makeLog } from './process/log.ts'
import { readSettings, type Flags } from './process/settings.ts'

/** Resolves to false if anything is left of a business that is deleted. */
export async function businessLeft(name: string, flags: Flags, print: (line: string) => void): Promise<boolean> {
  const config = readSettings(flags)
  const { number, thumbup } = businessOf(config, name)
  requireDataFolder(config)
  const stores = await openStores(config, systemClock, makeLog())
  try {
    const { hot, cache, records, events } = stores.tenants.get(number) ?? stores.marks
    const [{ rows, blocks, subjects, owners }, viewers, kept, told] = await Promise.all([
      records.measureBusiness(number),
      hot.countViewers(number),
      cache.countKept(number),
      events.countEvents?.(number),
    ])
    print(`record store    ${rows} rows, ${blocks} blocks of the archive, ${subjects} subjects, ${owners} owners`)
    print(`hot store       marks of ${atLeast(viewers)} viewers`)
    print(`count cache     ${atLeast(kept)} keys`)
    print(told === undefined ? 'events          are in topics, which keep them until their retention ends' : `events          ${told}`)
    const isEmpty = rows + blocks + subjects + owners + viewers + kept + (told ?? 0) === 0
    if (!thumbup.deleted) print(`business "${name}" is not deleted: set its thumbup.deleted, and the job removes all of it`)
    else
      print(isEmpty ? `nothing is left of business "${name}"` : `the job is removing business "${name}": ask again, or see whether it runs`)
    return isEmpty || !thumbup.deleted
  } finally {
    await stores.close()
  }
}

/** Some stores count no further. */
function atLeast(count: number): string {
  return count < COUNTED_MAX ? String(count) : `${count} or more`
}
