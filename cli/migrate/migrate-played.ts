/**
 * `tidemark migrate-played` migrates viewers from a Redis of sorted sets. It lists them in the current slot of the ring, at a given pace.
 * The job of feed existence folds in their sets when the hour is over. The command then waits until all viewers are marked as migrated, and
 * verifies them with --verify.
 *
 * The command may be killed at any point and started again: a viewer who is listed twice, or was migrated before, is folded in once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { makeConfig, type Config } from '../../config/config.ts'
import { legacyBusinesses, type LEGACY_SCORES } from '../../config/legacy.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { restOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { LegacyPlays } from '../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { openStores, type OpenStores } from '../stores/history.ts'
import { liveness } from '../../subgraphs/feed-existence/migration/legacy.ts'
import { businessOf } from '../business-of.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import { makeLog } from '../process/log.ts'
import { listViewers, marksOf, noSet } from './migration-listing.ts'
import { keepPlace } from './migration-place.ts'
import { makeRepair } from './migration-repair.ts'
import { verifyViewer } from './migration-verify.ts'
import { runWithProgressBar } from '../replay/progress-bar.ts'
import { secretText } from '../process/secret-text.ts'
import type { Flags } from '../process/settings.ts'
import { inBatches, readViewers, type ViewerLine } from './viewers-file.ts'

export type MigrateFlags = Flags & {
  users: string
  from?: string
  username?: string
  password?: string
  key?: string
  score?: (typeof LEGACY_SCORES)[number]
  business?: string[]
  /** Viewers listed per second. */
  rate: number
  /** The file with the progress of the listing. */
  resume?: string
  dryRun?: boolean
  wait: boolean
  /** The command stops waiting if no viewer was folded in for this many minutes. */
  patience: number
  verify?: boolean
  verifyOnly?: boolean
  /** One viewer in this number is verified. */
  sample: number
  repair?: boolean
}

type Run = {
  flags: MigrateFlags
  config: Config
  stores: OpenStores
  legacy: LegacyPlays
  businesses: readonly BusinessNumber[]
  print: (line: string) => void
  /** Printed sentences. A later step does not repeat one. */
  told: Set<string>
  /** The job folds in all listed viewers from this time on, in ms since the epoch. Undefined while none is listed. */
  restsAt?: number
}

const BATCH = 500
const NAMED_MAX = 20
const ASK_EVERY_MS = 1_000
const MINUTE_MS = 60_000

/** Resolves to false if something is wrong with a viewer, is missing, or is not migrated. */
export async function migratePlayed(flags: MigrateFlags, print: (line: string) => void): Promise<boolean> {
  checkFlags(flags)
  const config = await settingsOf(flags)
  const businesses = businessesOf(config, flags)
  requireDataFolder(config)
  const stores = await openStores(config, systemClock, makeLog())
  try {
    const { legacy } = stores.seen
    if (legacy === undefined) throw new TidemarkError('CONFIG_INVALID', NO_LEGACY)
    await legacy.check()
    const run: Run = { flags, config, stores, legacy, businesses, print, told: new Set() }
    if (flags.verifyOnly !== true) {
      const isListed = await list(run)
      if (flags.dryRun === true) return isListed
      const isDone = !flags.wait || (await waited(run))
      if (flags.verify !== true) return isListed && isDone
      // After a wait in vain, the advice is not to wait.
      return (await verify(run, isDone ? 'wait for the job, or list them again' : 'as said above')) && isListed && isDone
    }
    return await verify(run, 'wait for the job, or list them again')
  } finally {
    await stores.close()
  }
}

const NO_LEGACY = `existence.legacy is not set, so services and jobs do not know the legacy store: write "existence: { legacy: { urls: ['redis://host:6379'] } }" into tidemark.yaml (or TIDEMARK_LEGACY_URL), restart them, and then list viewers`

/** Rejects combinations of flags in which one has no effect. */
function checkFlags({ dryRun, verify, verifyOnly, repair }: MigrateFlags): void {
  if (dryRun === true && verifyOnly === true)
    throw new TidemarkError(
      'CONFIG_INVALID',
      '--verify-only changes nothing without --repair, so it needs no --dry-run: leave one of them out',
    )
  if (repair === true && verify !== true && verifyOnly !== true)
    throw new TidemarkError('CONFIG_INVALID', '--repair records the plays that a verification finds missing: add --verify or --verify-only')
}

/** The settings of services and jobs, completed by flags. A flag that contradicts a setting is a mistake. */
async function settingsOf(flags: MigrateFlags): Promise<Config> {
  const config = await readSettingsInEffect(flags)
  const { legacy } = config.existence
  if (legacy === undefined && flags.dryRun !== true) throw new TidemarkError('CONFIG_INVALID', NO_LEGACY)
  for (const name of ['key', 'score'] as const) {
    if (legacy === undefined || flags[name] === undefined || flags[name] === legacy[name]) continue
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--${name} "${flags[name]}" is not existence.legacy.${name} "${legacy[name]}", by which the job reads: leave it out, or change tidemark.yaml and restart services and jobs`,
    )
  }
  if (legacy === undefined && flags.from === undefined) throw new TidemarkError('CONFIG_INVALID', NO_LEGACY)
  const password = flags.password === undefined ? {} : { password: secretText(flags.password, '--password') }
  const own = {
    ...(flags.from === undefined ? {} : { urls: flags.from.split(',') }),
    ...(flags.username === undefined ? {} : { username: flags.username }),
    ...(flags.key === undefined ? {} : { key: flags.key }),
    ...(flags.score === undefined ? {} : { score: flags.score }),
    ...password,
  }
  const places = { 'existence.legacy.urls.0': '--from', 'existence.legacy.urls': '--from', 'existence.legacy.key': '--key' }
  const whole = makeConfig([
    { name: 'tidemark.yaml', values: structuredClone(config) },
    { name: 'flags', values: { existence: { legacy: own } }, places },
  ])
  if (flags.from !== undefined && flags.verifyOnly !== true && legacy !== undefined) checkFrom(flags.from, legacy.urls)
  return whole
}

/** The command must not list the viewers of one store while the job reads another: they would be marked, and their plays be lost. */
function checkFrom(from: string, urls: readonly string[]): void {
  const hostsOf = (addresses: readonly string[]): string =>
    addresses
      .map((address) => (URL.canParse(address) ? new URL(address).host : 'no address'))
      .sort()
      .join(', ')
  const [asked, known] = [hostsOf(from.split(',')), hostsOf(urls)]
  if (asked === known) return
  throw new TidemarkError(
    'CONFIG_INVALID',
    `--from names ${asked}, and existence.legacy.urls, from which the job reads, ${known}: leave --from out, or change tidemark.yaml and restart services and jobs; another store is for --verify-only`,
  )
}

function businessesOf(config: Config, { business }: MigrateFlags): BusinessNumber[] {
  const { legacy } = config.existence
  const all = legacy === undefined ? [] : legacyBusinesses(legacy, config.businesses)
  if (business === undefined) return all.map(({ number }) => number)
  return business.map((name) => {
    const { number } = businessOf(config, name)
    if (all.some((each) => each.number === number)) return number
    throw new TidemarkError('CONFIG_INVALID', `business "${name}" is not one of existence.legacy.businesses: add it there, or name another`)
  })
}

/** Lists the viewers of the file in the ring. False if one of them cannot be listed. */
async function list(run: Run): Promise<boolean> {
  const { flags, config, stores, legacy, businesses, print } = run
  const { hot, records } = stores.seen
  const isDry = flags.dryRun === true
  const place = keepPlace(isDry ? undefined : flags.resume, flags.users, businesses)
  const after = place.line
  if (after > 0) print(`goes on after line ${after} of ${flags.users}`)
  const mistakes = makeMistakes(run)
  const hints = makeMistakes(run)
  const begun = performance.now()
  const counts = await runWithProgressBar(`Listing the viewers of ${flags.users}`, (progress) => {
    // A batch is at most the rate of one second, so that a small rate holds too.
    const batches = inBatches(readViewers(flags.users, after), Math.max(1, Math.min(BATCH, flags.rate)))
    return listViewers(systemClock, { hot, records, legacy }, batches, place, {
      ...{ businesses, shape: ringOf(config), isDry, onMistake: mistakes.note, onHint: hints.note },
      onBatch: ({ viewers, listed }) => progress(`${viewers} viewers, ${listed} listed`),
      async pace(viewers) {
        const aheadMs = (viewers / flags.rate) * 1_000 - (performance.now() - begun)
        if (aheadMs > 0) await sleep(aheadMs)
      },
    })
  })
  if (counts.viewers === 0 && after === 0)
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${flags.users} names no viewer${mistakes.count() > 0 ? ' with a valid id' : ''}: write one per line`,
    )
  mistakes.rest()
  hints.rest()
  const what = isDry ? 'would be listed' : 'listed'
  print(
    `${counts.viewers} viewers: ${counts.listed} ${what} (${counts.without} of them have no set), ${counts.before} migrated before, ${mistakes.count()} mistakes`,
  )
  if (!isDry && counts.listed > 0) {
    run.restsAt = restOf(systemClock.now(), config.existence.settleMs)
    print(`the job folds them in from ${timeText(run.restsAt)} on, when the current hour is over`)
  }
  return mistakes.count() === 0
}

/** Such as 15:01 UTC. Rounded up to a whole minute. */
function timeText(time: number): string {
  return `${new Date(Math.ceil(time / MINUTE_MS) * MINUTE_MS).toISOString().slice(11, 16)} UTC`
}

async function waited(run: Run): Promise<boolean> {
  const { flags, print } = run
  const waiting = makeMistakes(run)
  const mistakes = makeMistakes(run)
  await runWithProgressBar('Waiting until the job has folded them in', (progress) => waitForAll(run, waiting, mistakes, progress))
  waiting.rest()
  mistakes.rest()
  if (waiting.count() === 0) return mistakes.count() === 0
  print(
    `${waiting.count()} viewers are not migrated, and none was migrated in the last ${flags.patience} minutes: read the log of the job, and list them again`,
  )
  return false
}

/**
 * Waits until each viewer of the file is marked, in the order of the file: the job folds them in any order. If no viewer was marked for
 * `patience`, the rest of the file is checked without waiting.
 */
async function waitForAll(run: Run, waiting: Mistakes, mistakes: Mistakes, progress: (text: string) => void): Promise<void> {
  const { flags, stores, legacy, businesses } = run
  let [all, done, plays] = [0, 0, 0]
  for await (const lines of inBatches(readViewers(flags.users), BATCH)) all += viewersOf(lines).length
  const when = (): string =>
    run.restsAt === undefined || systemClock.now() >= run.restsAt ? '' : `; those listed now follow from ${timeText(run.restsAt)} on`
  let movedAt = performance.now()
  for await (const lines of inBatches(readViewers(flags.users), BATCH)) {
    let left = viewersOf(lines)
    for (let look = 0; left.length > 0; look++) {
      const marks = await marksOf(stores.seen.records, left)
      const isDone = marks.map((mark) => businesses.every((each) => mark.has(each)))
      for (const [at, mark] of marks.entries()) if (isDone[at] === true) for (const each of mark.values()) plays += each.plays
      done += isDone.filter(Boolean).length
      left = left.filter((_, at) => isDone[at] !== true)
      // Viewers of the first look may have been migrated long ago.
      if (look > 0 && isDone.includes(true)) movedAt = performance.now()
      progress(`${done} of ${all} viewers migrated, ${plays} plays${when()}`)
      if (left.length === 0) break
      // A viewer with another value at the key was not listed, so do not wait for them.
      const keys = left.flatMap((viewer) => businesses.map((business) => ({ viewer, business })))
      const kinds = await legacy.examine(keys)
      const wrong = keys.filter((_, at) => kinds[at] === 'other')
      for (const { viewer, business } of wrong) mistakes.note(noSet(legacy.keyOf(viewer, business), viewer))
      const never = new Set(wrong.map(({ viewer }) => viewer))
      left = left.filter((viewer) => !never.has(viewer))
      if (left.length === 0) break
      if (performance.now() - movedAt >= flags.patience * 60_000) {
        for (const viewer of left) waiting.note(`viewer "${viewer}" is still listed`)
        break
      }
      await sleep(ASK_EVERY_MS)
    }
  }
}

/** Each viewer once. */
function viewersOf(lines: readonly ViewerLine[]): ViewerId[] {
  return [...new Set(lines.flatMap(({ viewer }) => viewer ?? []))]
}

/** `advice`: for viewers who are not migrated. */
async function verify(run: Run, advice: string): Promise<boolean> {
  const { flags, config, stores, legacy, businesses, print } = run
  const { hot, records } = stores.seen
  const { monthsBefore, futureMaxMs } = config.existence
  const rules = { monthsBefore, futureMaxMs, isLive: liveness(systemClock, config.existence) }
  const repair = makeRepair(systemClock, hot, ringOf(config))
  const mistakes = makeMistakes(run)
  const counts = { viewers: 0, waiting: 0, checked: 0, missing: 0, invalid: 0, repaired: 0 }
  let seen = 0

  /** False if the viewer waits for the job. */
  async function verifyOne(viewer: string, business: BusinessNumber): Promise<boolean> {
    const verified = await verifyViewer(systemClock, { hot, records, legacy }, viewer, business, rules)
    const { isMigrated, checked, missing, invalid, mistake } = verified
    counts.checked += checked
    counts.invalid += invalid.length
    counts.missing += missing.length
    if (mistake !== undefined) mistakes.note(mistake)
    if (invalid.length > 0)
      print(`${legacy.keyOf(viewer, business)} has ${invalid.length} members that are not ids, such as "${invalid[0]}": they are left out`)
    if (!isMigrated && (await legacy.examine([{ viewer, business }]))[0] === 'other') {
      mistakes.note(noSet(legacy.keyOf(viewer, business), viewer))
      return true
    }
    if (missing.length === 0) return isMigrated
    mistakes.note(`viewer "${viewer}": ${missing.length} plays are missing, such as ${legacy.keyOf(viewer, business)} "${missing[0]?.oid}"`)
    if (flags.repair === true) {
      await repair(missing)
      counts.repaired += missing.length
    }
    return isMigrated
  }

  await runWithProgressBar('Verifying the viewers', async (progress) => {
    for await (const { viewer } of readViewers(flags.users)) {
      if (viewer === undefined || seen++ % flags.sample !== 0) continue
      const looked = []
      for (const business of businesses) looked.push(await verifyOne(viewer, business))
      counts.viewers++
      if (looked.includes(false)) counts.waiting++
      progress(`${counts.viewers} viewers, ${counts.checked} plays, ${counts.missing} missing`)
    }
  })
  if (seen === 0) throw new TidemarkError('CONFIG_INVALID', `${flags.users} names no viewer: write one per line`)
  mistakes.rest()
  if (counts.waiting > 0) print(`${counts.waiting} viewers are not migrated: ${advice}`)
  if (counts.repaired > 0) print(`${counts.repaired} plays were staged again: verify once more`)
  print(`checked ${counts.checked} plays of ${counts.viewers} viewers: ${counts.missing} missing, ${counts.invalid} members are not ids`)
  return mistakes.count() === 0 && counts.waiting === 0
}

type Mistakes = ReturnType<typeof makeMistakes>

/** Prints the first mistakes, and counts all. */
function makeMistakes({ print, told }: Pick<Run, 'print' | 'told'>) {
  let [count, named] = [0, 0]
  return {
    note(sentence: string): void {
      count++
      if (named >= NAMED_MAX) return
      named++
      if (!told.has(sentence)) print(sentence)
      told.add(sentence)
    },
    rest(): void {
      if (count > named) print(`and ${count - named} more like these`)
    },
    count: () => count,
  }
}
