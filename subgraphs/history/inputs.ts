/**
 * Validation of client input. Every rule about a single input is here and throws a `TidemarkError` that says how to fix the input. Batches
 * catch errors per input, so the valid inputs of a batch still count.
 */
import { requireEnabled, type Businesses } from '../../config/businesses.ts'
import { countedTime, orderAhead, type TimesAhead } from '../../core/clock-differences.ts'
import { dayOf } from '../../core/days.ts'
import type { BusinessNumber, ProgressRecord, ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { checkInputCount, checkMoment } from '../../core/input-limits.ts'
import { ID_BYTES_MAX, checkId } from '../../core/keys.ts'
import { dayTokenOf, claimOf, DEFAULT_RULES, type RewardRules } from '../../core/rewards.ts'
import { rankOf } from './model/merge.ts'
import { SCOPE_WRITE_ANY, type Viewer } from '../../core/viewer.ts'
import type { ProgressWrite } from './stores/hot-store.ts'
import { orReject, type Rejected } from '../user-errors.ts'

export { FIRST_MAX, IDS_MAX, INPUTS_MAX, checkFirst, checkIds, checkInputCount } from '../../core/input-limits.ts'

const POSITION_MAX = 2 ** 31 - 1

/** `ReportProgressInput` of the schema, coerced by the gateway. */
export type ReportProgressInput = {
  viewer?: string | null
  business: string
  id: string
  position: number
  duration?: number | null
  viewedAt?: number | null
  device?: string | null
  finished?: boolean | null
  dayToken?: string | null
}

/**
 * A checked write. `isNow`: the write is current. Its input has no time, or a time that is this millisecond or ahead of the server's clock.
 */
export type CheckedReport = ProgressWrite & { isNow: boolean }

/** In the order of `inputs`. Throws INPUTS_TOO_MANY. */
export function checkReports(
  inputs: readonly ReportProgressInput[],
  viewer: Viewer,
  businesses: Businesses,
  now: number,
  rules: RewardRules = DEFAULT_RULES,
): (CheckedReport | Rejected)[] {
  checkInputCount(inputs.length, 'reports')
  const times = inputs.map(({ viewedAt }) => viewedAt)
  // A single time has no order to keep.
  const ahead = times.length > 1 ? orderAhead(times, now) : undefined
  return inputs.map((input) => orReject(() => checkReport(input, viewer, businesses, now, ahead, rules)))
}

/** The write for an input. Throws with the code for the payload. */
export function checkReport(
  input: ReportProgressInput,
  viewer: Viewer,
  businesses: Businesses,
  now: number,
  ahead?: TimesAhead,
  rules: RewardRules = DEFAULT_RULES,
): CheckedReport {
  const business = requireEnabled(businesses.byName(input.business))
  const viewerId = reportedViewer(input, viewer)
  checkId(input.id, 'id')
  const position = checkExtent(input.position, 'position')
  const duration = checkExtent(input.duration ?? 0, 'duration')
  const given = checkMoment('viewedAt', 'VIEWED_AT_INVALID', input.viewedAt ?? now, now)
  const viewedAt = countedTime(given, now, ahead)
  const device = checkDevice(input.device ?? '')
  const finished = input.finished ?? (duration > 0 && position * 100 >= duration * business.finishedPercent)
  // Position 0 is always a glance: opening a subject is no progress.
  const glance = !finished && (position === 0 || position < business.glanceMax)
  const rank = rankOf(business.conflict, { viewedAt, position, finished, glance })
  const record: ProgressRecord = { viewedAt, since: 0, rank, version: 0, position, duration, device, finished, deleted: false }
  const write: CheckedReport = {
    viewer: viewerId,
    business: business.number,
    oid: input.id,
    record,
    decisive: business.conflict === 'newest' && !glance,
    isNow: given >= now,
  }
  const rule = rules('FIRST_VIEW', business.number)
  if (rule === undefined) return write
  const day = dayOf(rule.timeZone, now)
  return input.dayToken === dayTokenOf(viewerId, rule, day) ? write : { ...write, ...claimOf(rule, day) }
}

function reportedViewer(input: ReportProgressInput, viewer: Viewer): ViewerId {
  const named = input.viewer ?? viewer.id
  if (named === viewer.id) return named
  if (!viewer.scopes.includes(SCOPE_WRITE_ANY)) {
    throw new TidemarkError(
      'FORBIDDEN',
      `viewer "${named.slice(0, 16)}" is not the viewer of the token: leave viewer out, or use a token with scope ${SCOPE_WRITE_ANY}`,
      { path: ['viewer'] },
    )
  }
  checkId(named, 'viewer')
  return named
}

function checkExtent(value: number, field: string): number {
  if (Number.isInteger(value) && value >= 0 && value <= POSITION_MAX) return value
  throw new TidemarkError(
    'POSITION_INVALID',
    `${field} ${value} is not a whole number from 0 to ${POSITION_MAX}: send it in the unit of the business`,
    { path: [field] },
  )
}

function checkDevice(device: string): string {
  if (device.length <= ID_BYTES_MAX && Buffer.byteLength(device) <= ID_BYTES_MAX) return device
  throw new TidemarkError('DEVICE_INVALID', `device "${device.slice(0, 16)}…" is too long: send at most ${ID_BYTES_MAX} bytes of UTF-8`, {
    path: ['device'],
  })
}

/** The numbers of these businesses, each once; all of them if none are named. Throws BUSINESS_UNKNOWN. */
export function checkBusinesses(names: readonly string[] | null | undefined, businesses: Businesses): readonly BusinessNumber[] {
  if (names === null || names === undefined) return businesses.numbers
  return [...new Set(names.map((name) => businesses.byName(name).number))]
}
