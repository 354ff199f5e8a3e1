/**
 * `tidemark events` prints the rewards of the embedded stores as JSONL, oldest first. It may run beside a service:
 *
 *     {"cursor":"1","id":"20781.7.1","kind":"FIRST_VIEW","viewer":"7","business":"video","date":"2026-11-24"}
 *
 * With `--follow` it waits for more. A consumer notes the cursor of the last line that it has processed, and continues with `--after`.
 * A cursor whose next events are no longer kept ends the command before it prints anything.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { makeBusinesses } from '../config/businesses.ts'
import { systemClock } from '../core/clock.ts'
import { TidemarkError } from '../core/errors.ts'
import { shownReward } from '../subgraphs/history/shown-reward.ts'
import { readRewardEvents } from '../writeback/reward-events.ts'
import { requireDataFolder } from './process/data-folder.ts'
import { configInEffect } from './process/live-config.ts'
import { makeLog } from './process/log.ts'
import { readSources, type Flags } from './process/settings.ts'
import { openStores } from './stores/history.ts'

export type EventsFlags = Flags & { after?: string; follow?: boolean }

const PAGE = 1_000
const FROM_A_LINE = 'give --after the cursor of a printed line, or leave it out to begin with the oldest event that is kept'
const LOOK_EVERY_MS = 200

/** Ends after the last event, or, if it follows, when `signal` is aborted. Throws CURSOR_INVALID and CURSOR_EXPIRED. */
export async function events(flags: EventsFlags, print: (line: string) => void, signal: AbortSignal): Promise<void> {
  const settings = readSources(flags)
  const { kafka } = settings.config.stores
  if (kafka !== undefined) {
    const topic = `${kafka.topicPrefix}.rewards`
    throw new TidemarkError('REWARDS_IN_TOPIC', `the reward events of this deployment are in the Kafka topic "${topic}": read them there`)
  }
  const config = await configInEffect(settings)
  requireDataFolder(config)
  const businesses = makeBusinesses(config.businesses)
  const stores = await openStores(config, systemClock, makeLog())
  let cursor = flags.after
  try {
    while (!signal.aborted) {
      const page = await readRewardEvents(stores.log, cursor, PAGE, FROM_A_LINE)
      if (page.missedCount > 0) throw expired(cursor ?? '', page.missedCount)
      for (const each of page.events) print(JSON.stringify({ cursor: each.cursor, ...shownReward(each.reward, businesses) }))
      cursor = page.events.at(-1)?.cursor ?? cursor
      if (page.hasNextPage) continue
      if (flags.follow !== true) return
      await wait(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
  } finally {
    await stores.close()
  }
}

/** The consumer decides how to go on, since it has no way back to the events that it missed. */
function expired(cursor: string, missedCount: number): TidemarkError {
  const sentence = `${missedCount} events after cursor "${cursor}" were removed before they were read`
  return new TidemarkError('CURSOR_EXPIRED', `${sentence}: leave out --after to continue with the oldest event that is kept`)
}

/** Aborted when the process is told to end, or when the reader of its output has gone. */
export function endOfProcess(): AbortSignal {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  process.stdout.on('error', () => ending.abort())
  return ending.signal
}
