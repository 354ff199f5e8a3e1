/**
 * `tidemark reconcile` recounts all stored marks of all businesses in the record stores, all follows, and the posts of the feed. No other
 * part of a deployment needs to run. A printed difference of marks is a bug: a count is always the number of rows in that state. Counts of
 * posts can differ after a long outage of the record store.
 */
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../core/clock.ts'
import type { BusinessConfig, Config } from '../config/config.ts'
import { hasFeed, postBusinessOf } from '../config/feed.ts'
import { saysDown } from '../core/outage/degraded.ts'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import { openMarkRecords, type OpenMarkRecords } from './stores/thumbup.ts'
import { FOLLOWS } from '../subgraphs/thumbup/businesses.ts'
import { reconcileWhole } from '../subgraphs/thumbup/persist/whole-reconciliation.ts'
import { USERS } from '../subgraphs/feed/model/post-events.ts'
import { CLOCK_DIFFERENCE_MS, recountPosts, type PostDrift } from '../subgraphs/feed/counters/recount.ts'
import { repairPosts } from '../subgraphs/feed/counters/repair.ts'
import { counterSchemasOf } from '../subgraphs/feed/counters/schemas.ts'
import type { FeedHotStore } from '../subgraphs/feed/stores/hot-store.ts'
import { readSettingsInEffect } from './process/live-config.ts'
import { makeLog } from './process/log.ts'
import type { Reconciled } from './program/reconcile-status.ts'
import { openStores } from './stores/history.ts'
import { openFeedRecords } from './stores/feed.ts'
import { businessOf } from './business-of.ts'
import { requireDataFolder } from './process/data-folder.ts'
import type { Flags } from './process/settings.ts'

/** Drifting subjects and owners of one business that are printed. All of them are counted. */
const PRINTED_MAX = 100

/** A business that cannot be recounted does not stop the others. */
export async function reconcile(
  flags: Flags & { business?: string; repair?: boolean },
  print: (line: string) => void,
): Promise<Reconciled> {
  const config = await readSettingsInEffect(flags)
  const businesses =
    flags.business === undefined
      ? [...config.businesses.filter(({ thumbup }) => thumbup.enabled), ...(hasFeed(config) ? [FOLLOWS] : [])]
      : [businessOf(config, flags.business)]
  requireDataFolder(config)
  const stores = await openMarkRecords(config, systemClock)
  const total: Reconciled = { drifting: 0, unchecked: 0, unreadable: 0 }

  async function counting(name: string, count: () => Promise<void>): Promise<void> {
    try {
      await count()
    } catch (error) {
      if (saysDown(error, 'recordStore')) total.unchecked++
      else total.unreadable++
      print(`${name}: not recounted completely: ${sentenceOf(error)}`)
    }
  }

  const posts = hasFeed(config) ? postBusinessOf(config) : undefined
  try {
    for (const business of businesses) await counting(business.name, () => reconcileOne(stores, business, total, print))
    if (posts !== undefined && (flags.business ?? posts.name) === posts.name)
      await counting(`posts of ${posts.name}`, () => reconcilePosts(config, posts, flags.repair === true, total, print))
  } finally {
    await stores.close()
  }
  return total
}

/** Adds each difference to the total at once, because the store may fail later. */
async function reconcileOne(
  stores: OpenMarkRecords,
  { name, number }: BusinessConfig,
  total: Reconciled,
  print: (line: string) => void,
): Promise<void> {
  let [subjects, owners, drifting, unreadable] = [0, 0, 0, 0]
  for await (const page of reconcileWhole(stores.of(number), number)) {
    subjects += page.subjects
    owners += page.owners
    const unread = page.leftOut.map(({ what, error }) => `UNREAD ${name}${what}: ${sentenceOf(error)}`)
    for (const line of unread.slice(0, Math.max(0, PRINTED_MAX - unreadable))) print(line)
    unreadable += unread.length
    total.unreadable += unread.length
    const lines = [
      ...page.drift.map(
        ({ oid, counts, rows }) =>
          `DRIFT  ${name}/${oid}: ${counts.likes} likes and ${counts.dislikes} dislikes are counted, ${rows.likes} and ${rows.dislikes} are stored`,
      ),
      ...page.ownerDrift.map(
        ({ owner, likes, summed }) => `DRIFT  ${name}, owner ${owner}: ${likes} likes received are counted, the subjects have ${summed}`,
      ),
    ]
    for (const line of lines.slice(0, Math.max(0, PRINTED_MAX - drifting))) print(line)
    drifting += lines.length
    total.drifting += lines.length
  }
  print(
    `${name}: ${subjects} subjects and ${owners} owners recounted, ${drifting} differ${unreadable > 0 ? `, ${unreadable} cannot be counted` : ''}`,
  )
}

/** A job persists the counts of a post some seconds after the post. */
const POSTS_SETTLE_MS = 5_000

async function reconcilePosts(
  config: Config,
  { name, number }: BusinessConfig,
  repairs: boolean,
  total: Reconciled,
  print: (line: string) => void,
): Promise<void> {
  const startedAt = systemClock.now()
  const stores = repairs ? await openStores(config, systemClock, makeLog()) : undefined
  const records = await openFeedRecords(config, systemClock)
  try {
    if (stores?.feed !== undefined) await requirePersisted(stores.feed.hot, config.stores.regions, startedAt)
    const settle = () => setTimeout(config.feed.countsWindowMs + POSTS_SETTLE_MS)
    const { subjects, drift } = await recountPosts(records, number, startedAt, settle)
    total.drifting += drift.length
    for (const each of drift.slice(0, PRINTED_MAX)) print(postLine(name, each))
    print(`posts of ${name}: counts of ${subjects} users and posts recounted, ${drift.length} differ`)
    if (stores?.feed === undefined || drift.length === 0) return
    const repaired = await repairPosts(systemClock, stores.feed.counters, counterSchemasOf(config), drift)
    print(`posts of ${name}: ${repaired} counts repaired`)
  } finally {
    await records.close()
    await stores?.close()
  }
}

/** A post whose count is persisted, but which is not persisted itself, would be taken for a difference. */
async function requirePersisted(hot: Pick<FeedHotStore, 'listDirty'>, regions: number, startedAt: number): Promise<void> {
  const waiting = await hot.listDirty([...Array(regions).keys()], startedAt - CLOCK_DIFFERENCE_MS, 1)
  if (waiting.length === 0) return
  const message = 'posts wait for longer than a minute to be persisted, so counts cannot be repaired: start a job of the feed, and repeat'
  throw new TidemarkError('RECORD_STORE_UNAVAILABLE', message)
}

function postLine(name: string, { subject, counted, stored }: PostDrift): string {
  const [owner, what] = subject.business === USERS ? [`user ${subject.oid}`, 'posts'] : [`${name}/${subject.oid}`, 'reposts']
  return `DRIFT  ${owner}: ${counted} ${what} are counted, ${stored} are stored`
}

function sentenceOf(error: unknown): string {
  return isTidemarkError(error) ? `${error.code}: ${error.message}` : String(error)
}
