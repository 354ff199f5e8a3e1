/** `tidemark inspect` prints the contents of the stores. It may run beside a service. */
import { systemClock } from '../core/clock.ts'
import { makeBusinesses } from '../config/businesses.ts'
import { TidemarkError } from '../core/errors.ts'
import { checkId } from '../core/keys.ts'
import { complete } from '../core/outage/degraded.ts'
import { regionOf } from '../core/regions.ts'
import { openStores, type OpenStores } from './stores/history.ts'
import { readTimeline } from '../subgraphs/history/read/timeline.ts'
import { requireDataFolder } from './process/data-folder.ts'
import { inspectSeen, sentenceOfAside, writeFilters } from './inspect-seen.ts'
import { makeLog } from './process/log.ts'
import { readSettings, type Flags } from './process/settings.ts'

const LINES_MAX = 50
const ASIDE_MAX = 20

export type InspectFlags = Flags & {
  /** A folder. */
  filters?: string
}

export async function inspect(what: string, id: string | undefined, flags: InspectFlags, print: (line: string) => void): Promise<void> {
  const config = readSettings(flags)
  if (what !== 'viewer' && what !== 'stores')
    throw new TidemarkError('CONFIG_INVALID', `inspect cannot show "${what}": use viewer or stores`)
  if (what === 'viewer') checkId(id ?? '', 'the id of the viewer')
  else if (flags.filters !== undefined)
    throw new TidemarkError('CONFIG_INVALID', '--filters writes the filters of one viewer: use inspect viewer ID')
  requireDataFolder(config)
  const stores = await openStores(config, systemClock, makeLog())
  try {
    if (what === 'stores') await inspectStores(stores, print)
    else await inspectViewer(stores, id as string, config, print)
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
  const count = await stores.seen.records.countQuarantined()
  print(`filters         ${count} are quarantined`)
  const aside = await stores.seen.records.listQuarantined(ASIDE_MAX)
  for (const each of aside) print(`  viewer ${each.viewer}: ${sentenceOfAside(each)}`)
  if (count > aside.length) print(`  … and ${count - aside.length} more`)
}

async function inspectViewer(
  stores: OpenStores,
  viewer: string,
  config: ReturnType<typeof readSettings>,
  print: (line: string) => void,
): Promise<void> {
  const businesses = makeBusinesses(config.businesses)
  const settings = await stores.hot.getSettings(viewer)
  const page = await complete((without) =>
    readTimeline(stores.hot, stores.records, viewer, businesses.numbers, undefined, LINES_MAX, without),
  ).catch(async (error: unknown) => {
    // Their errors name the server and the reason.
    await Promise.all([stores.hot.check(), stores.records.check()])
    throw error
  })
  const keys = page.entries.map(({ business, oid }) => ({ viewer, business, oid }))
  const rows = await stores.records.getProgressMany(keys)
  print(
    `viewer ${viewer}, region ${regionOf(viewer, config.stores.regions)} of ${config.stores.regions}, history ${settings.paused ? 'paused' : 'on'}`,
  )
  for (const [business, clearedAt] of Object.entries(settings.clearedAt)) {
    print(`cleared ${businesses.byNumber(Number(business))?.name ?? business} up to ${new Date(clearedAt).toISOString()}`)
  }
  page.entries.forEach(({ business, oid, record }, index) => {
    const name = businesses.byNumber(business)?.name ?? String(business)
    const state = rows[index]?.version === record.version ? 'persisted' : 'dirty'
    print(
      `${new Date(record.viewedAt).toISOString()}  ${name}/${oid}  ${record.position} of ${record.duration}${record.finished ? ' finished' : ''}  ${state}`,
    )
  })
  print(page.hasNextPage ? `… and more than these ${LINES_MAX} entries of the history` : `${page.entries.length} entries of the history`)
  await inspectSeen(stores.seen, viewer, businesses, print)
}
