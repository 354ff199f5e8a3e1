/**
 * The legacy store of a process during a migration: requests read it for viewers who are not migrated, the job folds it in, and plays are
 * written back to it.
 */
import { makeBreaker, type Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import { legacyBusinesses } from '../../../config/legacy.ts'
import { monthOf } from '../model/time-ring.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'
import { makeLegacyReads, type LegacyReads } from './legacy-reads.ts'
import { makeWriteBack, type WriteBack } from './write-back.ts'

export type LegacyPart = {
  /** Two breakers: one for requests, one for the job and for write-backs. */
  breakers: readonly Breaker[]
  reads: LegacyReads
  /** Undefined unless plays are also written to the legacy store. */
  writeBack: WriteBack | undefined
  /** For the job, which may wait longer than a request. */
  patient: LegacyPlays
  stop(): Promise<void>
}

const CHECK_EVERY_MS = 1_000
/** Viewers known to have no set. The number is smaller if there is little memory for filters, whose minimum size is FILTER_BYTES_MIN. */
const ABSENT_MAX = 50_000
const FILTER_BYTES_MIN = 512

/** Undefined if no legacy store is configured. It then costs nothing. */
export function makeLegacyPart(
  clock: Clock,
  plays: LegacyPlays | undefined,
  { existence, businesses }: Config,
  onOpen: (error: unknown) => void,
  onError: (error: unknown) => void,
): LegacyPart | undefined {
  const { legacy } = existence
  if (plays === undefined || legacy === undefined) return undefined
  const breakerOf = (patienceMs: number | undefined): Breaker =>
    makeBreaker(
      clock,
      'legacyStore',
      () => plays.check(),
      { checkEveryMs: CHECK_EVERY_MS, ...(patienceMs === undefined ? {} : { patienceMs }) },
      onOpen,
    )
  // A time that is too long for a request may be short enough for a page.
  const [breaker, patience] = [breakerOf(legacy.patienceMs), breakerOf(undefined)]
  const numbers = legacyBusinesses(legacy, businesses).map(({ number }) => number)
  const isLive = liveness(clock, existence)
  const absentMax = Math.min(ABSENT_MAX, Math.ceil(existence.cacheBytesMax / FILTER_BYTES_MIN))
  const writeBack = legacy.writeBack ? makeWriteBack(clock, plays, patience, numbers, onError) : undefined
  return {
    breakers: [breaker, patience],
    reads: makeLegacyReads(clock, plays, breaker, { businesses: numbers, absentMs: legacy.absentMs, absentMax, isLive }, onError),
    writeBack,
    patient: {
      ...plays,
      listPlays: (viewer, business, page, count) => patience.run(() => plays.listPlays(viewer, business, page, count)),
    },
    async stop() {
      await writeBack?.stop()
      breaker.stop()
      patience.stop()
    },
  }
}

/** True if a play of this time belongs to one of the months in use. */
export function liveness(
  clock: Clock,
  { monthsBefore, futureMaxMs }: Pick<Config['existence'], 'monthsBefore' | 'futureMaxMs'>,
): (playedAt: number) => boolean {
  return (playedAt) => {
    const now = clock.now()
    return playedAt <= now + futureMaxMs && monthOf(playedAt) >= monthOf(now) - monthsBefore
  }
}
