/** An upgrade of the distributed shape, process by process, and its way back. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStores } from '../../cli/stores/history.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { verifySeen } from '../chaos/feed-existence/verify.ts'
import { verify } from '../chaos/history/verify.ts'
import { verifyMarks } from '../chaos/thumbup/verify.ts'
import { runCommand } from '../deployment/command.ts'
import { waitUntilConverged } from '../deployment/deployment.ts'
import { OWN_SERVERS, makeOwnServers, startOwnServers, type OwnServers } from '../deployment/own-servers.ts'
import { freePorts } from '../deployment/ports.ts'
import type { Role } from '../deployment/role.ts'
import { makePlace, type Place, type ReleaseName } from './place.ts'
import type { Traffic } from './traffic.ts'
import { QUIET_MAX_MS, SETTINGS, underTraffic, type Step, type UpgradeOptions, type UpgradeReport } from './upgrade.ts'

const COMMANDS = [['gateway'], ['gateway'], ['job', 'history'], ['job', 'thumbup'], ['job', 'feed-existence']] as const
const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function upgradeDistributed(options: UpgradeOptions): Promise<UpgradeReport> {
  const servers = await makeOwnServers()
  let places: Place[] = []
  try {
    await startOwnServers(servers, OWN_SERVERS)
    const settings = settingsOn(servers)
    const ports = await freePorts(COMMANDS.length)
    places = COMMANDS.map((command, at) => {
      const name = `${command.join('-')}-${at}`
      const folder = join(servers.folder, name)
      const own = { ...settings, stores: { ...settings.stores, data: join(folder, 'data') } }
      return makePlace({ name, command, port: ports[at] as number, folder, settings: own }, options.releases)
    })
    const migrate = (release: ReleaseName) => runMigrate(options.releases[release], settings, servers.folder)
    await migrate('before')
    await Promise.all(places.map((place) => place.run('before')))
    const steps = stepsOf(places, migrate, mayReturn(options.releases.before))
    return await underTraffic({ serving: places.slice(0, 2), places, steps }, options, async (traffic) => {
      const roles = places.map((place) => place.role())
      const losses = await lossesOf(roles, settings, traffic)
      await Promise.all(places.map((place) => place.stop()))
      return losses
    })
  } finally {
    await Promise.all(places.map((place) => place.kill()))
    await servers.remove()
  }
}

/** The first migration that says which older programs may use the schema. */
function mayReturn(checkout: string): boolean {
  return existsSync(join(checkout, 'stores', 'mysql', 'migrations', '0007-rolling-upgrade.sql'))
}

function stepsOf(places: readonly Place[], migrate: (release: ReleaseName) => Promise<unknown>, hasWayBack: boolean): Step[] {
  const [gateway, , history, marks] = places as [Place, Place, Place, Place]
  const run = (release: ReleaseName, some: readonly Place[]) => async (): Promise<void> => {
    for (const place of some) await place.run(release)
  }
  const others = (release: ReleaseName) => async (): Promise<void> =>
    run(
      release,
      places.filter((place) => place.release() !== release),
    )()
  const half = { text: 'a gateway and a job are of the present release', run: run('present', [gateway, marks]) }
  const whole = { text: 'all processes are of the present release', run: others('present') }
  const migrated = { text: 'the present release has migrated the schema', run: () => migrate('present') }
  if (!hasWayBack) return [migrated, half, whole]
  return [
    migrated,
    { text: 'a gateway and a job of the release before were restarted', run: run('before', [gateway, history]) },
    half,
    whole,
    { text: 'the release before has run migrate again', run: () => migrate('before') },
    { text: 'a gateway and a job are of the release before again', run: run('before', [gateway, marks]) },
    { text: 'all processes are of the release before again', run: others('before') },
    whole,
  ]
}

function settingsOn({ redis, kafka, mariadb }: OwnServers) {
  const stores = {
    regions: 24,
    redis: { urls: [`redis://127.0.0.1:${redis.port}`] },
    kafka: { brokers: [`127.0.0.1:${kafka.port}`] },
    mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${mariadb.port}/tidemark` },
  }
  return { ...SETTINGS, stores }
}

async function runMigrate(checkout: string, settings: object, folder: string): Promise<void> {
  const own = join(folder, 'migrate')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'tidemark.yaml'), JSON.stringify(settings))
  const { status, out, error } = await runCommand(own, ['migrate'], { command: join(checkout, 'cli', 'tidemark.ts') })
  if (status !== 0) throw new Error(`migrate of ${checkout} ended with status ${status}: ${out}${error}`)
}

async function lossesOf(roles: readonly Role[], settings: ReturnType<typeof settingsOn>, traffic: Traffic): Promise<string[]> {
  const [one, two, history, marks, plays] = roles as [Role, Role, Role, Role, Role]
  const gateways = [one, two]
  await waitUntilConverged({ gateways, jobs: [history], markJobs: [marks], seenJobs: [plays] }, QUIET_MAX_MS)
  const config = makeConfig([{ name: 'upgrade', values: settings }])
  const stores = await openStores(config, systemClock, silent)
  try {
    const ofReports = await verify(gateways, stores.records, traffic.reports)
    const ofMarks = await verifyMarks(gateways, stores, traffic.marks, config.stores.kafka as { brokers: string[]; topicPrefix: string })
    const ofPlays = await verifySeen(gateways, stores.seen, traffic.plays)
    return [...ofReports.losses, ...ofMarks.losses, ...ofMarks.drift, ...ofMarks.cache, ...ofMarks.gaps, ...ofPlays.losses]
  } finally {
    await stores.close()
  }
}
