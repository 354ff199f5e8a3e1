/** Validation of client input. Every rule is here and throws a `TidemarkError` that says how to fix the input. */
import { TidemarkError } from '../../core/errors.ts'
import { mistakeOfMoment } from '../../core/input-limits.ts'
import { checkId } from '../../core/keys.ts'
import { beginningOf, monthOf } from './model/time-ring.ts'
import { SCOPE_EXISTENCE_BULK, type Viewer } from '../../core/viewer.ts'

export const CANDIDATES_MAX = 500
export const CANDIDATES_BULK_MAX = 10_000

const NAMES = { candidates: 'candidates', exclude: 'ids to exclude' }

/** The ids of one viewer's call. Throws CANDIDATES_TOO_MANY or ID_INVALID. */
export function checkCandidates(ids: readonly string[], field: keyof typeof NAMES, viewer: Viewer): void {
  const isBulk = viewer.scopes.includes(SCOPE_EXISTENCE_BULK)
  const max = isBulk ? CANDIDATES_BULK_MAX : CANDIDATES_MAX
  if (ids.length > max) {
    const advice = isBulk ? '' : `, or use a token with scope ${SCOPE_EXISTENCE_BULK} for up to ${CANDIDATES_BULK_MAX}`
    throw new TidemarkError('CANDIDATES_TOO_MANY', `${ids.length} ${NAMES[field]} are too many: send at most ${max} per call${advice}`, {
      path: [field],
    })
  }
  for (let at = 0; at < ids.length; at++) checkId(ids[at] as string, field, at)
}

export type PlayedAtLimits = { futureMaxMs: number; monthsBefore: number }

/** The mistake in this moment of a play, as a sentence; undefined if there is none. */
export function mistakeOfPlayedAt(playedAt: number, now: number, { futureMaxMs, monthsBefore }: PlayedAtLimits): string | undefined {
  const mistake = mistakeOfMoment('playedAt', playedAt, now)
  if (mistake !== undefined) return mistake
  if (playedAt > now + futureMaxMs)
    return `playedAt ${playedAt} is ${playedAt - now} ms ahead of the server: set the clock of the device, or leave playedAt out (at most ${futureMaxMs} ms are allowed)`
  const oldest = beginningOf(monthOf(now) - monthsBefore)
  if (playedAt < oldest)
    return `playedAt ${playedAt} is before ${new Date(oldest).toISOString()}, the beginning of the oldest month in use: leave such plays out`
  return undefined
}

/** Throws PLAYED_AT_INVALID. */
export function checkPlayedAt(playedAt: number, now: number, limits: PlayedAtLimits): number {
  const mistake = mistakeOfPlayedAt(playedAt, now, limits)
  if (mistake !== undefined) throw new TidemarkError('PLAYED_AT_INVALID', mistake, { path: ['playedAt'] })
  return playedAt
}
