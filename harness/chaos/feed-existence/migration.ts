/**
 * Viewers moved while everything is killed: sets in a legacy Redis, and `tidemark migrate-played` as an operator runs it, whose life is
 * short: it is killed as soon as it has put down how far it came, and begun again, until it was killed often enough. The last
 * one goes to the end: it waits until all are folded in, and looks whether anything is missing.
 *
 * Whom it lists has to wait for the hour to end. Nobody waits so long here: who plays more than is staged of him is folded at
 * once, and a lister whose clock is hours behind has half of them folded by the workers.
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
  /** Of the command. */
  kills: number
  slots: number
  /** What a viewer may have staged before he is folded. */
  stagedMax: number
  progress(text: string): void
}

export type ChaosMigration = {
  /** Of the command: how often it was killed, and how often it ended by itself because a store was away. */
  kills: number
  ends: number
  /** Plays that the legacy sets had. */
  plays: number
  /** What the last one said. */
  said: string
  /** Sentences; empty if all were moved, and the command and everybody else agree that nothing is missing. */
  mistakes: string[]
  /** Plays that have left staging and that the legacy store does not have; undefined if somebody found it away. */
  notBack: number | undefined
}

export type Migrating = {
  /** Resolves when the command was killed as often as it is to be. */
  killed: Promise<void>
  /** Everything is repaired: to the end. */
  finish(gateway: Role): Promise<void>
  /** After the folds. */
  report(): Promise<ChaosMigration>
  stop(): Promise<void>
}

const PLAYS_EACH = 25
const DAY_MS = 86_400_000
const BEFORE_MAX_DAYS = 85
/** Viewers listed per second: so that it is killed on its way. */
const RATE = 2
const DELAY_MAX_MS = 300
const ENDS_MAX = 50
const GIVE_UP_MS = 120_000
const PLAY = `mutation ($ids: [ID!]!) { recordPlayed(business: "${BUSINESS}", ids: $ids) { recorded } }`
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
        // As whatever supervises it would: a store may be away.
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

  /** By a server whose clock is behind: for the workers, at once. */
  async function listLate(): Promise<void> {
    const some = names.filter(() => random() < 0.3)
    const slot = slotOf(Date.now() - 2 * HOUR_MS, slots)
    const listings = some.map((viewer) => listingOf(viewer, NUMBER, Date.now()))
    // Without a hot store it lists nobody, and goes home.
    await hot.stagePlays(listings, { now: Date.now(), slot }).catch(() => undefined)
  }

  async function unmarked(): Promise<string[]> {
    const stored = await records.getFilters(names.map((viewer) => ({ viewer, month: MARK_MONTH })))
    return names.filter((_, at) => !decodeMark(stored[at]?.filter).has(NUMBER))
  }

  /** Who is not moved yet plays until he is folded. */
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
  // Whoever finishes hears of it.
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
  /** How far it has come in the file of viewers. */
  line(): number
  /** What the last one said. */
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

/** As the system before us did; from now on none of it is shown again. Returns how many plays there are. */
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
