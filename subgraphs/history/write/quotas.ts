/**
 * The quotas of a business, so that one busy or full business does not affect others: reports per second, and stored records. A full
 * business still accepts reports of subjects that the viewer's history has, since they store no more. Only full businesses cost a lookup.
 * If no store can tell whether a subject is stored, its report is accepted: a resume point matters more than an exact limit.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, ProgressKey } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import type { Degraded, MayLack } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut } from '../../../core/outage/part-outage.ts'
import { getProgressMany } from '../../../loaders/progress.ts'
import { added, makeStoredSums, type StoredSum, type SumPage } from '../../stored-sums.ts'
import { orReject, rejectedBy, type Rejected } from '../../user-errors.ts'
import { makeTenantWrites, type TenantWrites } from '../../tenant-statistics.ts'
import { makeWriteRates } from '../../write-rates.ts'
import { encodeProgress } from '../model/record-codec.ts'
import type { CheckedReport } from '../inputs.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

export type HistoryQuotas = {
  /** Rejects reports above a quota. In the order of `checked`. */
  check(checked: readonly (CheckedReport | Rejected)[]): Promise<(CheckedReport | Rejected)[]>
  /** Counts the answers to valid reports, by business. Both in the order of the inputs. */
  count(valid: readonly (CheckedReport | Rejected)[], answers: readonly { outcome: string }[]): void
  writes: TenantWrites
  /** The stored records of a business, as far as they are summed up. `measure`: also continues to sum up. */
  storedOf(business: BusinessNumber, measure: boolean): StoredSum | undefined
  stop(): Promise<void>
}

const PAGE = 1_000

export function startHistoryQuotas(
  clock: Clock,
  businesses: Pick<Businesses, 'all' | 'byNumber'>,
  hot: HotStore,
  records: RecordStore,
  mayLack: MayLack,
  onError: (error: unknown) => void,
): HistoryQuotas {
  const writes = makeTenantWrites()
  const rates = makeWriteRates(clock, businesses, ({ history }) => history?.reportsPerSecondMax, 'report')
  const sums = makeStoredSums<ProgressKey>(
    clock,
    (after) => pageOf(records, after),
    () => businesses.all.some(({ history }) => history?.recordsMax !== undefined),
    onError,
  )

  function admitted(report: CheckedReport): CheckedReport {
    rates.admit(report.business)
    return report
  }

  function fullFor({ business, oid }: CheckedReport): TidemarkError | undefined {
    const { name, history } = businesses.byNumber(business) ?? {}
    const max = history?.recordsMax
    if (max === undefined) return undefined
    const rows = sums.of(business)?.rows ?? 0
    if (rows < max) return undefined
    return new TidemarkError(
      'QUOTA_EXCEEDED',
      `subject "${oid}" is new to this viewer, and business "${name}" has ${rows} stored records of at most ${max}: raise history.recordsMax, or delete some`,
      { path: ['business'] },
    )
  }

  /** In order: true if the stores have no record of the subject. */
  function areNew(reports: readonly CheckedReport[]): Promise<boolean[]> {
    // Ask the journal first: a report that has left it by now is visible to the reads below.
    const waits = new Set(reports.flatMap(({ viewer }) => (mayLack(viewer) ? [viewer] : [])))
    return apartIfPartIsOut(reports, async (some) => {
      const lacking: Degraded = new Set()
      const found = await getProgressMany(hot, records, some, lacking)
      return found.map((record, place) => record === undefined && lacking.size === 0 && !waits.has(some[place]?.viewer ?? ''))
    })
  }

  return {
    async check(checked) {
      const judged = checked.map((each) => ('outcome' in each ? each : orReject(() => admitted(each))))
      const full = judged.flatMap((each, place) => {
        const error = 'outcome' in each ? undefined : fullFor(each)
        return error === undefined ? [] : [{ place, report: each as CheckedReport, error }]
      })
      if (full.length === 0) return judged
      const isNew = await areNew(full.map(({ report }) => report))
      full.forEach(({ place, error }, index) => {
        if (isNew[index] === true) judged[place] = rejectedBy(error)
      })
      return judged
    },
    count(valid, answers) {
      valid.forEach((each, place) => {
        if ('outcome' in each) return
        const answer = answers[place]
        if (answer?.outcome === 'ACCEPTED') writes.accepted(each.business)
        else if (answer !== undefined && 'code' in answer && answer.code === 'QUOTA_EXCEEDED') writes.overQuota(each.business)
      })
    },
    writes,
    storedOf: (business, measure) => (measure ? sums.of(business) : sums.known(business)),
    stop: () => sums.stop(),
  }
}

/** Tombstones are no rows, but take room. */
async function pageOf(records: RecordStore, after: ProgressKey | undefined): Promise<SumPage<ProgressKey>> {
  const rows = await records.listAllProgress(after, PAGE)
  const sums = new Map<BusinessNumber, StoredSum>()
  for (const { key, record } of rows) {
    const bytes = Buffer.byteLength(key.viewer) + Buffer.byteLength(key.oid) + encodeProgress(record).length
    sums.set(key.business, added(sums.get(key.business), { rows: record.deleted ? 0 : 1, bytes }))
  }
  return { sums, next: rows.length < PAGE ? undefined : rows.at(-1)?.key }
}
