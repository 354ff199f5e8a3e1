/**
 * Kills a service at random moments under writes, restarts it, and checks every acknowledged report: at once in the timeline, and after the
 * load ends in the record store. A writer sends each viewer's reports in order of time and notes the acknowledged ones. A report in flight
 * when the process dies may be stored or not.
 */
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { randomBelow, seededRandom, type Random } from '../../core/random.ts'
import { openStores } from '../../cli/stores/history.ts'
import { ask, startService, type Service, type ServiceOptions } from '../deployment/service.ts'

export type KillOptions = ServiceOptions & {
  rounds: number
  seed: number
  /** Milliseconds of writing before a kill, at most. */
  writeMaxMs: number
  viewers: number
  subjects: number
  progress?: (text: string) => void
}

export type KillReport = {
  rounds: number
  acknowledged: number
  /** Sentences. Empty if nothing was lost. */
  losses: string[]
  rows: number
  expectedRows: number
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Short bounds, so that flushes and sweeps happen between kills. */
export const KILL_SETTINGS = {
  history: { flushKeysMax: 20, flushAgeMaxMs: 300, sweepAfterMs: 1_000, sweepEveryMs: 200 },
  stores: { regions: 8 },
}

type Written = { acknowledged: number; attempted: number }

const REPORT = 'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }'
const HISTORY = '{ viewerHistory(first: 100) { edges { node { id viewerProgress { viewedAt position } } } } }'
const BATCH = 20
/** Positions count the writes. They start above `glanceMax`. */
const POSITION_BASE = 10_000
const START = 1_700_000_000_000

export async function killRounds(options: KillOptions): Promise<KillReport> {
  const random = seededRandom(options.seed)
  const written = new Map<string, Written>()
  const losses: string[] = []
  let count = 0
  let acknowledged = 0
  for (let round = 0; round < options.rounds; round++) {
    const service = await startService(options)
    losses.push(...(await findLost(service, written)).map((loss) => `round ${round}: ${loss}`))
    const writing = write(service, round, random, options, written, () => ++count)
    await new Promise((resolve) => setTimeout(resolve, random() * options.writeMaxMs))
    await service.kill()
    acknowledged += await writing
    options.progress?.(`${round + 1} of ${options.rounds} kills, ${acknowledged} reports acknowledged, ${losses.length} losses`)
  }
  const service = await startService(options)
  losses.push(...(await findLost(service, written)))
  await waitUntilQuiet(service.url)
  await service.stop()
  const stored = await compareRecordStore(options, written)
  return {
    rounds: options.rounds,
    acknowledged,
    losses: [...losses, ...stored.losses],
    rows: stored.rows,
    expectedRows: stored.expectedRows,
  }
}

/** Writes until the service is gone; returns the number of acknowledged reports. */
async function write(
  service: Service,
  round: number,
  random: Random,
  options: KillOptions,
  written: Map<string, Written>,
  nextCount: () => number,
): Promise<number> {
  let acknowledged = 0
  const lanes = Array.from({ length: 4 }, async (_, lane) => {
    for (;;) {
      // A viewer belongs to one lane, so that each viewer's writes are sent one after the other.
      const viewer = String(lane + 4 * randomBelow(random, options.viewers / 4))
      const inputs = Array.from({ length: BATCH }, () => {
        const count = nextCount()
        return {
          business: 'video',
          id: String(randomBelow(random, options.subjects)),
          position: POSITION_BASE + count,
          viewedAt: START + count,
        }
      })
      for (const input of inputs) note(written, viewer, input.id).attempted = input.position
      try {
        const { data } = await ask(service.url, viewer, REPORT, { reports: inputs })
        if (data.reportProgressBatch.results.some((each: { outcome: string }) => each.outcome !== 'ACCEPTED')) {
          throw new Error(`round ${round}: a report newer than all others was not accepted`)
        }
      } catch (error) {
        if (service.process.exitCode !== null || service.process.signalCode !== null || isConnectionLoss(error)) return
        throw error
      }
      for (const input of inputs) note(written, viewer, input.id).acknowledged = input.position
      acknowledged += inputs.length
    }
  })
  await Promise.all(lanes)
  return acknowledged
}

function isConnectionLoss(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError
}

function note(written: Map<string, Written>, viewer: string, oid: string): Written {
  const key = `${viewer}/${oid}`
  let found = written.get(key)
  if (found === undefined) written.set(key, (found = { acknowledged: 0, attempted: 0 }))
  return found
}

async function findLost(service: Service, written: Map<string, Written>): Promise<string[]> {
  const viewers = [...new Set([...written.keys()].map((key) => key.split('/')[0] as string))]
  const losses: string[] = []
  for (const viewer of viewers) {
    const { data } = await ask(service.url, viewer, HISTORY)
    const found = new Map<string, number>()
    type Edge = { node: { id: string; viewerProgress: { position: number; viewedAt: number } } }
    for (const { node } of data.viewerHistory.edges as Edge[]) {
      const { position, viewedAt } = node.viewerProgress
      found.set(node.id, position)
      if (viewedAt - START !== position - POSITION_BASE) losses.push(`viewer ${viewer} has a torn record of ${node.id}`)
    }
    for (const [key, { acknowledged, attempted }] of written) {
      if (!key.startsWith(`${viewer}/`)) continue
      losses.push(...lossOf(key, found.get(key.slice(viewer.length + 1)), acknowledged, attempted))
    }
  }
  return losses
}

function lossOf(key: string, position: number | undefined, acknowledged: number, attempted: number): string[] {
  if (acknowledged > 0 && position === undefined) return [`${key} was acknowledged at ${acknowledged} and is gone`]
  if (position !== undefined && position < acknowledged) return [`${key} was acknowledged at ${acknowledged} and is at ${position}`]
  if (position !== undefined && position > attempted) return [`${key} is at ${position}, which was never written`]
  return []
}

export async function waitUntilQuiet(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const text = await (await fetch(new URL('/metrics', url))).text()
    if (/^tidemark_dirty_keys 0$/m.test(text) && /^tidemark_log_lag_messages 0$/m.test(text)) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('dirty marks or flush messages are left after a minute')
}

async function compareRecordStore(options: KillOptions, written: Map<string, Written>) {
  const config = makeConfig([
    { name: 'test', values: options.settings },
    { name: 'test', values: { stores: { data: join(options.folder, 'data') } } },
  ])
  const stores = await openStores(config, systemClock, silent)
  try {
    const keys = [...written.keys()]
    const records = await stores.records.getProgressMany(
      keys.map((key) => {
        const [viewer, oid] = key.split('/') as [string, string]
        return { viewer, business: 1, oid }
      }),
    )
    const losses = keys.flatMap((key, index) => {
      const { acknowledged, attempted } = written.get(key) as Written
      return lossOf(key, records[index]?.position, acknowledged, attempted).map((loss) => `record store: ${loss}`)
    })
    return { losses, rows: await stores.records.countProgress(), expectedRows: records.filter((record) => record !== undefined).length }
  } finally {
    await stores.close()
  }
}
