/**
 * Shared by the tests of the migration: a legacy Redis that is empty before each test, processes beside it, and cleanup after each test.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { MARK_MONTH, decodeMark, listingOf } from '../../../../subgraphs/feed-existence/migration/progress.ts'
import { beginningOf, monthOf, slotOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { redisIsHere } from '../../../../harness/deployment/redis-servers.ts'
import { startLegacy, type LegacyRedis } from '../../../../harness/samples/legacy-redis.ts'
import { startClosedJob } from '../closed-after-each.ts'
import { DAY, HOUR, SHAPE, openSeen, serveSeen, type Opened } from '../opened.ts'
import { legacyConfig, openLegacyOf } from './legacy-store.ts'

export const START = Date.UTC(2026, 4, 20, 10, 30)
export const isHere = await redisIsHere()

type Served = ReturnType<typeof serveSeen>

export type Moving = {
  readonly redis: LegacyRedis
  closing: (() => Promise<void>)[]
  serve(opened: Opened, legacy?: object, existence?: object): Served
  open(legacy?: object, existence?: object): { opened: Opened; served: Served }
  startJob(opened: Opened, served: Served): ReturnType<Served['subgraph']['startJob']>
}

/** Called once by a test file. */
export function makeMoving(): Moving {
  let redis: LegacyRedis
  const closing: (() => Promise<void>)[] = []
  beforeAll(async () => {
    if (isHere) redis = await startLegacy()
  }, 60_000)
  afterAll(async () => redis?.stop(), 60_000)
  beforeEach(async () => void (await redis?.clear()))
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  function serve(opened: Opened, legacy: object = {}, existence: object = {}): Served {
    const config = legacyConfig(redis.url, legacy, existence)
    const plays = openLegacyOf(opened, config)
    const served = serveSeen(opened, config, { ...opened.stores, legacy: plays })
    closing.push(() => plays.close(), served.stop)
    return served
  }

  return {
    get redis() {
      return redis
    },
    closing,
    serve,
    open(legacy = {}, existence = {}) {
      const opened = openSeen({ start: START })
      closing.push(opened.close)
      return { opened, served: serve(opened, legacy, existence) }
    },
    startJob: (opened, served) => startClosedJob(closing, opened, served),
  }
}

/** Lists viewers as the command does. */
export async function list(opened: Opened, viewers: readonly string[], business = 1): Promise<void> {
  const now = opened.clock.now()
  await opened.plain.hot.putRingLayout({ ...SHAPE, since: 1 })
  await opened.plain.hot.stagePlays(
    viewers.map((viewer) => listingOf(viewer, business, now)),
    { now, slot: slotOf(now, SHAPE.slots) },
  )
}

export async function isMigrated(opened: Opened, viewer: string, business = 1): Promise<boolean> {
  const [mark] = await opened.plain.records.getFilters([{ viewer, month: MARK_MONTH }])
  return decodeMark(mark?.filter).has(business)
}

/** A set with members of all live months, and members that do not count. */
export const SET: Record<string, number> = {
  now: START - HOUR,
  april: START - 30 * DAY,
  march: START - 60 * DAY,
  february: beginningOf(monthOf(START) - 3),
  'too old': beginningOf(monthOf(START) - 3) - 1,
  'far future': START + DAY,
  'no time': 5,
  ['x'.repeat(65)]: START - HOUR,
}
export const CANDIDATES = [...Object.keys(SET).filter((id) => id.length < 65), 'new', 'played']
export const LEFT = ['too old', 'far future', 'no time', 'new']
