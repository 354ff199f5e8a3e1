/** Acknowledged reports are readable at once, through every process and every kind of read. */
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { CheckSkipped, expectEqual, expectFields, expectThat } from '../outcome.ts'
import { progressOf, type Progress, type ReportInput } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const HOUR = 3_600_000
/** Enough rounds to show a guarantee that holds only most of the time. */
const ROUNDS = 15
/** The clock difference was measured over one request, so it may be this far off. */
const CLOCK_DOUBT_MS = 30_000
/** The most inputs in a batch. */
const INPUTS_MAX = 500

/** A report with every field, and the progress that it stores. */
function fullReport(audit: Audit, id: string, round: number): { input: ReportInput; stored: Progress } {
  const named = {
    id,
    position: REAL_POSITION + round,
    duration: 3 * REAL_POSITION,
    viewedAt: audit.now() - HOUR + round,
    device: `device ${round}`,
  }
  return { input: named, stored: { ...named, business: audit.business, finished: false } }
}

async function reportAndRead(audit: Audit, writer: AuditViewer, read: (id: string) => Promise<unknown>, what: string): Promise<void> {
  const id = audit.newOid()
  for (let round = 0; round < ROUNDS; round++) {
    const { input, stored } = fullReport(audit, id, round)
    expectFields(`the answer to report ${round + 1}`, await writer.report(input), { outcome: 'ACCEPTED', code: null })
    expectEqual(`${what} right after report ${round + 1} was acknowledged`, await read(id), stored)
  }
}

async function firstEntry(viewer: AuditViewer): Promise<Progress | null> {
  const [edge] = (await viewer.history({ first: 1 })).edges
  return edge === undefined ? null : progressOf(edge.node)
}

export const writes: readonly Check[] = [
  {
    id: 'write-then-lookup',
    sentence: 'The point lookup returns an acknowledged report at once.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      await reportAndRead(audit, viewer, (id) => viewer.lookUp(id), 'the point lookup')
    },
  },
  {
    id: 'write-then-page',
    sentence: 'An acknowledged report is at the top of the history at once.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await reportAndRead(audit, viewer, () => firstEntry(viewer), 'the first entry of the history')
    },
  },
  {
    id: 'write-then-entity',
    sentence: 'The subject in the answer to a report has the acknowledged report as its viewerProgress.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const id = audit.newOid()
      const type = { __typename: audit.entity, id, business: audit.business }
      for (let round = 0; round < 2; round++) {
        const { input, stored } = fullReport(audit, id, round)
        const { subject } = await viewer.report(input)
        expectFields(`the subject of answer ${round + 1}`, subject, type)
        expectEqual(`viewerProgress of the subject of answer ${round + 1}`, subject && progressOf(subject), stored)
      }
      const [batch] = await viewer.reportBatch([fullReport(audit, id, 2).input])
      expectEqual('position of the subject of a batch', batch?.subject?.viewerProgress?.position, REAL_POSITION + 2)
    },
  },
  {
    id: 'write-then-second-lookup',
    sentence: 'The point lookup of another process returns an acknowledged report at once, both ways.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const elsewhere = viewer.at(audit.second())
      await reportAndRead(audit, viewer, (id) => elsewhere.lookUp(id), 'the point lookup of the second process')
      await reportAndRead(audit, elsewhere, (id) => viewer.lookUp(id), 'the point lookup of the first process')
    },
  },
  {
    id: 'write-then-second-page',
    sentence: 'A report acknowledged by one process is at the top of the history in another at once, both ways.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const elsewhere = viewer.at(audit.second())
      await reportAndRead(audit, viewer, () => firstEntry(elsewhere), 'the first entry of the second process')
      // Newer than all earlier reports, so it is at the top.
      const { input, stored } = fullReport(audit, audit.newOid(), ROUNDS)
      await elsewhere.report({ ...input, viewedAt: audit.now() })
      expectFields('the first entry of the first process', await firstEntry(viewer), {
        id: stored.id,
        position: stored.position,
      })
    },
  },
  {
    id: 'answer-is-stored',
    sentence: 'The answer to a report is the stored progress.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const { input, stored } = fullReport(audit, audit.newOid(), 1)
      expectEqual('progress of the answer', (await viewer.report(input)).progress, stored)
    },
  },
  {
    id: 'report-defaults',
    sentence: 'A report without time, duration and device is stored with the time of arrival, an unknown duration and no device.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const id = audit.newOid()
      await viewer.report({ id, position: REAL_POSITION })
      const progress = await viewer.lookUp(id)
      expectFields('the stored progress', progress, { position: REAL_POSITION, duration: 0, device: null, finished: false })
      const off = (progress?.viewedAt ?? 0) - audit.now()
      expectThat(Math.abs(off) < CLOCK_DOUBT_MS, 'viewedAt to be now', `${off} ms from now`)
    },
  },
  {
    id: 'batch-in-order',
    sentence: 'A batch answers each input in order, and each is readable at once.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const reports = Array.from({ length: 50 }, (_, index) => fullReport(audit, audit.newOid(), index))
      const answers = await viewer.reportBatch(reports.map((each) => each.input))
      const stored = reports.map((each) => each.stored)
      expectEqual(
        'the progress of the answers',
        answers.map((answer) => answer.progress),
        stored,
      )
      expectEqual('the point lookup', await viewer.lookUpMany(stored.map((each) => each.id)), stored)
    },
  },
  {
    id: 'batch-500',
    sentence: 'A batch of 500 inputs is accepted.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const inputs = Array.from({ length: INPUTS_MAX }, (_, index) => ({ id: String(index), position: REAL_POSITION }))
      const accepted = (await viewer.reportBatch(inputs)).filter((answer) => answer.outcome === 'ACCEPTED').length
      expectEqual('the number of accepted inputs of 500', accepted, INPUTS_MAX)
    },
  },
  {
    id: 'ids-as-sent',
    sentence: 'Ids come back as they were sent, and different ids are different subjects.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = ['7', '007', '-7', 'seven', 'ü'.repeat(32), 'x'.repeat(64), '9223372036854775807', '9223372036854775808', '0', ' ', '💫']
      const viewedAt = audit.now() - HOUR
      await viewer.reportBatch(ids.map((id, index) => ({ id, position: REAL_POSITION + index, viewedAt: viewedAt - index })))
      expectEqual('the history', await viewer.oids(), ids)
      const positions = (await viewer.lookUpMany(ids)).map((progress) => progress?.position)
      expectEqual(
        'the positions',
        positions,
        ids.map((_, index) => REAL_POSITION + index),
      )
    },
  },
  {
    id: 'ids-of-two-businesses',
    sentence: 'Equal ids in two businesses are two subjects.',
    async check(audit) {
      const other = audit.otherBusiness()
      const viewer = await audit.ownViewer()
      const viewedAt = audit.now() - HOUR
      await viewer.reportBatch([
        { id: '1', position: REAL_POSITION, viewedAt },
        { business: other, id: '1', position: REAL_POSITION + 1, viewedAt: viewedAt + 1 },
      ])
      expectFields(`1 of ${audit.business}`, await viewer.lookUp('1'), { business: audit.business, position: REAL_POSITION })
      expectFields(`1 of ${other}`, await viewer.lookUp('1', other), { business: other, position: REAL_POSITION + 1 })
      expectEqual(
        'the businesses of the history',
        (await viewer.history()).edges.map((edge) => edge.node.business),
        [other, audit.business],
      )
    },
  },
  {
    id: 'finished-at-the-end',
    sentence: 'A subject is finished once a report says so or reaches its end, and not before.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      const duration = 2 * REAL_POSITION
      const answers = await viewer.reportBatch([
        { id: audit.newOid(), position: duration, duration },
        { id: audit.newOid(), position: REAL_POSITION / 2, duration, finished: true },
        { id: audit.newOid(), position: REAL_POSITION / 2, duration },
        { id: audit.newOid(), position: duration, duration, finished: false },
        { id: audit.newOid(), position: duration },
      ])
      const finished = answers.map((answer) => answer.progress?.finished)
      expectEqual('finished of: the end, finished: true, a quarter, finished: false, unknown duration', finished, [
        true,
        true,
        false,
        false,
        false,
      ])
    },
  },
  {
    id: 'first-of-day-once',
    sentence: "Only a viewer's first view of the day has firstOfDay, with or without a dayToken.",
    async check(audit) {
      const viewer = await audit.ownViewer()
      const report = (of: AuditViewer, dayToken?: string) =>
        of.report({ id: audit.newOid(), position: REAL_POSITION, ...(dayToken === undefined ? {} : { dayToken }) })
      const first = await report(viewer)
      const token = first.dayToken ?? undefined
      const later = await Promise.all([report(viewer), report(viewer), report(viewer, token)])
      const another = await report(await audit.ownViewer(), token)
      const spared = await report(await audit.ownViewer())
      if (token === undefined && !first.firstOfDay) throw new CheckSkipped('needs rewards for first views, and rewards.firstView is off')
      expectThat(token !== undefined, 'a dayToken in the answer', null)
      const { dayToken: lastToken } = await report(viewer)
      if (lastToken !== token) throw new CheckSkipped('midnight passed during the check: run the audit again')
      expectEqual('firstOfDay of the first report', first.firstOfDay, true)
      expectEqual(
        'firstOfDay of three later ones',
        later.map((each) => each.firstOfDay),
        [false, false, false],
      )
      expectEqual(
        "firstOfDay of another viewer with the first one's token, and of a third without one",
        [another.firstOfDay, spared.firstOfDay],
        [true, true],
      )
    },
  },
]
