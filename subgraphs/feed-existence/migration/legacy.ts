/** The legacy store of a process, while viewers are moved from it: read for those who are not, folded in by the job, written back to. */
import { makeBreaker, type Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import { legacyBusinesses } from '../../../config/legacy.ts'
import { monthOf } from '../model/time-ring.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'
import { makeLegacyReads, type LegacyReads } from './legacy-reads.ts'
import { makeWriteBack, type WriteBack } from './write-back.ts'

export type LegacyPart = {
  /** That of requests, and that of the job and of what is written back. */
  breakers: readonly Breaker[]
  reads: LegacyReads
  /** Undefined unless plays are written there as well. */
  writeBack: WriteBack | undefined
  /** For the job, which has more time than a request. */
  patient: LegacyPlays
  stop(): Promise<void>
}

const CHECK_EVERY_MS = 1_000
/** Without a set: fewer where there is little memory for filters, of which the least takes so much. */
const ABSENT_MAX = 50_000
const FILTER_BYTES_MIN = 512

/** Undefined where no legacy store is configured: then nothing here costs anything. */
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
  // What is slow for a request may be quick enough for a page.
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

/** Is a play of this time one of the months that are looked at? */
export function liveness(
  clock: Clock,
  { monthsBefore, futureMaxMs }: Pick<Config['existence'], 'monthsBefore' | 'futureMaxMs'>,
): (playedAt: number) => boolean {
  return (playedAt) => {
    const now = clock.now()
    return playedAt <= now + futureMaxMs && monthOf(playedAt) >= monthOf(now) - monthsBefore
  }
}
