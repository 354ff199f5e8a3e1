/**
 * `tidemark plan`: the processes, memory, disk and statements of a distributed deployment for the demand of a site, with the assumptions. It
 * computes and asks no server.
 */
import { checkDemand, DEFAULT_DEMAND, type Demand } from './plan/demand.ts'
import { estimate, type Prices } from './plan/estimate.ts'
import { linesOf } from './plan/lines.ts'
import { readSettings, type Flags } from './process/settings.ts'

export type PlanFlags = Flags & {
  viewers: number
  actives?: number
  watchMinutes?: number
  heartbeat?: number
  pages?: number
  lookups?: number
  likes?: number
  records?: number
  likesStored?: number
  subjects?: number
  peak?: number
  writes?: number
  reads?: number
  priceCore: number
  priceMemory: number
  priceDisk: number
  json?: boolean
}

export function plan(flags: PlanFlags, print: (line: string) => void): void {
  const config = readSettings(flags)
  const demand = demandOf(flags)
  checkDemand(demand, config)
  const prices: Prices = { core: flags.priceCore, memoryGb: flags.priceMemory, diskGb: flags.priceDisk }
  const found = estimate(demand, config, prices)
  if (flags.json) return print(JSON.stringify({ demand, prices, ...found }, undefined, 2))
  for (const line of linesOf(demand, found, config, prices)) print(line)
}

function demandOf(flags: PlanFlags): Demand {
  const { viewers } = flags
  const likesStored = flags.likesStored ?? viewers * DEFAULT_DEMAND.likesPerViewer
  return {
    viewers,
    actives: flags.actives ?? Math.ceil(viewers * DEFAULT_DEMAND.activePart),
    watchMinutes: flags.watchMinutes ?? DEFAULT_DEMAND.watchMinutes,
    heartbeatSeconds: flags.heartbeat ?? DEFAULT_DEMAND.heartbeatSeconds,
    pages: flags.pages ?? DEFAULT_DEMAND.pages,
    lookupsPerPage: flags.lookups ?? DEFAULT_DEMAND.lookupsPerPage,
    likes: flags.likes ?? DEFAULT_DEMAND.likes,
    records: flags.records ?? DEFAULT_DEMAND.records,
    likesStored,
    subjects: flags.subjects ?? Math.ceil(likesStored / DEFAULT_DEMAND.likesPerSubject),
    peak: flags.peak ?? DEFAULT_DEMAND.peak,
    reportsPerSecond: flags.writes,
    lookupsPerSecond: flags.reads,
  }
}
