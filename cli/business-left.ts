/**
 * `tidemark business-left` prints how many marks of a business the stores still hold. The job removes a business with `thumbup.deleted` in
 * chunks, and this command shows when it is done.
 */
import { systemClock } from '../core/clock.ts'
import { COUNTED_MAX } from '../subgraphs/thumbup/stores/hot-store.ts'
import { openStores } from './stores/history.ts'
import { businessOf } from './business-of.ts'
import { requireDataFolder } from './process/data-folder.ts'
import { readSettingsInEffect } from './process/live-config.ts'
import { makeLog } from './process/log.ts'
import type { Flags } from './process/settings.ts'

/** Resolves to false if anything is left of a business that is deleted. */
export async function businessLeft(name: string, flags: Flags, print: (line: string) => void): Promise<boolean> {
  const config = await readSettingsInEffect(flags)
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
    print(told === undefined ? 'events          in topics, until their retention ends' : `events          ${told}`)
    const isEmpty = rows + blocks + subjects + owners + viewers + kept + (told ?? 0) === 0
    if (!thumbup.deleted) print(`business "${name}" is not deleted: set its thumbup.deleted, and the job removes its marks`)
    else
      print(
        isEmpty
          ? `nothing is left of business "${name}"`
          : `the job is removing business "${name}": ask again later, and check that the job runs`,
      )
    return isEmpty || !thumbup.deleted
  } finally {
    await stores.close()
  }
}

/** Some stores stop counting at this number. */
function atLeast(count: number): string {
  return count < COUNTED_MAX ? String(count) : `${count} or more`
}
