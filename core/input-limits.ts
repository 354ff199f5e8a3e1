/** Checks the limits that every API has per call. */
import { shortened, TidemarkError, type ErrorCode } from './errors.ts'
import { checkId } from './keys.ts'

export const IDS_MAX = 200
export const INPUTS_MAX = 500
export const FIRST_MAX = 100
/** Times below this are seconds: as milliseconds they would be before March 1973. */
export const SECONDS_BELOW = 100_000_000_000

/** Throws IDS_TOO_MANY or ID_INVALID. */
export function checkIds(ids: readonly string[]): void {
  checkIdCount(ids.length)
  for (let at = 0; at < ids.length; at++) checkId(ids[at] as string, 'ids', at)
}

/** Throws IDS_TOO_MANY. */
export function checkIdCount(count: number): void {
  if (count > IDS_MAX)
    throw new TidemarkError('IDS_TOO_MANY', `${count} ids are too many: send at most ${IDS_MAX} per call`, { path: ['ids'] })
}

/** Throws INPUTS_TOO_MANY. `field`: the list of the batch. */
export function checkInputCount(count: number, field: string): void {
  if (count > INPUTS_MAX)
    throw new TidemarkError('INPUTS_TOO_MANY', `${count} ${field} are too many: send at most ${INPUTS_MAX} per batch`, { path: [field] })
}

/** Throws FIRST_INVALID. */
export function checkFirst(first: number): void {
  if (first < 1 || first > FIRST_MAX)
    throw new TidemarkError('FIRST_INVALID', `first ${first} is outside 1 to ${FIRST_MAX}: ask for a page of that size`)
}

const FROM_A_PAGE = 'send endCursor or a cursor of an earlier page of this list'

/** `mistake`: as in "is of another list". */
export function wrongCursor(cursor: string, mistake: string, advice = FROM_A_PAGE): TidemarkError {
  return new TidemarkError('CURSOR_INVALID', `cursor "${shortened(cursor, 24)}" ${mistake}: ${advice}`)
}

/**
 * Returns a sentence about a time that a client sent in the field `name`, or undefined if the time is valid. A simulated clock may start at
 * 0: then small times are plausible.
 */
export function mistakeOfMoment(name: string, value: number, now: number): string | undefined {
  // -1: the client sent a value that is not a number (subgraphs/timestamp.ts).
  if (!Number.isSafeInteger(value) || value < 1)
    return `${value === -1 ? `the value of ${name}` : `${name} ${value}`} is not a time: send milliseconds since 1970, or leave it out`
  if (value < SECONDS_BELOW && now >= SECONDS_BELOW)
    return `${name} ${value} is in seconds, or before March 1973: send milliseconds since 1970, or leave it out`
  return undefined
}

/** Throws with the code of that field. */
export function checkMoment(name: string, code: ErrorCode, value: number, now: number): number {
  const mistake = mistakeOfMoment(name, value, now)
  if (mistake !== undefined) throw new TidemarkError(code, mistake, { path: [name] })
  return value
}
