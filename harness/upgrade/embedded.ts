/** An upgrade of the embedded shape, and its way back: one process stops, and the other release starts on its data folder. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStores } from '../../cli/stores/history.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { call } from '../chaos/calls.ts'
import { UNSEEN } from '../chaos/feed-existence/writer-options.ts'
import { lossesShown, verifyRows } from '../chaos/history/verify.ts'
import { lossesShown as marksNotShown, verifyRows as verifyMarkRows } from '../chaos/thumbup/verify.ts'
import { waitUntilConverged } from '../deployment/deployment.ts'
import { freePorts } from '../deployment/ports.ts'
import type { Role } from '../deployment/role.ts'
import { makePlace, type Place } from './place.ts'
import type { Traffic } from './traffic.ts'
import { QUIET_MAX_MS, SETTINGS, underTraffic, type Step, type UpgradeOptions, type UpgradeReport } from './upgrade.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
/** The calls of one `unseen`. */
const CANDIDATES_MAX = 1_000

export async function upgradeEmbedded(options: UpgradeOptions): Promise<UpgradeReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-upgrade-'))
  const settings = { ...SETTINGS, stores: { regions: 24, data: join(folder, 'data') } }
  const [port] = (await freePorts(1)) as [number]
  const place = makePlace({ name: 'start', command: ['start'], port, folder, settings }, options.releases)
  const steps: Step[] = [
    { text: 'the present release runs on the data folder', run: () => place.run('present') },
    { text: 'the release before runs on it again', run: () => place.run('before') },
    { text: 'the present release runs on it again', run: () => place.run('present') },
  ]
  try {
    await place.run('before')
    return await underTraffic({ serving: [place], places: [place], steps }, options, (traffic) => lossesOf(place, settings, traffic))
  } finally {
    await place.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The rows are read between two runs of the process, because a data folder belongs to one process. */
async function lossesOf(place: Place, settings: object, { reports, marks, plays }: Traffic): Promise<string[]> {
  // As gateways, processes report their journals. The embedded stores have none.
  await waitUntilConverged({ gateways: [], jobs: [place.role()], markJobs: [place.role()] }, QUIET_MAX_MS)
  await place.stop()
  const stores = await openStores(makeConfig([{ name: 'upgrade', values: settings }]), systemClock, silent)
  const losses: string[] = []
  try {
    losses.push(...(await verifyRows(stores.records, reports)).losses, ...(await verifyMarkRows(stores.marks.records, marks)).losses)
  } finally {
    await stores.close()
  }
  await place.run('present')
  const gateways = [place.role()]
  losses.push(...(await lossesShown(gateways, reports)), ...(await marksNotShown(gateways, marks)))
  for (const viewer of plays.viewers()) losses.push(...(await shownAgain(place.role(), viewer, plays.firm(viewer))))
  return losses
}

async function shownAgain(role: Role, viewer: string, played: readonly string[]): Promise<string[]> {
  const ids = played.slice(-CANDIDATES_MAX)
  const { end } = await call<{ unseen: { ids: string[] } }>(role, 'verify', viewer, UNSEEN, { ids })
  if (end.kind !== 'answered') throw new Error(`unseen of viewer ${viewer} cannot be read: ${JSON.stringify(end)}`)
  return end.data.unseen.ids.map((id) => `viewer ${viewer} is shown ${id} again`)
}
