/** Bad input to thumbup gets a code and a message, and nothing is half-stored. An anonymous caller is not a viewer. */
import { SCOPE_SUBJECTS_REGISTER } from '../../core/viewer.ts'
import { codesOf, type Answer } from '../answer.ts'
import type { Audit } from '../audited.ts'
import { expectNobodyAnswered, expectSentenceOf } from './bad-input.ts'
import { openEvents } from '../changes.ts'
import type { Check } from '../check.ts'
import { ids } from './existence.ts'
import { thumbup, type Registered } from '../marks.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'
import {
  COUNTS,
  COUNTS_CHANGED,
  LIKERS,
  LIKES,
  MARK,
  MARK_BATCH,
  RECEIVED,
  RECONCILE,
  REGISTER,
  STATES,
  type MarkInput,
} from '../operations.ts'

const UNKNOWN_BUSINESS = 'no-such-business'

type Bad = { id: string; sentence: string; code: string; query: string; variables: Record<string, unknown> }

const READS: readonly Bad[] = [
  {
    id: 'thumbups-201-ids',
    sentence: 'Thumbups of 201 ids are refused.',
    code: 'IDS_TOO_MANY',
    query: COUNTS,
    variables: { ids: ids(201) },
  },
  {
    id: 'thumbups-id-empty',
    sentence: 'Thumbups of an empty id are refused.',
    code: 'ID_INVALID',
    query: COUNTS,
    variables: { ids: ['1', ''] },
  },
  {
    id: 'thumbups-business-unknown',
    sentence: 'Thumbups in a business that is not configured are refused.',
    code: 'BUSINESS_UNKNOWN',
    query: COUNTS,
    variables: { business: UNKNOWN_BUSINESS, ids: ['1'] },
  },
  {
    id: 'likes-business-unknown',
    sentence: 'Likes in a business that is not configured are refused.',
    code: 'BUSINESS_UNKNOWN',
    query: LIKES,
    variables: { business: UNKNOWN_BUSINESS },
  },
  {
    id: 'likes-received-business-unknown',
    sentence: 'Likes received in a business that is not configured are refused.',
    code: 'BUSINESS_UNKNOWN',
    query: RECEIVED,
    variables: { business: UNKNOWN_BUSINESS, user: '1' },
  },
  {
    id: 'likers-first-0',
    sentence: 'A page of 0 likers is refused.',
    code: 'FIRST_INVALID',
    query: LIKERS,
    variables: { id: '1', first: 0 },
  },
  { id: 'likes-first-101', sentence: 'A page of 101 likes is refused.', code: 'FIRST_INVALID', query: LIKES, variables: { first: 101 } },
  {
    id: 'likers-cursor-broken',
    sentence: 'A cursor of no list is refused where likers are read.',
    code: 'CURSOR_INVALID',
    query: LIKERS,
    variables: { id: '1', after: 'No such cursor!' },
  },
  {
    id: 'likes-cursor-broken',
    sentence: 'A cursor of no list is refused where likes are read.',
    code: 'CURSOR_INVALID',
    query: LIKES,
    variables: { after: 'AAAA' },
  },
]

type BadMark = { id: string; sentence: string; code: string; input(audit: Audit): Partial<MarkInput> }

const MARKS: readonly BadMark[] = [
  {
    id: 'mark-business-unknown',
    sentence: 'A mark in a business that is not configured is rejected.',
    code: 'BUSINESS_UNKNOWN',
    input: () => ({ business: UNKNOWN_BUSINESS }),
  },
  { id: 'mark-id-empty', sentence: 'A mark of an empty id is rejected.', code: 'ID_INVALID', input: () => ({ id: '' }) },
  { id: 'mark-id-long', sentence: 'A mark of an id of 65 bytes is rejected.', code: 'ID_INVALID', input: () => ({ id: 'x'.repeat(65) }) },
  { id: 'mark-time-negative', sentence: 'A mark of before 1970 is rejected.', code: 'MARKED_AT_INVALID', input: () => ({ markedAt: -1 }) },
  {
    id: 'mark-source-long',
    sentence: 'A mark whose source has 65 bytes is rejected.',
    code: 'SOURCE_INVALID',
    input: () => ({ source: 's'.repeat(65) }),
  },
]

function refusal({ id, sentence, code, query, variables }: Bad): Check {
  return {
    id,
    sentence,
    async check(audit) {
      await thumbup(audit)
      const viewer = await audit.anyViewer()
      const answer: Answer<unknown> = await viewer.ask(query, { business: audit.business, ...variables })
      expectEqual('the codes of the errors', codesOf(answer), [code])
      expectSentenceOf(answer)
    },
  }
}

/** Valid input would mark subject `1`. It must stay unmarked. */
function rejection({ id, sentence, code, input }: BadMark): Check {
  return {
    id,
    sentence,
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const { id: oid = '1', ...more } = input(audit)
      const answer = await mark(viewer, oid, 'LIKE', more)
      expectFields('the answer', answer, { outcome: 'REJECTED', code, oldMark: null, newMark: null, state: null, likeCount: null })
      expectThat((answer.message ?? '').length > 20, 'a message that says what is wrong', answer.message)
      expectEqual('what is stored afterwards', await marksOf(viewer, ['1']), ['NONE'])
    },
  }
}

/** The operation is refused, and nothing is stored. */
async function expectRefused(audit: Audit, query: string, variables: Record<string, unknown>, code: string): Promise<void> {
  const { marksOf } = await thumbup(audit)
  const viewer = await audit.ownViewer()
  const answer = await viewer.ask(query, variables)
  expectEqual('the codes of the errors', [...new Set(codesOf(answer))], [code])
  expectSentenceOf(answer)
  expectEqual('what is stored afterwards', await marksOf(viewer, ['1']), ['NONE'])
}

export const markBadInput: readonly Check[] = [
  ...READS.map(refusal),
  ...MARKS.map(rejection),
  {
    id: 'cursors-of-other-lists',
    sentence: "A cursor of another subject's likers, or of another viewer's likes, is refused with CURSOR_INVALID.",
    async check(audit) {
      const { mark, likers, likes } = await thumbup(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const id = audit.newOid()
      await mark(viewer, id, 'LIKE')
      const ofLikers = (await likers(viewer, id)).pageInfo.endCursor
      const ofLikes = (await likes(viewer)).pageInfo.endCursor
      expectThat(ofLikers !== null && ofLikes !== null, 'an endCursor of both lists', [ofLikers, ofLikes])
      const { business } = audit
      const answers = [
        await viewer.ask(LIKERS, { business, id: audit.newOid(), after: ofLikers }),
        await viewer.ask(LIKERS, { business, id, after: ofLikes }),
        await viewer.ask(LIKES, { business, after: ofLikers }),
        await other.ask(LIKES, { business, after: ofLikes }),
      ]
      expectEqual(
        'the codes of the errors',
        answers.map(codesOf),
        answers.map(() => ['CURSOR_INVALID']),
      )
    },
  },
  {
    id: 'marks-501',
    sentence: '501 marks of a batch are refused whole.',
    async check(audit) {
      const inputs = ids(501).map((id) => ({ business: audit.business, id, mark: 'LIKE' }))
      await expectRefused(audit, MARK_BATCH, { inputs }, 'INPUTS_TOO_MANY')
    },
  },
  {
    id: 'mark-of-no-kind',
    sentence: 'A mark that is none of the three is no operation, and the whole batch with it.',
    async check(audit) {
      const good = { business: audit.business, id: '1', mark: 'LIKE' }
      const inputs = [good, { ...good, id: '2', mark: 'LOVE' }]
      await expectRefused(audit, MARK_BATCH, { inputs }, 'GRAPHQL_VALIDATION_FAILED')
    },
  },
  {
    id: 'marks-for-nobody',
    sentence: 'Who names no viewer marks nothing, has no marks and reads no lists, and gets UNAUTHENTICATED.',
    async check(audit) {
      await thumbup(audit)
      const { business } = audit
      await expectNobodyAnswered(audit, [
        [MARK, { business, id: '1', mark: 'LIKE' }],
        [MARK_BATCH, { inputs: [{ business, id: '1', mark: 'LIKE' }] }],
        [STATES, { business, ids: ['1'] }],
        [LIKERS, { business, id: '1' }],
        [LIKES, { business }],
      ])
    },
  },
  {
    id: 'thumbup-scopes',
    sentence: 'Without their scopes nobody registers subjects or has marks counted again.',
    async check(audit) {
      await thumbup(audit)
      const viewer = await audit.ownViewer()
      const { business } = audit
      const answers = [
        await viewer.ask(REGISTER, { business, inputs: [{ id: audit.newOid(), owner: viewer.id }] }),
        await viewer.ask(RECONCILE, { business, ids: ['1'] }),
      ]
      expectEqual('the codes of the errors', answers.map(codesOf), [['UNAUTHORIZED_FIELD_OR_TYPE'], ['UNAUTHORIZED_FIELD_OR_TYPE']])
    },
  },
  {
    id: 'register-bad-subjects',
    sentence: 'Of subjects to register, each bad one is told its code, and the others are registered.',
    async check(audit) {
      await thumbup(audit)
      const registrar = await audit.ownViewer([SCOPE_SUBJECTS_REGISTER])
      const [good, twice, owner] = [audit.newOid(), audit.newOid(), audit.newOid()]
      const inputs = [
        { id: good, owner },
        { id: '', owner },
        { id: audit.newOid(), owner, business: UNKNOWN_BUSINESS },
        { id: twice, owner },
        { id: twice, owner: registrar.id },
      ]
      const answer = await registrar.data<{ registerSubjects: Registered[] }>(REGISTER, { business: audit.business, inputs })
      expectEqual(
        'what is registered, and the codes',
        answer.registerSubjects.map(({ registered, code }) => [registered, code]),
        [
          [true, null],
          [false, 'ID_INVALID'],
          [false, 'BUSINESS_UNKNOWN'],
          [true, null],
          [false, 'REGISTERED_TWICE'],
        ],
      )
    },
  },
  {
    id: 'counts-changed-201-ids',
    sentence: 'Who follows 201 subjects is refused with IDS_TOO_MANY.',
    async check(audit) {
      await thumbup(audit)
      const { headers } = await audit.anyViewer()
      const variables = { business: audit.business, ids: ids(201) }
      const events = await openEvents(audit.url, headers, COUNTS_CHANGED, variables, 'countsChanged')
      try {
        expectEqual('the codes of the errors', await events.errorCodes(audit.eventMaxMs), ['IDS_TOO_MANY'])
      } finally {
        events.end()
      }
    },
  },
]
