/** Assembles the subgraphs of a process with their journals, jobs, metrics and shutdown steps. */
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { guardsResume } from '../../config/feed-existence.ts'
import type { DrainStep } from './drain.ts'
import type { LiveConfig } from './live-config.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Journals } from '../../writeback/journal.ts'
import { openMarkJournals, tenantsOf } from '../stores/thumbup.ts'
import { openAudience } from '../stores/audience.ts'
import type { TieredCache } from '../../cache/tiered-cache.ts'
import type { StageWritten } from '../../core/written-reports.ts'
import { hasFeed } from '../../config/feed.ts'
import { openFeedCache } from '../stores/feed-cache.ts'
import { withFollowChanges } from '../stores/follow-changes.ts'
import { openJournals, type OpenStores } from '../stores/history.ts'
import { servedSubgraphs } from '../../subgraphs/catalog.ts'
import { makeExistenceSubgraph, type ExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { makeFeedSubgraph, type FeedSubgraph } from '../../subgraphs/feed/index.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../subgraphs/history/index.ts'
import { SUBGRAPH_NAMES, subgraphNamesText, type SubgraphName } from '../../subgraphs/names.ts'
import { makeThumbupSubgraph, type ThumbupSubgraph } from '../../subgraphs/thumbup/index.ts'
import { startCountFeeds } from '../metrics/count-feeds.ts'
import { addFeedJobMetrics, addFeedMetrics } from '../metrics/feed-metrics.ts'
import { addExistenceJobMetrics, addExistenceMetrics, addHistoryHelpMetrics, addLegacyMetrics } from '../metrics/existence-metrics.ts'
import { addMarkJobMetrics, addMarkMetrics, type MeasuredMarkStores } from '../metrics/mark-metrics.ts'
import { reporter } from './reporter.ts'
import { addRecordReadMetrics } from '../metrics/record-read-metrics.ts'
import { addTenantMetrics, type MeasuredTenants } from '../metrics/tenant-metrics.ts'
import { addJobMetrics, addServiceMetrics } from '../metrics/write-back-metrics.ts'

/** Throws CONFIG_INVALID. `what`: subgraph or job. */
export function checkName(name: string, what: string): SubgraphName {
  const found = SUBGRAPH_NAMES.find((each) => each === name)
  if (found !== undefined) return found
  throw new TidemarkError('CONFIG_INVALID', `there is no ${what} "${name}": use ${subgraphNamesText()}`)
}

/** A subgraph that the configuration leaves out cannot run alone. Throws CONFIG_INVALID. */
export function requireServed(name: SubgraphName, config: Config): void {
  if (servedSubgraphs(config).includes(name)) return
  const remedy = name === 'feed' ? 'name one in feed.business' : 'set thumbup.enabled of one'
  throw new TidemarkError('CONFIG_INVALID', `no business has ${name}: ${remedy}`)
}

export type Purpose = {
  /** Whether the process takes requests. */
  serves: boolean
  persists: boolean
  /** Whether the process may need journals. The embedded shape never does, and a worker of `--workers` never does. */
  journals: boolean
}

type Job = { stop(): Promise<void> }

/** One subgraph in a process. */
export type Part = {
  name: SubgraphName
  subgraph: HistorySubgraph | ThumbupSubgraph | ExistenceSubgraph | FeedSubgraph
  job: Job | undefined
  closeJournals(): Promise<void>
}

/** The wanted subgraphs that this configuration serves. Their jobs run when it resolves. */
export async function openParts(
  wanted: readonly SubgraphName[],
  purpose: Purpose,
  live: LiveConfig,
  stores: OpenStores,
  registry: Registry,
  log: Logger,
): Promise<Part[]> {
  const { config } = live
  const names = servedSubgraphs(config).filter((name) => wanted.includes(name))
  const isShared = names.includes('feed-existence')
  const helpsHistory = isShared || config.existence.fromHistory || guardsResume(config.existence)
  let made: ExistenceSubgraph | undefined
  const existence = () => (made ??= makeExistence(config, stores, log))
  let madeMarks: MadeMarks | undefined
  let madeFeed: MadeFeed | undefined
  const feed = () => (madeFeed ??= makeFeed(marks(), live, stores, log))
  const marks = () => (madeMarks ??= makeMarks(purpose, config, stores, log))
  const open: Readonly<Record<SubgraphName, () => Promise<Part>>> = {
    history: async () =>
      openHistory(purpose, config, stores, registry, log, helpsHistory ? existence() : undefined, isShared, readCounter()),
    thumbup: () => openThumbup(purpose, marks(), config, stores, registry, log),
    'feed-existence': () => openExistence(purpose, existence(), stores, registry),
    feed: async () => openFeed(purpose, marks(), feed(), stores, registry, names.includes('thumbup')),
  }

  /** Counts the reads of posts among reports. The feed serves history; unless it is also a part of this process, it ends with history. */
  function readCounter(): ReadCounter | undefined {
    if (!purpose.serves || !hasFeed(config) || config.feed.readSample === 0) return undefined
    if (names.includes('feed')) return { countReads: feed().subgraph.countReads, close: () => Promise.resolve() }
    const helper = makeMarks({ ...purpose, journals: false }, config, stores, log)
    const { subgraph, cache } = makeFeed(helper, live, stores, log)
    return {
      countReads: subgraph.countReads,
      async close() {
        await subgraph.drain()
        await cache.stop()
        helper.stopAudience()
        await helper.subgraph.drain()
      },
    }
  }

  const parts: Part[] = []
  for (const name of names) parts.push(await open[name]())
  if (purpose.serves) addTenantMetrics(registry, tenantsByCapability(parts))
  return parts
}

function tenantsByCapability(parts: readonly Part[]): MeasuredTenants {
  return Object.fromEntries(parts.flatMap(({ name, subgraph }) => ('tenants' in subgraph ? [[name, subgraph.tenants]] : [])))
}

/** `existence` serves history. Unless it is also a part of this process (`isShared`), it ends together with history. */
async function openHistory(
  purpose: Purpose,
  config: Config,
  stores: OpenStores,
  registry: Registry,
  log: Logger,
  existence: ExistenceSubgraph | undefined,
  isShared: boolean,
  reads: ReadCounter | undefined,
): Promise<Part> {
  const journals = purpose.journals ? openJournals(config) : undefined
  const help = {
    mayHavePlayed: guardsResume(config.existence) ? existence?.mayHavePlayed : undefined,
    recordPlays: config.existence.fromHistory ? existence?.recordPlays : undefined,
    stageWritten: withReads(reads, config.existence.fromHistory ? existence?.stageWritten : undefined),
  }
  const subgraph = makeHistorySubgraph(systemClock, { ...stores, journals }, config, reporter(log), {}, help)
  const job = purpose.persists ? await subgraph.startJob() : undefined
  if (purpose.serves) {
    addServiceMetrics(registry, subgraph, journals)
    addRecordReadMetrics(registry, 'tidemark', 'history', () => [subgraph.figures().recordReads])
  }
  if (job !== undefined) addJobMetrics(registry, job, stores)
  if (existence !== undefined) {
    addHistoryHelpMetrics(registry, existence)
    // Early folds and write-backs to the legacy store happen in this process too.
    if (!isShared && stores.seen.legacy !== undefined) addLegacyMetrics(registry, existence)
  }
  return {
    name: 'history',
    subgraph,
    job,
    async closeJournals() {
      await journals?.close()
      if (!isShared) await existence?.drain()
      await reads?.close()
    },
  }
}

type MadeMarks = { subgraph: ThumbupSubgraph; journals: readonly Journals[]; stopAudience(): void }

function makeMarks(purpose: Purpose, config: Config, stores: OpenStores, log: Logger): MadeMarks {
  const journals: Journals[] = []
  const journalsOf = (tenant?: Config['businesses'][number]): Journals | undefined => {
    const opened = purpose.journals ? openMarkJournals(config, tenant) : undefined
    if (opened !== undefined) journals.push(opened)
    return opened
  }
  const tenants = new Map(
    tenantsOf(config).flatMap((tenant) => {
      const own = stores.tenants.get(tenant.number)
      return own === undefined ? [] : [[tenant.number, { ...own, journals: journalsOf(tenant) }] as const]
    }),
  )
  const { feed } = stores
  const hot = feed === undefined ? stores.marks.hot : withFollowChanges(stores.marks.hot, feed, systemClock, config.feed.keepMs)
  const marks = { ...stores.marks, hot, journals: journalsOf() }
  const audience = feed && openAudience(systemClock, feed, config)
  const subgraph = makeThumbupSubgraph(systemClock, marks, config, reporter(log), { tenants, ...(audience && { audience }) })
  return { subgraph, journals, stopAudience: () => audience?.stop() }
}

async function openThumbup(
  purpose: Purpose,
  { subgraph, journals, stopAudience }: MadeMarks,
  config: Config,
  stores: OpenStores,
  registry: Registry,
  log: Logger,
): Promise<Part> {
  void subgraph.lookAtTenants()
  const job = purpose.persists ? await subgraph.startJob() : undefined
  const feeds = purpose.persists ? await startCountFeeds(config, stores, subgraph, registry, log) : undefined
  if (purpose.serves) addMarkMetrics(registry, subgraph, journals)
  if (job !== undefined) addMarkJobMetrics(registry, job, measuredOf(config, stores))
  return {
    name: 'thumbup',
    subgraph,
    job: job && { stop: () => stopBoth(feeds, job) },
    closeJournals() {
      stopAudience()
      return closeJournals(journals)
    },
  }
}

type MadeFeed = { subgraph: FeedSubgraph; cache: TieredCache }

function makeFeed({ subgraph: marks }: MadeMarks, live: LiveConfig, stores: OpenStores, log: Logger): MadeFeed {
  if (stores.feed === undefined) throw new Error('the stores of the feed were not opened')
  const cache = openFeedCache(live, systemClock, log)
  return { subgraph: makeFeedSubgraph(systemClock, { ...stores.feed, cache }, marks.follows, live.config, reporter(log)), cache }
}

type ReadCounter = Pick<FeedSubgraph, 'countReads'> & { close(): Promise<void> }

/** A report is counted when it is written. Its acknowledgement does not wait for the count. */
function withReads(reads: ReadCounter | undefined, stage: StageWritten | undefined): StageWritten | undefined {
  if (reads === undefined) return stage
  return async (written) => {
    reads.countReads(written)
    return (await stage?.(written)) ?? []
  }
}

/** `marks` keep the follows. Unless they are also a part of this process (`isShared`), they end together with the feed. */
async function openFeed(
  purpose: Purpose,
  { subgraph: marks, journals, stopAudience }: MadeMarks,
  { subgraph, cache }: MadeFeed,
  stores: OpenStores,
  registry: Registry,
  isShared: boolean,
): Promise<Part> {
  const job = purpose.persists ? await subgraph.startJob() : undefined
  // In the distributed shape the job of thumbup persists follows. On embedded stores, this process is alone.
  const marksJob = purpose.persists && purpose.serves && !isShared ? await marks.startJob() : undefined
  if (purpose.serves) addFeedMetrics(registry, subgraph)
  if (job !== undefined) addFeedJobMetrics(registry, job, stores.feed as NonNullable<OpenStores['feed']>)
  return {
    name: 'feed',
    subgraph,
    job,
    async closeJournals() {
      await cache.stop()
      if (isShared) return
      stopAudience()
      await marks.drain()
      await marksJob?.stop()
      await closeJournals(journals)
    },
  }
}

async function closeJournals(all: readonly Journals[]): Promise<void> {
  await Promise.all(all.map((journals) => journals.close()))
}

/** Each store once: a business with only its own database uses the common hot store. */
export function measuredOf(config: Config, { marks, tenants }: Pick<OpenStores, 'marks' | 'tenants'>): MeasuredMarkStores[] {
  const own = tenantsOf(config).flatMap(({ number, name, thumbup }) => {
    const stores = tenants.get(number)
    if (stores === undefined) return []
    const { data, redis, mysql } = thumbup.stores ?? {}
    return {
      business: name,
      log: stores.log,
      ...((data ?? redis) !== undefined && { hot: stores.hot }),
      ...((data ?? mysql) !== undefined && { records: stores.records }),
    }
  })
  return [{ business: '', ...marks }, ...own]
}

function makeExistence(config: Config, stores: OpenStores, log: Logger): ExistenceSubgraph {
  return makeExistenceSubgraph(systemClock, { ...stores.seen, history: stores.records, rewards: stores.log }, config, reporter(log))
}

/** Feed existence has no journal: while the hot store is down or full, plays go to the log, and issues are not recorded. */
async function openExistence(purpose: Purpose, subgraph: ExistenceSubgraph, stores: OpenStores, registry: Registry): Promise<Part> {
  const job = purpose.persists ? await subgraph.startJob() : undefined
  if (purpose.serves) {
    await subgraph.start()
    addExistenceMetrics(registry, subgraph)
  }
  if (job !== undefined) addExistenceJobMetrics(registry, job, stores.seen)
  if (stores.seen.legacy !== undefined) addLegacyMetrics(registry, subgraph)
  // Drained once more after the jobs, because plays that they staged may send rewards.
  return { name: 'feed-existence', subgraph, job, closeJournals: () => subgraph.drain() }
}

/** The steps of a shutdown between the last request and the closing of the stores. */
export function drainSteps(parts: readonly Part[]): DrainStep[] {
  return [
    { name: 'flush', run: () => forAll(parts, ({ subgraph }) => subgraph.drain()) },
    { name: 'job', run: () => forAll(parts, async ({ job }) => job?.stop()) },
    { name: 'journal', run: () => forAll(parts, (part) => part.closeJournals()) },
  ]
}

export function subgraphsOf(parts: readonly Part[]): Part['subgraph'][] {
  return parts.map(({ subgraph }) => subgraph)
}

/** The feeds that refresh caches stop before the job that changes the counts. */
async function stopBoth(feeds: Job | undefined, job: Job): Promise<void> {
  await feeds?.stop()
  await job.stop()
}

async function forAll(parts: readonly Part[], run: (part: Part) => Promise<void>): Promise<void> {
  await Promise.all(parts.map(run))
}
