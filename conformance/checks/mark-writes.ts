/** A viewer sees their own mark and its effect on the counts at once. The newest mark wins, in any order of arrival. */
import { SCOPE_MARKS_WRITE_ANY } from '../../core/viewer.ts'
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { expectOwn, thumbup, type State, type Thumbup } from '../marks.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'
import { MARKED_ENTITY, type MarkInput, type MarkPayload } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const MINUTE = 60_000
const SECOND = 1_000

const ids = (audit: Audit, count: number): string[] => Array.from({ length: count }, () => audit.newOid())
/** Long enough ago that a small clock difference does not matter. */
const earlier = (audit: Audit): number => Math.round(audit.now() - MINUTE)

const said = ({ outcome, oldMark, mark, changed }: MarkPayload) => [outcome, oldMark, mark, changed]
const codesIn = ({ userErrors }: MarkPayload) => userErrors.map(({ code }) => code)

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
]

/** Sends the marks in turn and reads after each. Their times differ, since two equal marks of one moment count as one sent twice. */
async function expectShown(
  audit: Audit,
  { mark, states }: Thumbup,
  writer: AuditViewer,
  reader: AuditViewer,
  id: string,
  marks: readonly string[],
): Promise<void> {
  const from = earlier(audit)
  for (const [at, each] of marks.entries()) {
    const payload = await mark(writer, id, each, { markedAt: from + at })
    const shown = { likeCount: Number(each === 'LIKE'), dislikeCount: Number(each === 'DISLIKE') }
    const which = `mark ${at + 1}, ${each},`
    expectFields(`the answer to ${which}`, payload, { outcome: 'ACCEPTED', mark: each, userErrors: [] })
    const { subject } = payload
    expectFields(`the subject in the answer to ${which}`, subject, { id, viewerMark: each })
    if (at === 0) expectThat((subject?.likeCount ?? 0) >= shown.likeCount, 'the like in the count of its answer', subject?.likeCount)
    await expectOwn(audit, `the state right after ${which}`, () => states(reader, [id]), [{ id, viewerMark: each, ...shown }], at === 0)
  }
}

export const markWrites: readonly Check[] = [
  {
    id: 'mark-answers',
    sentence: 'The answer to a mark has the old mark, the new mark, and whether they differ.',
    async check(audit) {
      const { mark } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      const steps: [string, string, boolean][] = [
        ['LIKE', 'NONE', true],
        ['LIKE', 'LIKE', false],
        ['NONE', 'LIKE', true],
        ['NONE', 'NONE', false],
        ['LIKE', 'NONE', true],
      ]
      const from = earlier(audit)
      for (const [at, [each, before, changed]] of steps.entries()) {
        const answer = await mark(viewer, id, each, { markedAt: from + at })
        expectEqual(`the answer to mark ${at + 1}, ${each},`, said(answer), ['ACCEPTED', before, each, changed])
      }
    },
  },
  {
    id: 'mark-then-state',
    sentence: 'After a like or an undo, the viewer sees the mark and its effect on the count at once.',
    async check(audit) {
      const calls = await thumbup(audit)
      const viewer = await audit.ownViewer()
      await expectShown(audit, calls, viewer, viewer, audit.newOid(), ['LIKE', 'LIKE', 'NONE', 'LIKE', 'NONE', 'NONE'])
    },
  },
  {
    id: 'mark-moves-both-counts',
    sentence: 'Changes between like, dislike and none move both counts at once.',
    async check(audit) {
      const calls = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      await expectShown(audit, calls, viewer, viewer, id, ['LIKE', 'DISLIKE', 'NONE', 'DISLIKE', 'LIKE', 'DISLIKE'])
      expectEqual('the answer to a like', said(await calls.mark(viewer, id, 'LIKE')), ['ACCEPTED', 'DISLIKE', 'LIKE', true])
    },
  },
  {
    id: 'mark-across-processes',
    sentence: 'A mark set through one process is read from another at once, with its effect on the count.',
    async check(audit) {
      const calls = await thumbup(audit)
      const viewer = await audit.ownViewer()
      await expectShown(audit, calls, viewer, viewer.at(audit.second()), audit.newOid(), ['LIKE', 'NONE', 'LIKE'])
    },
  },
  {
    id: 'mark-then-entity',
    sentence: 'The subject in the history has the mark and its effect on the count at once.',
    async check(audit) {
      const { mark } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      await viewer.report({ id, position: 0 })
      await mark(viewer, id, 'LIKE')
      const read = async () => {
        const { viewerHistory } = await viewer.data<{ viewerHistory: { edges: { node: State }[] } }>(MARKED_ENTITY)
        return viewerHistory.edges.map(({ node }) => node)
      }
      await expectOwn(audit, 'the entity', read, [{ id, likeCount: 1, dislikeCount: 0, viewerMark: 'LIKE' }], true)
    },
  },
  {
    id: 'undo-of-nothing',
    sentence: 'An undo without a mark changes nothing, and no count falls.',
    async check(audit) {
      const { mark, states } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      for (let time = 1; time <= 3; time++)
        expectFields(`the answer to undo ${time}`, await mark(viewer, id, 'NONE'), { mark: 'NONE', changed: false })
      await mark(viewer, id, 'LIKE')
      const liked = { likeCount: 1, dislikeCount: 0, viewerMark: 'LIKE' }
      await expectOwn(audit, 'the state after a like', () => states(viewer, [id]), [liked], true)
    },
  },
  {
    id: 'last-mark-wins',
    sentence: 'The mark with the latest markedAt wins, in any order and repetition.',
    async check(audit) {
      const { markMany, states } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const from = earlier(audit)
      const rows = [
        ['NONE', 'NONE', 'LIKE'],
        ['LIKE', 'LIKE', 'NONE'],
      ].flatMap((marks) => ORDERS.map((order) => ({ id: audit.newOid(), marks, order })))
      for (let step = 0; step < 6; step++) {
        const inputs = rows.map(({ id, marks, order }): MarkInput => {
          const at = order[step % 3] as number
          return { id, mark: marks[at] as string, markedAt: from + at * SECOND }
        })
        await markMany(viewer, inputs)
      }
      const all = rows.map(({ id }) => id)
      const expected = rows.map(({ marks: [, , newest] }) => ({ viewerMark: newest, likeCount: Number(newest === 'LIKE') }))
      await expectOwn(audit, 'the marks and like counts', () => states(viewer, all), expected)
    },
  },
  {
    id: 'older-mark-is-stale',
    sentence: 'A mark older than the stored one is STALE, and its answer has the stored one. An undo is stored as well.',
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      const from = earlier(audit)
      await mark(viewer, id, 'LIKE', { markedAt: from + 1 })
      expectFields('the answer to an older undo', await mark(viewer, id, 'NONE', { markedAt: from }), {
        ...{ outcome: 'STALE', mark: 'LIKE', changed: false },
      })
      await mark(viewer, id, 'NONE', { markedAt: from + 3 })
      expectFields('the answer to a like older than the undo', await mark(viewer, id, 'LIKE', { markedAt: from + 2 }), {
        ...{ outcome: 'STALE', mark: 'NONE', changed: false },
      })
      expectEqual('the mark', await marksOf(viewer, [id]), ['NONE'])
    },
  },
  {
    id: 'mark-ahead-counts-as-now',
    sentence: 'A mark with a future markedAt counts as now: it can be undone at once.',
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      await mark(viewer, id, 'LIKE', { markedAt: Math.round(audit.now() + 48 * 3_600_000) })
      expectEqual('the mark with a future markedAt', await marksOf(viewer, [id]), ['LIKE'])
      expectFields('the answer to the undo', await mark(viewer, id, 'NONE'), { outcome: 'ACCEPTED', mark: 'NONE' })
      expectEqual('the mark after it', await marksOf(viewer, [id]), ['NONE'])
    },
  },
  {
    id: 'equal-marked-at',
    sentence: 'If two marks have equal markedAt, the later arrival wins.',
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      const markedAt = earlier(audit)
      for (const each of ['LIKE', 'NONE', 'LIKE']) {
        await mark(viewer, id, each, { markedAt })
        expectEqual(`the mark after ${each} with the same markedAt`, await marksOf(viewer, [id]), [each])
      }
    },
  },
  {
    id: 'marks-at-once',
    sentence: 'If many marks arrive at once, the latest wins, and the changes in their answers add up.',
    async check(audit) {
      const { mark, states } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      const from = earlier(audit)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          mark(viewer, id, at === 19 || at % 4 === 0 ? 'LIKE' : 'NONE', { markedAt: from + at, source: `at once ${at}` }),
        ),
      )
      const liked = { viewerMark: 'LIKE', likeCount: 1, dislikeCount: 0 }
      await expectOwn(audit, 'the state', () => states(viewer, [id]), [liked])
      const changed = answers.filter((answer) => answer.changed === true)
      const likes = changed.filter((answer) => answer.mark === 'LIKE').length
      expectEqual('likes minus undos in the answers', likes - (changed.length - likes), 1)
    },
  },
  {
    id: 'mark-batch-as-single',
    sentence: 'A batch gets the same answers, in order, as its marks sent one by one. A bad mark does not affect the others.',
    async check(audit) {
      const { mark, markMany, states } = await thumbup(audit)
      const [one, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const [a, b, c] = ids(audit, 3) as [string, string, string]
      const from = earlier(audit)
      const steps = [
        ...[a, b, c].map((id) => ({ id, mark: 'LIKE' })),
        { id: b, mark: 'NONE' },
        { id: a, mark: 'LIKE' },
        { id: '', mark: 'LIKE' },
        { id: c, mark: 'NONE' },
        { id: c, mark: 'LIKE' },
        { id: b, mark: 'NONE' },
      ].map((step, at) => ({ ...step, markedAt: from + at }))
      const outcomes = (payload: MarkPayload) => [...said(payload), codesIn(payload)]
      const single: MarkPayload[] = []
      // The single marks have other subjects, because one viewer's likes change the counts that the other reads.
      const own = new Map([a, b, c].map((id) => [id, audit.newOid()]))
      for (const step of steps) single.push(await mark(one, own.get(step.id) ?? '', step.mark, { markedAt: step.markedAt }))
      const batch = await markMany(other, steps)
      expectEqual('the answers to the batch', batch.map(outcomes), single.map(outcomes))
      const expected = ['LIKE', 'NONE', 'LIKE'].map((each) => ({ viewerMark: each, likeCount: Number(each === 'LIKE'), dislikeCount: 0 }))
      await expectOwn(audit, 'the states after the batch', () => states(other, [a, b, c]), expected)
      await expectOwn(audit, 'the states after the single marks', () => states(one, [...own.values()]), expected)
    },
  },
  {
    id: 'marks-500',
    sentence: 'A batch of 500 marks is stored completely.',
    async check(audit) {
      const { markAll, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const all = ids(audit, 500)
      await markAll(
        viewer,
        all.map((id) => ({ id, mark: 'LIKE' })),
      )
      for (const from of [0, 200, 400]) {
        const some = all.slice(from, from + 200)
        const expected = some.map(() => 'LIKE')
        expectEqual(`200 marks from number ${from + 1}`, await marksOf(viewer, some), expected)
      }
    },
  },
  {
    id: 'states-of-50',
    sentence: 'The states of 50 subjects are read in one call, in the order of the ids.',
    async check(audit) {
      const { markAll, states, business } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const all = ids(audit, 50)
      const isLiked = (at: number) => at % 3 === 1
      const inputs = all.map((id) => ({ id, mark: 'LIKE' })).filter((_, at) => isLiked(at))
      await markAll(viewer, inputs)
      const expected = all.map((id, at) => ({
        ...{ business, id, likeCount: Number(isLiked(at)), dislikeCount: 0, viewerMark: isLiked(at) ? 'LIKE' : 'NONE' },
      }))
      // One id occurs twice.
      const asked = [...all.slice(0, 49), all[1] as string]
      const answers = [...expected.slice(0, 49), expected[1] as object]
      await expectOwn(audit, 'the states', () => states(viewer, asked), answers, true)
    },
  },
  {
    id: 'mark-ids-as-sent',
    sentence: 'Ids of up to 64 bytes and of any script are distinct if any byte differs.',
    async check(audit) {
      const { markAll, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const liked = ['007', 'x'.repeat(64), 'ü'.repeat(32), 'A', '視頻']
      const like = ['7', 'x'.repeat(63), 'ü'.repeat(31), 'a', '视频']
      await markAll(
        viewer,
        liked.map((id) => ({ id, mark: 'LIKE' })),
      )
      expectEqual('the marks', await marksOf(viewer, [...liked, ...like]), [...liked.map(() => 'LIKE'), ...like.map(() => 'NONE')])
    },
  },
  {
    id: 'marks-of-two-businesses',
    sentence: 'Subjects with equal ids in two businesses are independent.',
    async check(audit) {
      const { mark, states } = await thumbup(audit)
      const other = audit.otherBusiness()
      await thumbup(audit, other)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      await mark(viewer, id, 'LIKE')
      const both = async () => [...(await states(viewer, [id])), ...(await states(viewer, [id], other))]
      const expected = [
        { business: audit.business, viewerMark: 'LIKE', likeCount: 1 },
        { business: other, viewerMark: 'NONE', likeCount: 0 },
      ]
      await expectOwn(audit, 'the states in the business and in another', both, expected, true)
      expectFields('the answer to an undo in the other', await mark(viewer, id, 'NONE', { business: other }), { changed: false })
    },
  },
  {
    id: 'marks-of-others-hidden',
    sentence: 'Only the viewer sees their own mark.',
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const id = audit.newOid()
      await mark(viewer, id, 'LIKE')
      expectEqual('the mark that another viewer sees', await marksOf(other, [id]), ['NONE'])
      expectEqual('the mark that the viewer sees', await marksOf(viewer, [id]), ['LIKE'])
    },
  },
  {
    id: 'mark-for-another-forbidden',
    sentence: `A mark for another viewer without the scope ${SCOPE_MARKS_WRITE_ANY} is rejected with FORBIDDEN and stored for neither.`,
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const id = audit.newOid()
      const answer = await mark(other, id, 'LIKE', { viewer: viewer.id })
      expectFields('the answer', answer, { outcome: 'REJECTED', mark: null, subject: null })
      expectEqual('the codes of the answer', codesIn(answer), ['FORBIDDEN'])
      const message = answer.userErrors[0]?.message ?? ''
      expectThat(message.includes(SCOPE_MARKS_WRITE_ANY), `a message that names the scope ${SCOPE_MARKS_WRITE_ANY}`, message)
      expectEqual('both marks', [await marksOf(viewer, [id]), await marksOf(other, [id])], [['NONE'], ['NONE']])
    },
  },
  {
    id: 'mark-for-another-with-scope',
    sentence: `With the scope ${SCOPE_MARKS_WRITE_ANY}, a mark counts only for the viewer it names. The caller sees no mark.`,
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])]
      const id = audit.newOid()
      const answer = await mark(other, id, 'LIKE', { viewer: viewer.id })
      expectFields('the answer', answer, { outcome: 'ACCEPTED', mark: 'LIKE' })
      expectFields('the subject in the answer, as the caller sees it', answer.subject, { id, viewerMark: 'NONE' })
      expectEqual('both marks', [await marksOf(viewer, [id]), await marksOf(other, [id])], [['LIKE'], ['NONE']])
    },
  },
]
