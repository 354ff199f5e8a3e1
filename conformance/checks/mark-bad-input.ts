/** Bad input to thumbup gets a code and a message, and nothing is half-stored. An anonymous caller has no marks. */
import { SCOPE_SUBJECTS_REGISTER } from '../../core/viewer.ts'
import { codesOf, type Answer, type UserError } from '../answer.ts'
import type { Audit } from '../audited.ts'
import { expectNobodyAnswered, expectSentence, expectSentenceOf } from './bad-input.ts'
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
    id: 'counts-201-ids',
    sentence: 'Counts of 201 subjects are refused.',
    code: 'IDS_TOO_MANY',
    query: COUNTS,
    variables: { ids: ids(201) },
  },
  {
    id: 'counts-id-empty',
    sentence: 'An empty id among subjects is refused.',
    code: 'ID_INVALID',
    query: COUNTS,
    variables: { ids: ['1', ''] },
  },
  {
    id: 'counts-business-unknown',
    sentence: 'Counts in a business that is not configured are refused.',
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
    sentence: 'A string that is no cursor is refused for likers.',
    code: 'CURSOR_INVALID',
    query: LIKERS,
    variables: { id: '1', after: 'No such cursor!' },
  },
  {
    id: 'likes-cursor-broken',
    sentence: 'A string that is no cursor is refused for likes.',
    code: 'CURSOR_INVALID',
    query: LIKES,
    variables: { after: 'AAAA' },
  },
]

type BadMark = { id: string; sentence: string; code: string; path: string; input(audit: Audit): Partial<MarkInput> }

const MARKS: readonly BadMark[] = [
  {
    id: 'mark-business-unknown',
    sentence: 'A mark in a business that is not configured is rejected.',
    code: 'BUSINESS_UNKNOWN',
    path: 'business',
    input: () => ({ business: UNKNOWN_BUSINESS }),
  },
  { id: 'mark-id-empty', sentence: 'A mark with an empty id is rejected.', code: 'ID_INVALID', path: 'id', input: () => ({ id: '' }) },
  {
    id: 'mark-id-long',
    sentence: 'A mark with an id of 65 bytes is rejected.',
    code: 'ID_INVALID',
    path: 'id',
    input: () => ({ id: 'x'.repeat(65) }),
  },
  {
    id: 'mark-time-negative',
    sentence: 'A mark with a markedAt before 1970 is rejected.',
    code: 'MARKED_AT_INVALID',
    path: 'markedAt',
    input: () => ({ markedAt: -1 }),
  },
  {
    id: 'mark-source-long',
    sentence: 'A mark with a source of 65 bytes is rejected.',
    code: 'SOURCE_INVALID',
    path: 'source',
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

/** The id `1` would be stored if the mark were accepted. */
function rejection({ id, sentence, code, path, input }: BadMark): Check {
  return {
    id,
    sentence,
    async check(audit) {
      const { mark, marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const { id: oid = '1', ...more } = input(audit)
      const answer = await mark(viewer, oid, 'LIKE', more)
      expectFields('the answer', answer, { outcome: 'REJECTED', oldMark: null, mark: null, state: null, subject: null })
      expectMistake(answer.userErrors, code, ['input', path])
      expectEqual('the stored mark afterwards', await marksOf(viewer, ['1']), ['NONE'])
    },
  }
}

function expectMistake(userErrors: readonly UserError[], code: string, path: readonly string[]): void {
  expectEqual(
    'code and path of the userErrors',
    userErrors.map((each) => [each.code, each.path]),
    [[code, path]],
  )
  expectSentence(userErrors[0]?.message)
}

/** Expects that the whole operation is refused and stores nothing. */
async function expectRefused(audit: Audit, query: string, variables: Record<string, unknown>, code: string): Promise<void> {
  const { marksOf } = await thumbup(audit)
  const viewer = await audit.ownViewer()
  const answer = await viewer.ask(query, variables)
  expectEqual('the codes of the errors', [...new Set(codesOf(answer))], [code])
  expectSentenceOf(answer)
  expectEqual('the stored mark afterwards', await marksOf(viewer, ['1']), ['NONE'])
}

export const markBadInput: readonly Check[] = [
  ...READS.map(refusal),
  ...MARKS.map(rejection),
  {
    id: 'cursors-of-other-lists',
    sentence: "A cursor from another subject's likers or another viewer's likes is refused with CURSOR_INVALID.",
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
    sentence: 'A batch of 501 marks is refused as a whole with INPUTS_TOO_MANY.',
    async check(audit) {
      const { marksOf } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const marks = ids(501).map((id) => ({ business: audit.business, id, mark: 'LIKE' }))
      type Payload = { setMarkBatch: { results: unknown[]; userErrors: UserError[] } }
      const { setMarkBatch } = await viewer.data<Payload>(MARK_BATCH, { marks })
      expectEqual('the results', setMarkBatch.results, [])
      expectMistake(setMarkBatch.userErrors, 'INPUTS_TOO_MANY', ['input', 'marks'])
      expectEqual('the stored mark afterwards', await marksOf(viewer, ['1']), ['NONE'])
    },
  },
  {
    id: 'mark-of-no-kind',
    sentence: 'A batch with a mark other than LIKE, DISLIKE and NONE is refused as a whole with GRAPHQL_VALIDATION_FAILED.',
    async check(audit) {
      const good = { business: audit.business, id: '1', mark: 'LIKE' }
      const marks = [good, { ...good, id: '2', mark: 'LOVE' }]
      await expectRefused(audit, MARK_BATCH, { marks }, 'GRAPHQL_VALIDATION_FAILED')
    },
  },
  {
    id: 'marks-for-nobody',
    sentence: 'An anonymous caller cannot mark and cannot read marks or lists, and gets UNAUTHENTICATED.',
    async check(audit) {
      await thumbup(audit)
      const { business } = audit
      await expectNobodyAnswered(audit, [
        [MARK, { input: { business, id: '1', mark: 'LIKE' } }],
        [MARK_BATCH, { marks: [{ business, id: '1', mark: 'LIKE' }] }],
        [STATES, { business, ids: ['1'] }],
        [LIKERS, { business, id: '1' }],
        [LIKES, { business }],
      ])
    },
  },
  {
    id: 'thumbup-scopes',
    sentence: 'Registering subjects and reconciling counts without their scopes is refused.',
    async check(audit) {
      await thumbup(audit)
      const viewer = await audit.ownViewer()
      const { business } = audit
      const answers = [
        await viewer.ask(REGISTER, { business, subjects: [{ id: audit.newOid(), owner: viewer.id }] }),
        await viewer.ask(RECONCILE, { business, ids: ['1'] }),
      ]
      expectEqual('the codes of the errors', answers.map(codesOf), [['UNAUTHORIZED_FIELD_OR_TYPE'], ['UNAUTHORIZED_FIELD_OR_TYPE']])
    },
  },
  {
    id: 'register-bad-subjects',
    sentence: 'Each bad subject of a registration gets its code, and the others are registered.',
    async check(audit) {
      await thumbup(audit)
      const registrar = await audit.ownViewer([SCOPE_SUBJECTS_REGISTER])
      const [good, twice, owner] = [audit.newOid(), audit.newOid(), audit.newOid()]
      const subjects = [
        { id: good, owner },
        { id: '', owner },
        { id: audit.newOid(), owner, business: UNKNOWN_BUSINESS },
        { id: twice, owner },
        { id: twice, owner: registrar.id },
      ]
      type Payload = { registerSubjects: { results: Registered[]; userErrors: UserError[] } }
      const { registerSubjects } = await registrar.data<Payload>(REGISTER, { business: audit.business, subjects })
      const { results, userErrors } = registerSubjects
      expectEqual('the userErrors of the call', userErrors, [])
      const at = (place: string, field: string) => ['input', 'subjects', place, field]
      expectEqual(
        'registered, and code and path of the mistakes',
        results.map((each) => [each.registered, ...each.userErrors.flatMap(({ code, path }) => [code, path])]),
        [
          [true],
          [false, 'ID_INVALID', at('1', 'id')],
          [false, 'BUSINESS_UNKNOWN', at('2', 'business')],
          [true],
          [false, 'REGISTERED_TWICE', at('4', 'id')],
        ],
      )
    },
  },
  {
    id: 'counts-changed-201-ids',
    sentence: 'A subscription to 201 subjects is refused with IDS_TOO_MANY.',
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
