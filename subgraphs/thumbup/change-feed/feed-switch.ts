/**
 * Two feeds of the same counts, one of them active. The change feed (primary) has every committed change. The service's own events
 * (fallback) need no binary log.
 *
 * While the primary is fresh, its changes go downstream, and events wait in a buffer. An event that arrived before the primary's read time
 * is covered, and dropped. When the primary ends, or makes no progress for `staleAfterMs`, the buffer goes downstream, and then each event
 * as it arrives. The takeover therefore begins exactly behind the primary. When the primary has been fresh again for `backAfterMs`, events
 * wait again.
 *
 * Changes of the primary always go downstream. After a stall they repeat the changes that events have delivered, which `change-memory.ts`
 * drops, and add the missing ones. A switch therefore loses nothing and repeats nothing.
 *
 * `onReload` asks the owner to load its copies again:
 * - when more than `bufferMax` events waited, and the buffer is needed
 * - when the primary is back, and more than `keysMax` keys changed: some changes may have come twice
 * - when a feed reports a gap
 * - at a takeover from a primary that never was fresh in this process: the events that an earlier process had buffered are unknown
 *
 * The memory is not kept across a restart of the process: the last changes may come again.
 */
import type { CountChanges, CountFeed } from './count-feed.ts'
import { makeDownstream } from './downstream.ts'
import { makeEventBuffer } from './event-buffer.ts'
import { makeRestartedFeed } from './restarted-feed.ts'
import type { Clock, Timer } from '../../../core/clock.ts'

export type FeedSwitchOptions = {
  /** Milliseconds the primary may be behind before events take over. Minimum 100. Default 10000. */
  staleAfterMs?: number
  /** Milliseconds the primary must have been fresh before it becomes active again. Minimum 0. Default 30000. */
  backAfterMs?: number
  /** Milliseconds before a feed that ended, or failed to start, is started again. Minimum 10. Default 10000. */
  restartAfterMs?: number
  /** Counts of events that may wait. Minimum 1. Default 100000. */
  bufferMax?: number
  /** Subjects and owners in the memory, about 150 bytes each. Minimum 1. Default 200000. */
  keysMax?: number
}

export type FeedSource = 'primary' | 'fallback'

export type FeedSwitchHooks = {
  /** Reports the active feed, and the reason for the switch. */
  onSwitch?(active: FeedSource, reason: string): void
  /** Changes were missed, or may have gone downstream twice: copies must be loaded again. */
  onReload(reason: string): void
}

export type FeedSwitchFigures = {
  active: FeedSource
  /** Milliseconds since the time up to which the active feed has read, or since the start if it has not read yet. */
  freshnessMs: number
  /** The same of the primary, active or not. */
  primaryLagMs: number
  /** The same of the fallback. */
  fallbackLagMs: number
  /** Switches of the active feed, in both directions. */
  switches: number
  /** Counts and owners' sums that went downstream. */
  applied: number
  /** Counts and owners' sums that were dropped, because the same or a newer version had gone downstream. */
  repeated: number
  /** Counts of events that wait. */
  buffered: number
  reloads: number
}

export type FeedSwitch = {
  figures(): FeedSwitchFigures
  stop(): Promise<void>
}

export async function makeFeedSwitch(
  clock: Clock,
  primary: CountFeed,
  fallback: CountFeed,
  apply: (changes: CountChanges) => Promise<void>,
  hooks: FeedSwitchHooks,
  options: FeedSwitchOptions = {},
): Promise<FeedSwitch> {
  const { staleAfterMs = 10_000, backAfterMs = 30_000, restartAfterMs = 10_000, bufferMax = 100_000, keysMax = 200_000 } = options
  const tickMs = Math.min(1_000, Math.max(10, Math.floor(staleAfterMs / 20)))
  const feeds = {
    primary: makeRestartedFeed(clock, primary, restartAfterMs, takePrimary, reload, look),
    fallback: makeRestartedFeed(clock, fallback, restartAfterMs, takeFallback, reload, look),
  }
  const downstream = makeDownstream(clock, keysMax, apply, feeds.primary.readUntil)
  const events = makeEventBuffer(clock, bufferMax, feeds.primary.readUntil)
  let active: FeedSource = 'primary'
  let freshSince: number | undefined
  let stopped = false
  let [switches, reloads] = [0, 0]

  let ticking: Timer = clock.after(tickMs, tick)
  await Promise.all([feeds.primary.start(), feeds.fallback.start()])
  return { figures, stop }

  function takePrimary(changes: CountChanges): Promise<void> {
    return downstream.oneByOne(() => downstream.pass(changes))
  }

  function takeFallback(changes: CountChanges): Promise<void> {
    return downstream.oneByOne(async () => {
      if (active === 'primary') return events.add(changes)
      await events.passTo(downstream.pass)
      await downstream.pass(changes)
    })
  }

  function tick(): void {
    if (stopped) return
    look()
    ticking = clock.after(tickMs, tick)
  }

  /** Chooses the active feed. The primary becomes active only when the buffer is empty, because the primary trims the buffer. */
  function look(): void {
    const now = clock.now()
    const lagMs = feeds.primary.lagMs()
    const failure = feeds.primary.failure()
    const isFresh = lagMs <= staleAfterMs && failure === undefined
    freshSince = isFresh ? (freshSince ?? now) : undefined
    if (active === 'primary') {
      if (isFresh) events.trim()
      else takeOver(failure ?? `the change feed has made no progress for ${lagMs} ms`)
    } else if (freshSince !== undefined && now - freshSince >= backAfterMs && feeds.primary.readUntil() > 0 && events.isEmpty()) {
      setActive('primary', `the change feed has been fresh for ${now - freshSince} ms`)
    } else if (active === 'fallback') events.passInTurn(downstream)
    if (active === 'primary' && isFresh && feeds.primary.readUntil() > 0 && downstream.takeRisk())
      reload(`more than ${keysMax} subjects changed while the change feed made no progress: some changes may have come twice`)
  }

  function takeOver(reason: string): void {
    setActive('fallback', reason)
    if (feeds.primary.readUntil() === 0) reload('the change feed has not worked since the start: earlier changes are unknown')
    else if (events.lostAt() >= feeds.primary.readUntil())
      reload(`more than ${bufferMax} events waited for the change feed: the oldest are lost`)
    events.passInTurn(downstream)
  }

  function setActive(source: FeedSource, reason: string): void {
    active = source
    switches++
    hooks.onSwitch?.(source, reason)
  }

  function reload(reason: string): void {
    reloads++
    hooks.onReload(reason)
  }

  function figures(): FeedSwitchFigures {
    const [primaryLagMs, fallbackLagMs] = [feeds.primary.lagMs(), feeds.fallback.lagMs()]
    const freshnessMs = active === 'primary' ? primaryLagMs : fallbackLagMs
    return { active, freshnessMs, primaryLagMs, fallbackLagMs, switches, ...downstream.figures(), buffered: events.count(), reloads }
  }

  async function stop(): Promise<void> {
    stopped = true
    ticking.cancel()
    await Promise.all([feeds.primary.stop(), feeds.fallback.stop()])
    await downstream.settled()
  }
}
