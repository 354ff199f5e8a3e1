/**
 * Acknowledged writes reach the record store unchanged. Through its address a deployment shows that in two ways: its
 * metrics report an empty backlog, and a history longer than the hot timeline is complete. These checks wait for the
 * write-back.
 */
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { CheckFailed, CheckSkipped, expectEqual, expectFields } from '../outcome.ts'
import { progressOf, type Progress, type ReportInput } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const HOUR = 3_600_000
/** More entries than the hot timeline keeps by default. */
const LONG = 1_500
const BATCH = 500
const PAGE = 100

function someReports(audit: Audit, count: number): (ReportInput & { viewedAt: number })[] {
  const newest = audit.now() - HOUR
  return Array.from({ length: count }, (_, index) => ({
    id: String(index),
    position: REAL_POSITION + index,
    duration: 3 * REAL_POSITION,
    viewedAt: newest - index * 100,
    device: `device ${index % 7}`,
  }))
}

async function write(viewer: AuditViewer, reports: readonly ReportInput[]): Promise<void> {
  for (let i = 0; i < reports.length; i += BATCH) {
    const answers = await viewer.reportBatch(reports.slice(i, i + BATCH))
    const refused = answers.find((answer) => answer.outcome !== 'ACCEPTED')
    if (refused !== undefined) throw new CheckFailed('every report to be accepted', `${refused.outcome}: ${refused.message}`)
  }
}

async function readAll(viewer: AuditViewer): Promise<(Progress | null)[]> {
  const pages = await viewer.walk(PAGE)
  return pages.flatMap((page) => page.edges.map((edge) => progressOf(edge.node)))
}

/** Compares entry by entry, so that a failure names only the first that differs. */
function expectHistory(audit: Audit, seen: readonly (Progress | null)[], reports: readonly ReportInput[]): void {
  expectEqual('the number of entries in the history', seen.length, reports.length)
  reports.forEach((report, index) => {
    const stored = { ...report, business: audit.business, finished: false }
    expectEqual(`entry ${index} of the history`, seen[index], { ...stored })
  })
}

export const durability: readonly Check[] = [
  {
    id: 'write-back-drains',
    sentence: 'After the last write the write-back drains: no dirty key and no flush message is left.',
    async check(audit) {
      await write(await audit.ownViewer(), someReports(audit, 100))
      const quiet = await audit.quiet()
      if (quiet.kind === 'unknown') throw new CheckSkipped(quiet.why)
      if (quiet.kind === 'left') throw new CheckFailed('nothing left to persist', quiet.what)
    },
  },
  {
    id: 'written-stays',
    sentence: 'Acknowledged reports are the same after the write-back.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const reports = someReports(audit, 100)
      await write(viewer, [...reports].reverse())
      await audit.quiet()
      expectHistory(audit, await readAll(viewer), reports)
      expectEqual(
        'the point lookup',
        (await viewer.lookUpMany(reports.map((each) => each.id))).map((each) => each?.position),
        reports.map((each) => each.position),
      )
    },
  },
  {
    id: 'long-history-stays',
    sentence: 'A history longer than the hot timeline is complete after the write-back, in every page and lookup.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const reports = someReports(audit, LONG)
      await write(viewer, reports)
      await audit.quiet()
      // One more report makes the hot store trim entries that the record store has by now.
      const last = { ...(reports[0] as ReportInput), id: 'last', viewedAt: audit.now() - HOUR + 1 }
      await write(viewer, [last])
      expectHistory(audit, await readAll(viewer), [last, ...reports])
      const oldest = reports[LONG - 1] as ReportInput
      expectFields('the point lookup of the oldest', await viewer.lookUp(oldest.id), oldest)
    },
  },
  {
    id: 'deleted-stays-deleted',
    sentence: 'Deleted and cleared entries stay gone after the write-back, and late reports do not bring them back.',
    async check(audit) {
      const [viewer, clearer] = [await audit.ownViewer(), await audit.ownViewer()]
      const reports = someReports(audit, 20)
      await write(viewer, reports)
      await write(clearer, reports)
      await viewer.deleteHistory(['3', '7'])
      await clearer.clearHistory()
      await audit.quiet()
      for (const each of [viewer, clearer]) await each.report({ ...(reports[3] as ReportInput), viewedAt: audit.now() - HOUR / 2 })
      const left = reports.filter(({ id }) => id !== '3' && id !== '7')
      expectHistory(audit, await readAll(viewer), left)
      expectEqual('the cleared history', await clearer.oids(), [])
      expectEqual('the point lookup of the deleted entries', await viewer.lookUpMany(['3', '7']), [null, null])
    },
  },
  {
    id: 'paused-stays-paused',
    sentence: 'A paused history is still paused after the write-back.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await viewer.pause()
      await audit.quiet()
      expectEqual('paused', await viewer.isPaused(), true)
      expectEqual('the outcome of a report', (await viewer.report({ id: '1', position: REAL_POSITION })).outcome, 'PAUSED')
    },
  },
]
