/** `tidemark inspect` prints the contents of the stores. It may run beside a service. */
import { systemClock } from '../core/clock.ts'
import { TidemarkError } from '../core/errors.ts'
import { checkId } from '../core/keys.ts'
import { openStores, type OpenStores } from './stores/history.ts'
import type { ViewerData } from '../pages/console/answer.ts'
import { requireDataFolder } from './process/data-folder.ts'
import { sentenceOfAside, writeFilters } from './inspect-seen.ts'
import { readSettingsInEffect } from './process/live-config.ts'
import { makeLog } from './process/log.ts'
import type { Flags } from './process/settings.ts'
import { readViewer } from './viewer-data.ts'

const ASIDE_MAX = 20

export type InspectFlags = Flags & {
  /** A folder. */
  filters?: string
}

export async function inspect(what: string, id: string | undefined, flags: InspectFlags, print: (line: string) => void): Promise<void> {
  const config = await readSettingsInEffect(flags)
  if (what !== 'viewer' && what !== 'stores')
    throw new TidemarkError('CONFIG_INVALID', `inspect cannot show "${what}": use viewer or stores`)
  if (what === 'viewer') checkId(id ?? '', 'the id of the viewer')
  else if (flags.filters !== undefined)
    throw new TidemarkError('CONFIG_INVALID', '--filters writes the filters of one viewer: use inspect viewer ID')
  requireDataFolder(config)
  const stores = await openStores(config, systemClock, makeLog())
  try {
    if (what === 'stores') await inspectStores(stores, print)
    else printViewer(await readViewer(stores, id as string, config), print)
    if (flags.filters !== undefined) await writeFilters(stores.seen, id as string, flags.filters, print)
  } finally {
    await stores.close()
  }
}

async function inspectStores(stores: OpenStores, print: (line: string) => void): Promise<void> {
  print(`record store    ${await stores.records.countProgress()} rows`)
  print(`dirty marks     ${await stores.hot.countDirty()}`)
  print(`flush messages  ${await stores.log.lag()} not yet persisted`)
  print(`play messages   ${await stores.seen.log.lag()} not yet staged`)
  if (stores.feed !== undefined) {
    print(`posts           ${await stores.feed.records.countPosts()} persisted`)
    print(`dirty posts     ${await stores.feed.hot.countDirty()}, filter words included`)
    print(`feed messages   ${await stores.feed.log.lag()} not yet persisted`)
  }
  const count = await stores.seen.records.countQuarantined()
  print(`filters         ${count} are quarantined`)
  const aside = await stores.seen.records.listQuarantined(ASIDE_MAX)
  for (const each of aside) print(`  viewer ${each.viewer}: ${sentenceOfAside(each)}`)
  if (count > aside.length) print(`  … and ${count - aside.length} more`)
}

function printViewer(data: ViewerData, print: (line: string) => void): void {
  print(`viewer ${data.viewer}, region ${data.region} of ${data.regions}, history ${data.paused ? 'paused' : 'on'}`)
  for (const { business, upTo } of data.cleared) print(`cleared ${business} up to ${new Date(upTo).toISOString()}`)
  for (const { business, id, position, duration, finished, viewedAt, persisted } of data.entries)
    print(
      `${new Date(viewedAt).toISOString()}  ${business}/${id}  ${position} of ${duration}${finished ? ' finished' : ''}  ${persisted ? 'persisted' : 'dirty'}`,
    )
  const { length } = data.entries
  print(data.hasMoreEntries ? `… and more than these ${length} entries of the history` : `${length} entries of the history`)
  for (const { business, id, markedAt } of data.likes) print(`${new Date(markedAt).toISOString()}  liked ${business}/${id}`)
  for (const { business, id, markedAt } of data.dislikes) print(`${new Date(markedAt).toISOString()}  disliked ${business}/${id}`)
  for (const line of data.seen.length === 0 ? ['nothing seen'] : data.seen) print(line)
  for (const line of data.feed.length === 0 ? ['nothing in the feed'] : data.feed) print(line)
}
