/** The report with the latest `viewedAt` wins, in any order, repetition and process of arrival. */
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { CheckSkipped, expectEqual, expectFields, expectThat } from '../outcome.ts'
import type { Progress } from '../operations.ts'

const HOUR = 3_600_000
const ORDERS = 12

type Timed = { id: string; position: number; viewedAt: number }

/** The expected progress after these reports arrived in turn. Independent of the service's code on purpose. */
function winnerOf(audit: Audit, reports: readonly Timed[]): { position: number; viewedAt: number } {
  let position = -1
  let viewedAt = -1
  for (const report of reports) {
    const wins = audit.conflict === 'furthest' ? report.position >= position : report.viewedAt >= viewedAt
    if (wins) position = report.position
    viewedAt = Math.max(viewedAt, report.viewedAt)
  }
  return { position, viewedAt }
}

/** Six reports of one subject. The newest position is not the furthest. */
function sixReports(audit: Audit, id: string): Timed[] {
  const begin = audit.now() - HOUR
  return [3, 0, 5, 1, 4, 2].map((step, index) => ({ id, position: REAL_POSITION + step * 1_000, viewedAt: begin + index * 1_000 }))
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map((each) => each.value)
}

/** The original order, its reverse, and some shuffles. */
function ordersOf(reports: readonly Timed[]): Timed[][] {
  return [[...reports], [...reports].reverse(), ...Array.from({ length: ORDERS - 2 }, () => shuffled(reports))]
}

function placeAndTime(progress: Progress | null): { position: number; viewedAt: number } | null {
  return progress && { position: progress.position, viewedAt: progress.viewedAt }
}

function arrivals(reports: readonly Timed[]): string {
  return reports.map((report) => `${report.position}@${report.viewedAt % HOUR}`).join(', ')
}

export const order: readonly Check[] = [
  {
    id: 'last-write-wins',
    sentence: 'The last report by viewedAt wins in any order of arrival.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      for (const reports of ordersOf(sixReports(audit, ''))) {
        const id = audit.newOid()
        for (const report of reports) await viewer.report({ ...report, id })
        expectEqual(`the stored progress after ${arrivals(reports)}`, placeAndTime(await viewer.lookUp(id)), winnerOf(audit, reports))
      }
    },
  },
  {
    id: 'last-write-wins-in-batch',
    sentence: 'The last report by viewedAt wins within one batch too.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const orders = ordersOf(sixReports(audit, '')).map((reports) => {
        const id = audit.newOid()
        return reports.map((report) => ({ ...report, id }))
      })
      // Interleaved, so that the reports of one subject are not adjacent.
      const inputs = Array.from({ length: 6 }, (_, index) => orders.map((reports) => reports[index] as Timed)).flat()
      await viewer.reportBatch(inputs)
      const stored = await viewer.lookUpMany(orders.map(([first]) => (first as Timed).id))
      orders.forEach((reports, index) => {
        expectEqual(`the stored progress after ${arrivals(reports)}`, placeAndTime(stored[index] ?? null), winnerOf(audit, reports))
      })
    },
  },
  {
    id: 'last-write-wins-at-once',
    sentence: 'If reports arrive at once, the last by viewedAt wins.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const id = audit.newOid()
      const begin = audit.now() - HOUR
      const reports = shuffled(Array.from({ length: 40 }, (_, index) => ({ id, position: REAL_POSITION + index, viewedAt: begin + index })))
      await Promise.all(reports.map((report) => viewer.report(report)))
      expectEqual('the stored progress after 40 reports at once', placeAndTime(await viewer.lookUp(id)), winnerOf(audit, reports))
    },
  },
  {
    id: 'last-write-wins-across-processes',
    sentence: 'The last report by viewedAt wins if reports arrive through two processes.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const elsewhere = viewer.at(audit.second())
      for (const reports of ordersOf(sixReports(audit, ''))) {
        const id = audit.newOid()
        for (const [index, report] of reports.entries()) await (index % 2 === 0 ? viewer : elsewhere).report({ ...report, id })
        const expected = winnerOf(audit, reports)
        expectEqual(`the progress in the first process after ${arrivals(reports)}`, placeAndTime(await viewer.lookUp(id)), expected)
        expectEqual(`the progress in the second process after ${arrivals(reports)}`, placeAndTime(await elsewhere.lookUp(id)), expected)
      }
    },
  },
  {
    id: 'repeats-change-nothing',
    sentence: 'Repeated reports, in any order, change nothing.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const reports = ['1', '2', '3'].flatMap((id, index) =>
        sixReports(audit, id).map((report) => ({ ...report, viewedAt: report.viewedAt + index })),
      )
      for (const report of reports) await viewer.report(report)
      const before = await viewer.history()
      await viewer.reportBatch(reports)
      await viewer.reportBatch(shuffled(reports))
      expectEqual('the history after two repetitions', await viewer.history(), before)
    },
  },
  {
    id: 'equal-times-later-arrival',
    sentence: 'If two reports have equal viewedAt, the later arrival wins and is accepted.',
    async check(audit) {
      if (audit.conflict === 'furthest') throw new CheckSkipped('the rule of the business is "furthest"')
      const viewer = await audit.anyViewer()
      const viewedAt = audit.now() - HOUR
      const id = audit.newOid()
      for (const position of [REAL_POSITION + 2, REAL_POSITION + 1, REAL_POSITION + 3]) {
        const answer = await viewer.report({ id, position, viewedAt })
        expectFields('the answer', { outcome: answer.outcome, position: answer.progress?.position }, { outcome: 'ACCEPTED', position })
        expectFields('the stored progress', await viewer.lookUp(id), { position, viewedAt })
      }
    },
  },
  {
    id: 'ahead-counts-as-now',
    sentence: 'A report with a future viewedAt counts as now: later reports are accepted, also after a clearing.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ahead = await viewer.report({ id: '1', position: REAL_POSITION + 1, viewedAt: audit.now() + 48 * HOUR })
      expectEqual('the outcome of a report with a future viewedAt', ahead.outcome, 'ACCEPTED')
      expectThat((ahead.progress?.viewedAt ?? Infinity) < audit.now() + HOUR, 'viewedAt to be about now', ahead.progress?.viewedAt)
      for (const position of [REAL_POSITION + 2, REAL_POSITION + 3]) {
        expectEqual('the outcome of a report after it', (await viewer.report({ id: '1', position })).outcome, 'ACCEPTED')
        expectFields('the stored progress', await viewer.lookUp('1'), { position })
        await viewer.clearHistory()
        expectEqual('the point lookup after a clearing', await viewer.lookUp('1'), null)
      }
    },
  },
  {
    id: 'stale-says-what-is-stored',
    sentence: 'A late report is STALE and changes nothing, and its answer has the stored progress.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const id = audit.newOid()
      const viewedAt = audit.now() - HOUR
      const kept = { id, position: REAL_POSITION + 5_000, duration: 3 * REAL_POSITION, viewedAt, device: 'tv' }
      await viewer.report(kept)
      const late = await viewer.report({ ...kept, position: REAL_POSITION, viewedAt: viewedAt - 1, device: 'phone' })
      expectEqual('the outcome of the late report', late.outcome, 'STALE')
      expectFields('progress of its answer', late.progress, kept)
      expectFields('the stored progress', await viewer.lookUp(id), kept)
    },
  },
  {
    id: 'glance-keeps-resume-point',
    sentence: 'A glance moves a subject up the history and keeps its resume point.',
    async check(audit) {
      if (!audit.glance) throw new CheckSkipped('the business has no glances (--no-glance)')
      const viewer = await audit.ownViewer()
      const begin = audit.now() - HOUR
      await viewer.report({ id: '1', position: REAL_POSITION, viewedAt: begin, device: 'tv' })
      await viewer.report({ id: '2', position: REAL_POSITION, viewedAt: begin + 1 })
      await viewer.report({ id: '1', position: 0, viewedAt: begin + 2, device: 'phone' })
      expectFields('the stored progress after a glance', await viewer.lookUp('1'), {
        position: REAL_POSITION,
        viewedAt: begin + 2,
        device: 'tv',
      })
      expectEqual('the history', await viewer.oids(), ['1', '2'])
      await viewer.report({ id: '3', position: 0, viewedAt: begin + 4 })
      await viewer.report({ id: '3', position: REAL_POSITION, viewedAt: begin + 3 })
      const expected = { position: REAL_POSITION, viewedAt: begin + 4 }
      expectFields('the stored progress if the glance came first', await viewer.lookUp('3'), expected)
    },
  },
  {
    id: 'finished-stays',
    sentence: 'An older partial view does not undo finished.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const id = audit.newOid()
      const duration = 2 * REAL_POSITION
      const viewedAt = audit.now() - HOUR
      await viewer.report({ id, position: duration, duration, viewedAt })
      const late = await viewer.report({ id, position: REAL_POSITION, duration, viewedAt: viewedAt - 1 })
      expectFields('the answer to the older view', late.progress, { finished: true, position: duration })
      expectFields('the stored progress', await viewer.lookUp(id), { finished: true, position: duration })
    },
  },
  {
    id: 'newest-first',
    sentence: 'The history lists each subject once, by its newest view, newest first.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const begin = audit.now() - HOUR
      const reports = Array.from({ length: 90 }, (_, index) => ({
        id: String(index % 30),
        position: REAL_POSITION + index,
        viewedAt: begin + ((index * 37) % 90) * 1_000,
      }))
      await viewer.reportBatch(reports.slice(0, 60))
      for (const report of reports.slice(60, 70)) await viewer.report(report)
      await viewer.reportBatch(reports.slice(70))
      const newest = new Map<string, number>()
      for (const { id, viewedAt } of reports) newest.set(id, Math.max(newest.get(id) ?? 0, viewedAt))
      const expected = [...newest].sort((a, b) => b[1] - a[1]).map(([id]) => id)
      expectEqual('the history', await viewer.oids(), expected)
      const times = (await viewer.history({ first: 100 })).edges.map((edge) => edge.viewedAt)
      expectThat(
        times.every((time, index) => index === 0 || time <= (times[index - 1] as number)),
        'viewedAt to fall',
        times,
      )
    },
  },
]
