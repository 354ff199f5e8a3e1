/**
 * Rewards of a log as pages for their consumer, by cursor. A cursor is the number of an event in the log. A new event always has a higher
 * number than all events that can be read, so a consumer that continues after its last cursor misses nothing.
 */
import type { RewardEvent } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'
import { wrongCursor } from '../core/input-limits.ts'
import type { Log } from './log.ts'

export type RewardEventPage = {
  events: { cursor: string; reward: RewardEvent }[]
  /** Events after the cursor that were trimmed before they were read. Events of erased viewers do not count. 0 without a cursor. */
  missedCount: number
  hasNextPage: boolean
}

/**
 * Throws CURSOR_INVALID for a wrong cursor, and REWARDS_IN_TOPIC if the events of this deployment are in a Kafka topic. `advice` replaces the
 * advice about cursors of the API, for a consumer that does not read its pages.
 */
export async function readRewardEvents(
  log: Pick<Log, 'readRewards'>,
  cursor: string | undefined,
  first: number,
  advice?: string,
): Promise<RewardEventPage> {
  if (log.readRewards === undefined) {
    throw new TidemarkError('REWARDS_IN_TOPIC', 'the reward events of this deployment are in the Kafka topic ".rewards": read them there')
  }
  const after = cursor === undefined ? 0 : numberOf(cursor, advice)
  const { rewards, last, trimmed } = await log.readRewards(after, first + 1)
  if (after > last) throw wrongCursor(cursor ?? '', 'belongs to no event, because it is ahead of all events', advice)
  return {
    events: rewards.slice(0, first).map(({ number, reward }) => ({ cursor: number.toString(36), reward })),
    missedCount: cursor === undefined ? 0 : Math.max(0, trimmed - after),
    hasNextPage: rewards.length > first,
  }
}

function numberOf(cursor: string, advice: string | undefined): number {
  if (/^[0-9a-z]{1,10}$/.test(cursor)) return Number.parseInt(cursor, 36)
  throw wrongCursor(cursor, 'belongs to no event', advice)
}
