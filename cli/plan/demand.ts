/** The demand of a site, as its people describe it, and the rates that follow from it. */
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'

/** Whole numbers, unless another form is named. */
export type Demand = {
  /** Viewers with stored data. */
  viewers: number
  /** Viewers who come on one day. */
  actives: number
  /** Minutes that an active viewer watches on one day. */
  watchMinutes: number
  /** Seconds between two reports of a player. */
  heartbeatSeconds: number
  /** Pages that an active viewer opens on one day. */
  pages: number
  /** Lookups of a page: subjects times fields. */
  lookupsPerPage: number
  /** Likes that an active viewer gives on one day. May have a fraction. */
  likes: number
  /** Records of progress that the stores keep per viewer. */
  records: number
  /** Likes that the stores keep, of all viewers. */
  likesStored: number
  /** Subjects with likes. */
  subjects: number
  /** The busiest second, as a multiple of the mean. May have a fraction. */
  peak: number
  /** Reports of the busiest second, if they are known. */
  reportsPerSecond?: number | undefined
  /** Lookups of the busiest second, if they are known. */
  lookupsPerSecond?: number | undefined
}

/** Of the busiest second, unless another one is named. */
export type Rates = {
  reports: number
  /** Viewers who watch at the same time. */
  watching: number
  lookups: number
  likes: number
  /** On a mean day. */
  reportsPerDay: number
}

export const DEFAULT_DEMAND = {
  /** Of all viewers. */
  activePart: 0.2,
  records: 200,
  likesPerViewer: 20,
  likesPerSubject: 100,
  heartbeatSeconds: 15,
  watchMinutes: 60,
  pages: 20,
  lookupsPerPage: 150,
  likes: 1,
  peak: 3,
} as const

const DAY_S = 86_400

export function ratesOf(demand: Demand): Rates {
  const { actives, watchMinutes, heartbeatSeconds, pages, lookupsPerPage, peak } = demand
  const reportsPerDay = (actives * watchMinutes * 60) / heartbeatSeconds
  const reports = demand.reportsPerSecond ?? (reportsPerDay / DAY_S) * peak
  return {
    reports,
    watching: reports * heartbeatSeconds,
    lookups: demand.lookupsPerSecond ?? ((actives * pages * lookupsPerPage) / DAY_S) * peak,
    likes: ((actives * demand.likes) / DAY_S) * peak,
    reportsPerDay: demand.reportsPerSecond === undefined ? reportsPerDay : (reports / peak) * DAY_S,
  }
}

/** Throws CONFIG_INVALID. */
export function checkDemand(demand: Demand, { history }: Pick<Config, 'history'>): void {
  const { actives, viewers, heartbeatSeconds } = demand
  if (actives > viewers)
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--actives ${actives} exceeds --viewers ${viewers}: an active viewer has stored data, so raise --viewers`,
    )
  if (heartbeatSeconds * 1_000 > history.flushAgeMaxMs)
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--heartbeat ${heartbeatSeconds} is longer than history.flushAgeMaxMs (${history.flushAgeMaxMs} ms), so a window has at most one report of a viewer: use a shorter heartbeat, or a longer window`,
    )
}
