/**
 * A migration while everything is killed: sets in a legacy Redis, and `tidemark migrate-played` as an operator runs it. The command is
 * killed as soon as it has saved its place, and is restarted, until it was killed often enough. The last run waits until all viewers are
 * folded, and verifies that nothing is missing.
 *
 * A listed viewer is normally folded after the hour. Here that takes too long. A viewer with more plays than may be staged is folded at
 * once. And a second lister, with a clock hours behind, puts some viewers into a settled slot, which workers fold.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MARK_MONTH, decodeMark, listingOf } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import { HOUR_MS, slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { SeenStore } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { LegacyPlays } from '../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { Deployment } from '../../deployment/deployment.ts'
import type { Role } from '../../deployment/role.ts'
import { call } from '../calls.ts'
import type { Ledger } from './ledger.ts'
import { BUSINESS, NUMBER } from './writer-options.ts'

export type MigrationOptions = {
  seed: number
  viewers: number
  /** Kills of the command. */
  kills: number
  slots: number
  /** The most staged plays of a viewer before an early fold. */
  stagedMax: number
  progress(text: string): void
}

export type ChaosMigration = {
  /** Kills of the command, and ends by itself because a store was down. */
  kills: number
  ends: number
  /** Plays in the legacy sets. */
  plays: number
  /** The output of the last run. */
  said: string
  /** Sentences. Empty if all viewers were migrated, and the command and all checks find nothing missing. */
  mistakes: string[]
  /** Plays that have left staging and are not in the legacy store. Undefined if a role found that store down. */
  notBack: number | undefined
}

export type Migrating = {
  /** Resolves after the last kill of the command. */
  killed: Promise<void>
  /** Completes the migration once everything is repaired. */
  finish(gateway: Role): Promise<void>
  /** Call it after the folds. */
  report(): Promise<ChaosMigration>
  stop(): Promise<void>
}

const PLAYS_EACH = 25
const DAY_MS = 86_400_000
const BEFORE_MAX_DAYS = 85
/** Viewers listed per second. It is slow, so that the command is killed before the end. */
const RATE = 2
const DELAY_MAX_MS = 300
const ENDS_MAX = 50
const GIVE_UP_MS = 120_000
const PLAY = `mutation ($ids: [ID!]!) { recordPlayed(input: { business: "${BUSINESS}", ids: $ids }) { recordedCount } }`
const COMMAND = join(import.meta.dirname, '..', '..', '..', 'cli', 'tidemark.ts')

export async function startMigration(
  deployment: Deployment,
  stores: OpenStores,
  ledger: Ledger,
  options: MigrationOptions,
): Promise<Migrating> {
  const { seed, viewers, kills, slots, progress } = options
  const { legacy, hot, records } = stores.seen
  if (legacy === undefined) throw new Error('no legacy store is configured')
  const random = seededRandom(seed + 7)
  const names = Array.from({ length: viewers }, (_, at) => String(1 + at))
  const command = prepareCommand(deployment, names)
  const figures = { kills: 0, ends: 0, plays: await fill(legacy, names, random, ledger) }
  const mistakes: string[] = []
  let stopped = false

  async function liveAndDie(): Promise<void> {
    while (figures.kills < kills && !stopped && command.line() < viewers) {
      const [child, from] = [command.launch(['--rate', String(RATE), '--no-wait']), command.line()]
      while (!hasEnded(child) && command.line() === from) await sleep(20)
      await sleep(random() * DELAY_MAX_MS)
      if (hasEnded(child)) {
        // Restart, as a supervisor would: a store may be down.
        if (++figures.ends > ENDS_MAX) throw new Error(`migrate-played ends each time by itself: ${command.said()}`)
        continue
      }
      child.kill('SIGKILL')
      await once(child, 'exit')
      figures.kills++
      progress(`migrate-played was killed after line ${command.line()} of ${viewers}`)
      await listLate()
    }
  }

  /** Lists viewers as a server with a slow clock, so that workers fold them at once. */
  async function listLate(): Promise<void> {
    const some = names.filter(() => random() < 0.3)
    const slot = slotOf(Date.now() - 2 * HOUR_MS, slots)
    const listings = some.map((viewer) => listingOf(viewer, NUMBER, Date.now()))
    // Without a hot store it lists no viewer and returns.
    await hot.stagePlays(listings, { now: Date.now(), slot }).catch(() => undefined)
  }

  async function unmarked(): Promise<string[]> {
    const stored = await records.getFilters(names.map((viewer) => ({ viewer, month: MARK_MONTH })))
    return names.filter((_, at) => !decodeMark(stored[at]?.filter).has(NUMBER))
  }

  /** Viewers that are not migrated yet play until they are folded. */
  async function finish(gateway: Role): Promise<void> {
    await killed
    const child = command.launch(['--rate', '1000', '--verify', '--patience', '2'])
    const end = performance.now() + GIVE_UP_MS
    for (let round = 0; !hasEnded(child); round++) {
      const ids = Array.from({ length: options.stagedMax + 1 }, (_, at) => `more-${round}-${at}`)
      for (const viewer of await unmarked()) await play(gateway, viewer, ids, ledger)
      if (performance.now() > end) child.kill('SIGKILL')
      await sleep(200)
    }
    progress(`migrate-played has ended with ${child.exitCode}`)
    const left = await unmarked()
    if (child.exitCode !== 0) mistakes.push(`migrate-played ended with ${child.exitCode ?? child.signalCode}: ${command.said()}`)
    if (left.length > 0) mistakes.push(`viewers ${left.join(', ')} are not migrated`)
  }

  const killed = liveAndDie()
  // The error surfaces in `finish`.
  killed.catch(() => undefined)
  return {
    killed,
    finish,
    report: async () => ({
      ...figures,
      said: command.said(),
      mistakes,
      notBack: await countNotBack(deployment, hot, legacy, names, ledger),
    }),
    async stop() {
      stopped = true
      command.kill()
      await killed.catch(() => undefined)
    },
  }
}

type Command = {
  launch(flags: readonly string[]): ChildProcess
  /** Its line in the file of viewers. */
  line(): number
  /** The output of the last run. */
  said(): string
  kill(): void
}

/** `tidemark migrate-played` with a file of these viewers and a file for its place. */
function prepareCommand({ servers, config: { existence, businesses, stores } }: Deployment, names: readonly string[]): Command {
  const folder = join(servers.folder, 'migrate-played')
  mkdirSync(folder, { recursive: true })
  const users = join(folder, 'viewers.txt')
  const place = join(folder, 'place.json')
  const config = join(folder, 'tidemark.yaml')
  writeFileSync(users, `${names.join('\n')}\n`)
  writeFileSync(config, JSON.stringify({ existence, businesses, stores }))
  let said = ''
  let running: ChildProcess | undefined
  return {
    launch(flags) {
      const args = [COMMAND, 'migrate-played', '--config', config, '--users', users, '--resume', place, ...flags]
      const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
      said = ''
      const killAtExit = (): void => void child.kill('SIGKILL')
      process.once('exit', killAtExit)
      child.once('exit', () => process.off('exit', killAtExit))
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (said += String(text)))
      running = child
      return child
    },
    line: () => (existsSync(place) ? (JSON.parse(readFileSync(place, 'utf8')) as { line: number }).line : 0),
    said: () => said,
    kill: () => void running?.kill('SIGKILL'),
  }
}

/** Fills the sets as the legacy system did. From now on these plays must not be shown again. Returns the number of plays. */
async function fill(legacy: LegacyPlays, names: readonly string[], random: Random, ledger: Ledger): Promise<number> {
  for (const viewer of names) {
    const plays = Array.from({ length: PLAYS_EACH }, (_, at) => ({
      ...{ viewer, business: NUMBER, oid: `legacy-${viewer}-${at}` },
      playedAt: Date.now() - randomBelow(random, BEFORE_MAX_DAYS * DAY_MS),
    }))
    await legacy.putPlays(plays)
    for (const play of plays) ledger.acknowledge(play, 'legacy')
  }
  return names.length * PLAYS_EACH
}

async function play(gateway: Role, viewer: string, ids: readonly string[], ledger: Ledger): Promise<void> {
  const { end } = await call(gateway, 'play', viewer, PLAY, { ids })
  if (end.kind === 'answered') for (const oid of ids) ledger.acknowledge({ viewer, oid, playedAt: undefined }, 'API')
}

async function countNotBack(
  { roles, servers }: Deployment,
  hot: SeenStore,
  legacy: LegacyPlays,
  names: readonly string[],
  ledger: Ledger,
): Promise<number | undefined> {
  const logs = roles.map(({ name }) => join(servers.folder, name, 'output.log'))
  if (logs.some((log) => existsSync(log) && readFileSync(log, 'utf8').includes('LEGACY_UNAVAILABLE'))) return undefined
  let missing = 0
  for (const viewer of names) {
    const own = ledger.plays().filter((play) => play.viewer === viewer)
    const { staged } = await hot.getSeen(viewer, NUMBER)
    const isStaged = new Set(staged.map(({ oid }) => oid))
    const { playedAt } = await legacy.getPlayedAt(
      viewer,
      NUMBER,
      own.map(({ oid }) => oid),
    )
    missing += own.filter((play, at) => !isStaged.has(play.oid) && (playedAt[at] ?? -1) < (play.playedAt ?? 0)).length
  }
  return missing
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
