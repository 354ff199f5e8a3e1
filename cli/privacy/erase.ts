/**
 * `tidemark viewer erase ID` removes all that is stored of a viewer, beside the running service, and reports it. With `--verify` it only
 * looks. It asks all places of `cli/stores/erasure.ts` and the exports of `--exports`.
 *
 * The report is kept in `erasures/` of the data folder, or where `--report` says, also if the erasure is incomplete. It is written before the
 * command ends with an error. The time in its name keeps the proof of an earlier erasure of the same viewer.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from '@prometheus-io/client'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { hasFeed } from '../../config/feed.ts'
import type { ViewerId } from '../../core/domain.ts'
import { isTidemarkError, TidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'
import { compactFolder } from '../../stores/lmdb/compact.ts'
import { lockDataFolder } from '../../stores/lmdb/folder-lock.ts'
import { makeFolder } from '../../stores/lmdb/make-folder.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { configInEffect, fixedConfig } from '../process/live-config.ts'
import { makeLog } from '../process/log.ts'
import { readSources, type Flags } from '../process/settings.ts'
import { drainSteps, openParts } from '../process/subgraphs.ts'
import { openErasurePlaces, type ErasurePlace } from '../stores/erasure.ts'
import { openStores, viewJournals } from '../stores/history.ts'
import { tenantsOf } from '../stores/thumbup.ts'
import { checkWritable, explained, writeWholeFile } from '../migrate/whole-file.ts'
import { countInPlaces, eraseInPasses, type PassOptions, type PlaceErased } from './erasure.ts'
import { expiriesOf } from './expiries.ts'
import { openHeldExports } from './held-exports.ts'
import { digestOf, isGenuine, reportOf, requireUsableKey, signReport, type ErasureReport } from './report.ts'

export type EraseFlags = Flags & {
  verify?: boolean
  compact?: boolean
  report?: string
  exports?: string[]
}

/** A persist step that has read contents usually ends within this time: on servers, and in a data folder. */
const SETTLE_MS = { distributed: 1_500, embedded: 300 }
const PASSES_MAX = 6
const ONLY_WRITES = { serves: false, persists: false, journals: false }
const FOLDER = 'erasures'
const OTHER_REPORT = 'name another file with --report'
type Print = (line: string) => void

export async function eraseViewer(viewer: ViewerId, flags: EraseFlags, print: Print): Promise<void> {
  const { config, unread } = await readConfig(flags)
  checkId(viewer, 'the id of the viewer')
  requireUsableKey(config.privacy)
  if (flags.verify === true && flags.compact === true)
    throw new TidemarkError('CONFIG_INVALID', '--verify changes nothing, and --compact rewrites files: give only one of them')
  requireDataFolder(config)
  if (flags.verify === true) return verify(viewer, config, unread, flags, print)
  const folders = flags.compact === true ? await foldersOf(config) : []
  // Before anything is erased: the copy replaces files that no process may have open.
  for (const folder of folders) lockDataFolder(folder).release()
  const startedAt = systemClock.now()
  const path = await openReportPath(viewer, config, flags, startedAt)
  const places = await withPlaces(config, unread, flags, (all) => eraseInPasses(systemClock, viewer, all, passesOf(config, print)))
  const compaction = await compactAll(folders)
  await report(viewer, config, flags, path, { startedAt, places, isCompacted: flags.compact === true && compaction === undefined }, print)
  if (compaction !== undefined) throw compaction
}

/** The error of the first folder that failed. The erasure is over then, so the report comes before the error. */
async function compactAll(folders: readonly string[]): Promise<Error | undefined> {
  try {
    for (const folder of folders) await compactFolder(folder)
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** The live version as a place that fails, if it could not be read. */
type Unread = readonly ErasurePlace[]

/** While Redis is down, the stores of the known businesses that answer are erased, and the erasure is incomplete. */
async function readConfig(flags: EraseFlags): Promise<{ config: Config; unread: Unread }> {
  const settings = readSources(flags)
  try {
    return { config: await configInEffect(settings), unread: [] }
  } catch (error) {
    if (!isTidemarkError(error) || error.code !== 'HOT_STORE_UNAVAILABLE') throw error
    const fail = (): Promise<never> => Promise.reject(error)
    return { config: settings.config, unread: [{ name: 'live configuration', erase: fail, count: fail }] }
  }
}

function passesOf(config: Config, print: Print): PassOptions {
  // A timer of the clock would not keep the process alive.
  const common = { passesMax: PASSES_MAX, settle: () => sleep(SETTLE_MS[shapeOf(config)]) }
  if (shapeOf(config) === 'embedded') return common
  const settleSlow = async (): Promise<void> => {
    print(`waiting         ${config.privacy.settleMs / 1_000} seconds, for jobs that read data before the erasure`)
    await sleep(config.privacy.settleMs)
  }
  return { ...common, settleSlow }
}

function shapeOf({ stores }: Config): ErasureReport['shape'] {
  return stores.redis === undefined ? 'embedded' : 'distributed'
}

/** Opens the stores and the feed's writes, and closes them at the end. */
async function withPlaces<T>(
  config: Config,
  unread: Unread,
  { exports = [] }: EraseFlags,
  use: (places: readonly ErasurePlace[]) => Promise<T>,
): Promise<T> {
  const held = (await Promise.all(exports.map(openHeldExports))).flat()
  const log = makeLog()
  const stores = await openStores(config, systemClock, log)
  try {
    const parts = hasFeed(config) ? await openParts(['feed'], ONLY_WRITES, fixedConfig(config), stores, new Registry(), log) : []
    try {
      const opened = await openErasurePlaces(config, systemClock, stores, eraseFeedOf(parts))
      try {
        return await use([...opened.places, ...held, ...unread])
      } finally {
        await opened.close()
      }
    } finally {
      for (const { run } of drainSteps(parts)) await run()
    }
  } finally {
    await stores.close()
  }
}

function eraseFeedOf(parts: Awaited<ReturnType<typeof openParts>>): ((viewer: ViewerId) => Promise<number>) | undefined {
  const [feed] = parts.flatMap(({ subgraph }) => (subgraph.name === 'feed' ? [subgraph] : []))
  if (feed === undefined) return undefined
  return async (viewer) => Object.values(await feed.erase(viewer)).reduce((sum, count) => sum + count, 0)
}

async function verify(viewer: ViewerId, config: Config, unread: Unread, flags: EraseFlags, print: Print): Promise<void> {
  if (flags.report !== undefined) checkReport(viewer, config, flags.report, print)
  const places = await withPlaces(config, unread, flags, (all) => countInPlaces(viewer, all))
  requireAnswers(viewer, places)
  for (const { place, left = 0 } of places) if (left > 0) print(`${place}  ${left} left`)
  const left = places.reduce((sum, each) => sum + (each.left ?? 0), 0)
  if (left > 0) {
    throw new TidemarkError(
      'ERASURE_INCOMPLETE',
      `${left} entries of the viewer are stored: erase again, unless the viewer wrote them after the erasure`,
    )
  }
  print(`nothing of the viewer in ${places.length} places`)
}

/** Throws CONFIG_INVALID. */
function checkReport(viewer: ViewerId, { privacy }: Config, path: string, print: Print): void {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new TidemarkError('CONFIG_INVALID', `--report ${path} cannot be read (${(cause as Error).message}): name the report`, { cause })
  }
  const found = reportOf(text, path)
  if (found.viewer !== digestOf(viewer, privacy))
    throw new TidemarkError('CONFIG_INVALID', `${path} is about another viewer, or was written with another privacy.secret`)
  const hasKey = privacy.secret !== undefined || privacy.privateKey !== undefined
  if (hasKey && found.signature === undefined)
    throw new TidemarkError('CONFIG_INVALID', `${path} has no signature: the report was changed, or was written without the configured key`)
  if (found.signature === undefined) {
    print(`report of ${found.endedAt}: ${found.status}, without a signature`)
    return print(`UNPROVEN        ${path} has no signature, so changes of it cannot be detected. ${HOW_TO_SIGN}`)
  }
  if (!hasKey) throw new TidemarkError('CONFIG_INVALID', `the signature of ${path} cannot be checked without its key: ${SET_KEY}`)
  if (!isGenuine(found, privacy))
    throw new TidemarkError('CONFIG_INVALID', `the signature of ${path} is wrong: the report was changed, or was signed with another key`)
  print(`report of ${found.endedAt}: ${found.status}, the signature is right`)
}

const SET_KEY = 'set privacy.secret or privacy.privateKey to the key of the erasure'
const HOW_TO_SIGN = 'Set privacy.secret or privacy.privateKey to sign later reports'

async function report(
  viewer: ViewerId,
  config: Config,
  flags: EraseFlags,
  path: string,
  { startedAt, places, isCompacted }: { startedAt: number; places: readonly PlaceErased[]; isCompacted: boolean },
  print: Print,
): Promise<void> {
  const endedAt = systemClock.now()
  let unknown: TidemarkError | undefined
  const expires = await expiriesOf(config, makeLog(), { now: endedAt, isCompacted }).catch((error: unknown) => {
    if (!(error instanceof TidemarkError)) throw error
    unknown = error
    return [{ what: `topics of Kafka, whose retention the brokers did not report (${error.code})`, until: null }]
  })
  const made: ErasureReport = {
    kind: 'tidemark-erasure',
    format: 1,
    viewer: digestOf(viewer, config.privacy),
    shape: shapeOf(config),
    startedAt: new Date(startedAt).toISOString(),
    endedAt: new Date(endedAt).toISOString(),
    status: isComplete(places) && unknown === undefined && isCompacted === (flags.compact === true) ? 'COMPLETE' : 'INCOMPLETE',
    places,
    expires,
  }
  const text = JSON.stringify(signReport(made, config.privacy), undefined, 2)
  printReport(made, print)
  await writeWholeFile(path, async (out) => void out.write(`${text}\n`), OTHER_REPORT)
  print(`report          ${path}`)
  requireAnswers(viewer, places)
  if (unknown !== undefined) throw unknown
  const left = places.reduce((sum, each) => sum + (each.left ?? 0), 0)
  if (left > 0) {
    throw new TidemarkError(
      'ERASURE_INCOMPLETE',
      `${left} entries of the viewer are stored: the viewer still writes, or a change waits for a job. Run the command again later`,
    )
  }
}

function printReport({ status, places, expires }: ErasureReport, print: Print): void {
  const removed = places.filter((each) => each.removed > 0)
  if (removed.length === 0 && status === 'COMPLETE') print('nothing was stored of the viewer')
  for (const each of removed) print(`${each.place}  ${each.removed} removed`)
  for (const { place, left = 0 } of places) if (left > 0) print(`${place}  ${left} left`)
  for (const { what, until } of expires) print(`${until === null ? 'not removed    ' : `until ${until.slice(0, 16)}Z`}  ${what}`)
  print(`erasure         ${status}`)
}

/** Throws the code of the first place that failed. */
function requireAnswers(viewer: ViewerId, places: readonly PlaceErased[]): void {
  const [failed, ...others] = places.filter(({ failure }) => failure !== undefined)
  if (failed?.failure === undefined) return
  const more = others.length === 0 ? '' : ` So did ${others.length} other places.`
  throw new TidemarkError(
    failed.failure.code,
    `${failed.place} failed for viewer ${viewer}: ${failed.failure.message}.${more} The erasure is incomplete: run the command again`,
  )
}

function isComplete(places: readonly PlaceErased[]): boolean {
  return places.every(({ failure, left }) => failure === undefined && left === 0)
}

/** Before anything is erased: an erasure without a report has no proof. Throws CONFIG_INVALID. */
async function openReportPath(viewer: ViewerId, { stores, privacy }: Config, flags: EraseFlags, startedAt: number): Promise<string> {
  const digest = digestOf(viewer, privacy).replace(/^.*:/, '').slice(0, 32)
  const time = new Date(startedAt).toISOString().replaceAll(/[-:.]/g, '')
  const path = flags.report ?? join(stores.data, FOLDER, `${digest}-${time}.json`)
  if (flags.report === undefined) await explained(path, OTHER_REPORT, async () => makeFolder(dirname(path), 0o700))
  await checkWritable(path, OTHER_REPORT)
  return path
}

/** The folders with data files: the stores of the embedded shape, and the journals. */
async function foldersOf(config: Config): Promise<string[]> {
  const { data, redis } = config.stores
  const embedded = redis === undefined ? [data, ...tenantsOf(config).map(({ thumbup }) => thumbup.stores?.data as string)] : []
  const journals = viewJournals(config)
  for (const journal of journals) await journal.close()
  return [...embedded, ...journals.map(({ name }) => join(data, name))]
}
