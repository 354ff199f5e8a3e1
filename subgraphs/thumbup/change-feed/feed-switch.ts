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
import type { CountChanges, CountFeed, RunningFeed } from './count-feed.ts'
import { makeChangeMemory } from './change-memory.ts'
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

/** Downstream gets at most this many at once from the buffer. */
const CHUNK = 1_000

export async function makeFeedSwitch(
  clock: Clock,
  primary: CountFeed,
  fallback: CountFeed,
  apply: (changes: CountChanges) => Promise<void>,
  hooks: FeedSwitchHooks,
  options: FeedSwitchOptions = {},
): Promise<FeedSwitch> {
  const { staleAfterMs = 10_000, backAfterMs = 30_000, restartAfterMs = 10_000, bufferMax = 100_000, keysMax = 200_000 } = options
  const memory = makeChangeMemory(keysMax)
  const tickMs = Math.min(1_000, Math.max(10, Math.floor(staleAfterMs / 20)))
  const startedAt = clock.now()
  const sides = { primary: makeSide(primary, takePrimary), fallback: makeSide(fallback, takeFallback) }
  let active: FeedSource = 'primary'
  let freshSince: number | undefined
  let stopped = false
  let queue: Promise<unknown> = Promise.resolve()
  /** In the order of arrival. */
  let buffer: { arrivedAt: number; changes: CountChanges }[] = []
  let buffered = 0
  /** When the last event had arrived for which there was no room. */
  let lostAt = -1
  let isPassingBuffer = false
  let isRisked = false
  let [switches, applied, repeated, reloads] = [0, 0, 0, 0]

  let ticking: Timer = clock.after(tickMs, tick)
  await Promise.all([sides.primary.start(), sides.fallback.start()])
  return { figures, stop }

  /** One of the two feeds, started again and again. */
  function makeSide(feed: CountFeed, take: (changes: CountChanges) => Promise<void>) {
    let running: RunningFeed | undefined
    let readUntil = 0
    let failure: string | undefined
    let retry: Timer | undefined

    async function start(): Promise<void> {
      try {
        const started = await feed.start(take, reload)
        if (stopped) return await started.stop()
        running = started
        failure = undefined
        void started.ended.then((reason) => {
          if (stopped) return
          readSoFar()
          running = undefined
          void started.stop().catch(() => undefined)
          fail(reason)
        })
      } catch (error) {
        fail(error)
      }
    }

    function fail(reason: unknown): void {
      failure = reason instanceof Error ? reason.message : String(reason)
      if (stopped) return
      look()
      retry = clock.after(restartAfterMs, () => void start())
    }

    function readSoFar(): number {
      readUntil = Math.max(readUntil, running?.readUntil() ?? 0)
      return readUntil
    }

    async function stop(): Promise<void> {
      retry?.cancel()
      await running?.stop()
    }
    return { start, stop, readUntil: readSoFar, failure: () => failure }
  }

  function takePrimary(changes: CountChanges): Promise<void> {
    return oneByOne(() => pass(changes))
  }

  function takeFallback(changes: CountChanges): Promise<void> {
    return oneByOne(async () => {
      if (active === 'primary') wait(changes)
      else {
        await passBuffer()
        await pass(changes)
      }
    })
  }

  /** Both feeds bring at any time; downstream gets one call at a time, and the memory says what went there before. */
  function oneByOne(work: () => Promise<void>): Promise<void> {
    const done = queue.then(work)
    queue = done.catch(() => undefined)
    return done
  }

  async function pass(changes: CountChanges): Promise<void> {
    const fresh = memory.newOf(changes)
    const count = sizeOf(fresh)
    if (count > 0) await apply(fresh)
    memory.keep(fresh, clock.now(), sides.primary.readUntil())
    if (memory.takeRisked() > 0) isRisked = true
    applied += count
    repeated += sizeOf(changes) - count
  }

  function wait(changes: CountChanges): void {
    buffer.push({ arrivedAt: clock.now(), changes })
    buffered += sizeOf(changes)
    if (buffered > bufferMax) trim()
    while (buffered > bufferMax) {
      const { arrivedAt, changes: lost } = buffer.shift() as (typeof buffer)[number]
      lostAt = arrivedAt
      buffered -= sizeOf(lost)
    }
  }

  /** What the primary has brought by itself needs not wait any longer. */
  function trim(): void {
    const readUntil = sides.primary.readUntil()
    const kept = buffer.findIndex(({ arrivedAt }) => arrivedAt >= readUntil)
    const gone = buffer.splice(0, kept === -1 ? buffer.length : kept)
    for (const { changes } of gone) buffered -= sizeOf(changes)
  }

  async function passBuffer(): Promise<void> {
    while (buffer.length > 0) {
      let count = 0
      for (let size = 0; count < buffer.length && size < CHUNK; count++) size += sizeOf((buffer[count] as (typeof buffer)[number]).changes)
      const some = buffer.slice(0, count).map(({ changes }) => changes)
      await pass({ counts: some.flatMap(({ counts }) => counts), owners: some.flatMap(({ owners }) => owners) })
      buffer = buffer.slice(count)
      for (const changes of some) buffered -= sizeOf(changes)
    }
  }

  function tick(): void {
    if (stopped) return
    look()
    ticking = clock.after(tickMs, tick)
  }

  /** Decides who is active. The primary is only while the buffer is not being passed on, for it trims the buffer. */
  function look(): void {
    const now = clock.now()
    const lagMs = lagOf('primary')
    const failure = sides.primary.failure()
    const isFresh = lagMs <= staleAfterMs && failure === undefined
    freshSince = isFresh ? (freshSince ?? now) : undefined
    if (active === 'primary') {
      if (isFresh) trim()
      else takeOver(failure ?? `the change feed has not come further for ${lagMs} ms`)
    } else if (freshSince !== undefined && now - freshSince >= backAfterMs && sides.primary.readUntil() > 0 && buffer.length === 0) {
      setActive('primary', `the change feed has been fresh for ${now - freshSince} ms`)
    } else if (active === 'fallback') beginPassing()
    if (active === 'primary' && isFresh && isRisked && sides.primary.readUntil() > 0) {
      isRisked = false
      reload(`more than ${keysMax} subjects changed while the change feed did not come further: some changes may have come twice`)
    }
  }

  function takeOver(reason: string): void {
    setActive('fallback', reason)
    if (sides.primary.readUntil() === 0) reload('the change feed has not worked since the start: what changed before is not known')
    else if (lostAt >= sides.primary.readUntil())
      reload(`more than ${bufferMax} events came that the change feed had not brought: the oldest are missing`)
    beginPassing()
  }

  /** What downstream rejects stays in the buffer, for the next time. */
  function beginPassing(): void {
    if (isPassingBuffer || buffer.length === 0) return
    isPassingBuffer = true
    const end = () => {
      isPassingBuffer = false
    }
    oneByOne(passBuffer).then(end, end)
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

  function lagOf(source: FeedSource): number {
    return clock.now() - Math.max(startedAt, sides[source].readUntil())
  }

  function figures(): FeedSwitchFigures {
    return {
      active,
      freshnessMs: lagOf(active),
      primaryLagMs: lagOf('primary'),
      fallbackLagMs: lagOf('fallback'),
      switches,
      applied,
      repeated,
      buffered,
      reloads,
    }
  }

  async function stop(): Promise<void> {
    stopped = true
    ticking.cancel()
    await Promise.all([sides.primary.stop(), sides.fallback.stop()])
    await queue
  }
}

function sizeOf({ counts, owners }: CountChanges): number {
  return counts.length + owners.length
}
