/** Compares the merge rule in Lua with `mergeProgress`: any sequence of reports of one key ends in the same records and versions. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProgressRecord } from '../../../../../core/domain.ts'
import { mergeProgress } from '../../../../../subgraphs/history/model/merge.ts'
import type { HotStore, ProgressWrite, PutOutcome } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { openRedisHotStore } from '../../../../../subgraphs/history/stores/redis/hot-store.ts'
import { redisIsHere, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

type Step =
  | { kind: 'put'; now: number; record: ProgressRecord; base: ProgressRecord | null | undefined }
  | { kind: 'delete'; now: number }
  | { kind: 'clear'; now: number }

const REAL = 2 ** 42
const START = 1_700_000_000_000

/** Few different values, so that ties are common. */
const time = fc.nat({ max: 8 }).map((step) => START + step)
const record: fc.Arbitrary<ProgressRecord> = fc.record({
  viewedAt: time,
  since: fc.constant(0),
  rank: fc.oneof(
    fc.constantFrom(0, 1, REAL, 2 ** 53 - 1),
    time,
    time.map((viewedAt) => REAL + viewedAt),
  ),
  version: fc.constant(0),
  position: fc.nat({ max: 3 }),
  duration: fc.constantFrom(0, 2 ** 31 - 1),
  device: fc.constantFrom('', 'tv', 'téléphone'),
  finished: fc.boolean(),
  deleted: fc.constant(false),
})
const base: fc.Arbitrary<ProgressRecord | null | undefined> = fc.oneof(
  fc.constantFrom(undefined, null),
  fc
    .tuple(record, time, fc.constantFrom(5, START * 1024 + 5_000, START * 1024 + 20_000))
    .map(([record, since, version]) => ({ ...record, since, version })),
  time.map((at) => ({
    viewedAt: at,
    since: at,
    rank: 0,
    version: 9,
    position: 0,
    duration: 0,
    device: '',
    finished: false,
    deleted: true,
  })),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('put' as const), now: time, record, base }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), now: time }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const), now: time }) },
)

/** The hot store of one key, with the clock of its region. */
function makeModel() {
  let stored: ProgressRecord | undefined
  let clearedAt = 0
  let lastVersion = 0
  const nextVersion = (now: number): number => Math.max(lastVersion + 1, now * 1024)
  const isVisible = (record: ProgressRecord | undefined): boolean => record !== undefined && !record.deleted && record.viewedAt > clearedAt

  function put(now: number, report: ProgressRecord, base: ProgressRecord | null | undefined): PutOutcome {
    const before = stored ?? base ?? undefined
    const incoming = { ...report, since: clearedAt, version: nextVersion(now) }
    const merged = report.viewedAt <= clearedAt ? before : mergeProgress(before, incoming)
    if (merged === undefined || merged === before) {
      return { status: 'stale', record: isVisible(before) ? before : undefined, voidUntil: Math.max(clearedAt, before?.since ?? 0) }
    }
    stored = merged
    lastVersion = Math.max(incoming.version, merged.version)
    return { status: 'written', record: merged, before, firstOfDay: false }
  }

  return {
    visible: () => (isVisible(stored) ? stored : undefined),
    put,
    delete(now: number): ProgressRecord {
      lastVersion = nextVersion(now)
      const viewedAt = Math.max(now, stored?.viewedAt ?? 0)
      stored = {
        viewedAt,
        since: viewedAt,
        rank: 0,
        version: lastVersion,
        position: 0,
        duration: 0,
        device: '',
        finished: false,
        deleted: true,
      }
      return stored
    },
    clear(now: number): number {
      lastVersion = nextVersion(now)
      clearedAt = Math.max(clearedAt, now, isVisible(stored) ? (stored?.viewedAt ?? 0) : 0)
      return clearedAt
    },
  }
}

describe.skipIf(!(await redisIsHere()))('the merge rule in Lua', () => {
  let servers: TestServers
  let runs = 0
  beforeAll(async () => {
    servers = await startRedis(['appendonly no'])
  })
  afterAll(() => servers.stop())

  /** A store with one region, so that the clock of the region is the clock of the model. */
  const withStore = async (use: (store: HotStore) => Promise<void>): Promise<void> => {
    const store = openRedisHotStore({ urls: servers.urls, regions: 1, prefix: `merge${runs++}` })
    try {
      await use(store)
    } finally {
      await store.close()
    }
  }

  it('equals mergeProgress, one report at a time', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 20 })
    const property = fc.asyncProperty(steps, (steps) =>
      withStore(async (store) => {
        const model = makeModel()
        const key = { viewer: '1', business: 1, oid: 'x' }
        for (const { kind, now, ...report } of steps) {
          if (kind === 'delete') expect((await store.deleteProgress([key], now))[0]?.record).toEqual(model.delete(now))
          else if (kind === 'clear') expect(await store.clearProgress('1', 1, now)).toBe(model.clear(now))
          else
            expect(await store.putProgress([writeOf(report as PutFields)], { now, timelineCap: 10 })).toEqual([
              model.put(now, ...fieldsOf(report as PutFields)),
            ])
          expect((await store.getProgressMany([key]))[0]?.record).toEqual(model.visible())
        }
      }),
    )
    await fc.assert(property, { numRuns: 150 })
  })

  it('equals mergeProgress, all reports in one call', async () => {
    const reports = fc.array(fc.record({ record, base }), { minLength: 1, maxLength: 30 })
    const property = fc.asyncProperty(reports, time, (reports, now) =>
      withStore(async (store) => {
        const model = makeModel()
        const outcomes = await store.putProgress(reports.map(writeOf), { now, timelineCap: 10 })
        expect(outcomes).toEqual(reports.map(({ record, base }) => model.put(now, record, base)))
      }),
    )
    await fc.assert(property, { numRuns: 150 })
  })
})

type PutFields = { record: ProgressRecord; base: ProgressRecord | null | undefined }

function fieldsOf({ record, base }: PutFields): [ProgressRecord, ProgressRecord | null | undefined] {
  return [record, base]
}

function writeOf({ record, base }: PutFields): ProgressWrite {
  return { viewer: '1', business: 1, oid: 'x', record, decisive: true, ...(base === undefined ? {} : { base }) }
}
