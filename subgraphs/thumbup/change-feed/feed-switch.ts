/**
 * Two feeds of the same counts, of which always one is alive: the change feed (primary), which has everything that was
 * committed, and the service's own events (fallback), which need no binary log.
 *
 * While the primary is fresh, what it brings goes downstream, and events only wait in a buffer: an event that arrived before
 * the moment up to which the primary has read is covered by it, and is dropped. When the primary has not come further for
 * `staleAfterMs`, or ended, the buffer goes downstream, and from then on each event as it arrives. So the takeover begins
 * exactly behind what the primary has brought. When the primary has been fresh again for `backAfterMs`, events wait again.
 *
 * What the primary brings goes downstream at any time, whoever is active: after a stall it repeats what events have told, which
 * `change-memory.ts` drops, and adds what they had not. So nothing is lost by a switch, and nothing goes downstream twice.
 *
 * Bounds, beyond which `onReload` asks the owner to load its copies anew: `bufferMax` events that wait (at once, when they are
 * needed), `keysMax` keys in the memory (once the primary is back, if one was forgotten that came again or could have). It is
 * asked, too, when a feed tells a gap, and at a takeover from a primary that was never fresh in this process: nobody knows
 * then which events an earlier process had taken into its buffer. Across a restart of the process the last changes may come
 * again: the memory is not kept.
 */
import type { CountChanges, CountFeed } from './count-feed.ts'
import { makeDownstream } from './downstream.ts'
import { makeEventBuffer } from './event-buffer.ts'
import { makeFeedSide } from './feed-side.ts'
import type { Clock, Timer } from '../../../core/clock.ts'

export type FeedSwitchOptions = {
  /** Milliseconds the primary may be behind before events take over. Minimum 100. Default 10000. */
  staleAfterMs?: number
  /** Milliseconds the primary must have been fresh before it is relied on again. Minimum 0. Default 30000. */
  backAfterMs?: number
  /** Milliseconds until a feed that ended, or could not start, is started again. Minimum 10. Default 10000. */
  restartAfterMs?: number
  /** Counts of events that may wait. Minimum 1. Default 100000. */
  bufferMax?: number
  /** Subjects and owners whose last version is remembered; about 150 bytes each. Minimum 1. Default 200000. */
  keysMax?: number
}

export type FeedSource = 'primary' | 'fallback'

export type FeedSwitchHooks = {
  /** Who is active now, and why. */
  onSwitch?(active: FeedSource, reason: string): void
  /** Changes were missed, or may have gone downstream twice: copies are to be loaded anew. */
  onReload(reason: string): void
}

export type FeedSwitchFigures = {
  active: FeedSource
  /** Milliseconds since the moment up to which the active feed has read; since the start where it has not read yet. */
  freshnessMs: number
  /** The same of the primary, active or not. */
  primaryLagMs: number
  /** The same of the fallback. */
  fallbackLagMs: number
  /** Changes of the active feed, both directions. */
  switches: number
  /** Counts and owners' sums that went downstream. */
  applied: number
  /** Those that did not, since they or newer ones had. */
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
  const sides = {
    primary: makeFeedSide(clock, primary, restartAfterMs, takePrimary, reload, look),
    fallback: makeFeedSide(clock, fallback, restartAfterMs, takeFallback, reload, look),
  }
  const downstream = makeDownstream(clock, keysMax, apply, sides.primary.readUntil)
  const events = makeEventBuffer(clock, bufferMax, sides.primary.readUntil)
  let active: FeedSource = 'primary'
  let freshSince: number | undefined
  let stopped = false
  let [switches, reloads] = [0, 0]

  let ticking: Timer = clock.after(tickMs, tick)
  await Promise.all([sides.primary.start(), sides.fallback.start()])
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

  /** Decides who is active. The primary is only while the buffer is not being passed on, for it trims the buffer. */
  function look(): void {
    const now = clock.now()
    const lagMs = sides.primary.lagMs()
    const failure = sides.primary.failure()
    const isFresh = lagMs <= staleAfterMs && failure === undefined
    freshSince = isFresh ? (freshSince ?? now) : undefined
    if (active === 'primary') {
      if (isFresh) events.trim()
      else takeOver(failure ?? `the change feed has not come further for ${lagMs} ms`)
    } else if (freshSince !== undefined && now - freshSince >= backAfterMs && sides.primary.readUntil() > 0 && events.isEmpty()) {
      setActive('primary', `the change feed has been fresh for ${now - freshSince} ms`)
    } else if (active === 'fallback') events.passInTurn(downstream)
    if (active === 'primary' && isFresh && sides.primary.readUntil() > 0 && downstream.takeRisk())
      reload(`more than ${keysMax} subjects changed while the change feed did not come further: some changes may have come twice`)
  }

  function takeOver(reason: string): void {
    setActive('fallback', reason)
    if (sides.primary.readUntil() === 0) reload('the change feed has not worked since the start: what changed before is not known')
    else if (events.lostAt() >= sides.primary.readUntil())
      reload(`more than ${bufferMax} events came that the change feed had not brought: the oldest are missing`)
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
    const [primaryLagMs, fallbackLagMs] = [sides.primary.lagMs(), sides.fallback.lagMs()]
    const freshnessMs = active === 'primary' ? primaryLagMs : fallbackLagMs
    return { active, freshnessMs, primaryLagMs, fallbackLagMs, switches, ...downstream.figures(), buffered: events.count(), reloads }
  }

  async function stop(): Promise<void> {
    stopped = true
    ticking.cancel()
    await Promise.all([sides.primary.stop(), sides.fallback.stop()])
    await downstream.settled()
  }
}
