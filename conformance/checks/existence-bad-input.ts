/** Bad input to feed existence gets a code and a message, and nothing is half-recorded. Only the viewer reads their own data. */
import { codesOf, type Answer } from '../answer.ts'
import type { Audit } from '../audited.ts'
import { expectMistake, expectNobodyAnswered, expectSentenceOf } from './bad-input.ts'
import type { Check } from '../check.ts'
import { ids, seenCalls } from './existence.ts'
import { expectEqual } from '../outcome.ts'
import { ISSUE, PLAY, SEEN, UNSEEN, WHY_HIDDEN } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const DAY = 86_400_000
const UNKNOWN_BUSINESS = 'no-such-business'

type Bad = { id: string; sentence: string; code: string; query: string; variables(audit: Audit): Record<string, unknown> }
/** `path`: the field that is wrong, below `input`. */
type BadWrite = Bad & { path: string[] }

const READS: readonly Bad[] = [
  {
    id: 'unseen-501-candidates',
    sentence: '501 candidates without the scope existence:bulk are refused.',
    code: 'CANDIDATES_TOO_MANY',
    query: UNSEEN,
    variables: () => ({ candidates: ids(501) }),
  },
  {
    id: 'unseen-501-to-exclude',
    sentence: '501 ids to exclude are refused.',
    code: 'CANDIDATES_TOO_MANY',
    query: UNSEEN,
    variables: () => ({ candidates: ['1'], exclude: ids(501) }),
  },
  {
    id: 'unseen-id-empty',
    sentence: 'An empty id among the candidates is refused.',
    code: 'ID_INVALID',
    query: UNSEEN,
    variables: () => ({ candidates: ['1', ''] }),
  },
  {
    id: 'unseen-id-long',
    sentence: 'An id of 65 bytes among the candidates is refused.',
    code: 'ID_INVALID',
    query: UNSEEN,
    variables: () => ({ candidates: ['x'.repeat(65)] }),
  },
  {
    id: 'unseen-business-unknown',
    sentence: 'Unseen in a business that is not configured is refused.',
    code: 'BUSINESS_UNKNOWN',
    query: UNSEEN,
    variables: () => ({ business: UNKNOWN_BUSINESS, candidates: ['1'] }),
  },
  {
    id: 'seen-201-ids',
    sentence: 'The lookup of 201 subjects is refused.',
    code: 'IDS_TOO_MANY',
    query: SEEN,
    variables: () => ({ ids: ids(201) }),
  },
  {
    id: 'seen-business-unknown',
    sentence: 'The lookup of subjects in a business that is not configured is refused.',
    code: 'BUSINESS_UNKNOWN',
    query: SEEN,
    variables: () => ({ business: UNKNOWN_BUSINESS, ids: ['1'] }),
  },
]

/** Each would record the id '1' if it were not refused. */
const WRITES: readonly BadWrite[] = [
  {
    id: 'played-201-ids',
    sentence: 'A play of 201 ids is refused as a whole.',
    code: 'IDS_TOO_MANY',
    path: ['ids'],
    query: PLAY,
    variables: () => ({ ids: ids(201) }),
  },
  {
    id: 'played-one-bad-id',
    sentence: 'A play with one bad id is refused as a whole.',
    code: 'ID_INVALID',
    path: ['ids', '1'],
    query: PLAY,
    variables: () => ({ ids: ['1', ''] }),
  },
  {
    id: 'played-in-the-future',
    sentence: 'A play two days ahead is refused.',
    code: 'PLAYED_AT_INVALID',
    path: ['playedAt'],
    query: PLAY,
    variables: (audit) => ({ ids: ['1'], playedAt: Math.round(audit.now() + 2 * DAY) }),
  },
  {
    id: 'played-long-ago',
    sentence: 'A play two years ago is refused.',
    code: 'PLAYED_AT_INVALID',
    path: ['playedAt'],
    query: PLAY,
    variables: (audit) => ({ ids: ['1'], playedAt: Math.round(audit.now() - 730 * DAY) }),
  },
  {
    id: 'played-business-unknown',
    sentence: 'A play in a business that is not configured is refused.',
    code: 'BUSINESS_UNKNOWN',
    path: ['business'],
    query: PLAY,
    variables: () => ({ business: UNKNOWN_BUSINESS, ids: ['1'] }),
  },
  {
    id: 'issued-201-ids',
    sentence: 'A recordIssued of 201 ids is refused as a whole.',
    code: 'IDS_TOO_MANY',
    path: ['ids'],
    query: ISSUE,
    variables: () => ({ ids: ids(201) }),
  },
  {
    id: 'issued-one-bad-id',
    sentence: 'A recordIssued with one bad id is refused as a whole.',
    code: 'ID_INVALID',
    path: ['ids', '1'],
    query: ISSUE,
    variables: () => ({ ids: ['1', 'x'.repeat(65)] }),
  },
]

async function ask({ query, variables }: Bad, viewer: AuditViewer, audit: Audit): Promise<Answer<unknown>> {
  // Skips the check if the deployment does not serve feed existence.
  await seenCalls(audit).unseen(viewer, [])
  return viewer.ask(query, { business: audit.business, ...variables(audit) })
}

function refusedRead(bad: Bad): Check {
  const { id, sentence, code } = bad
  return {
    id,
    sentence,
    async check(audit) {
      const answer = await ask(bad, await audit.ownViewer(), audit)
      expectEqual('the codes of the errors', codesOf(answer), [code])
      expectSentenceOf(answer)
    },
  }
}

function refusedWrite(bad: BadWrite): Check {
  const { id, sentence, code, path } = bad
  return {
    id,
    sentence,
    async check(audit) {
      const viewer = await audit.ownViewer()
      const answer = await ask(bad, viewer, audit)
      expectMistake(answer, code, path)
      expectEqual('the ids of unseen afterwards', (await seenCalls(audit).unseen(viewer, ['1'])).ids, ['1'])
    },
  }
}

export const existenceBadInput: readonly Check[] = [
  ...READS.map(refusedRead),
  ...WRITES.map(refusedWrite),
  {
    id: 'why-hidden-forbidden',
    sentence: 'whyHidden without the scope operator is refused.',
    async check(audit) {
      await seenCalls(audit).unseen(await audit.ownViewer(), [])
      const viewer = await audit.ownViewer()
      const answer = await viewer.ask(WHY_HIDDEN, { business: audit.business, id: '1', viewer: viewer.id })
      expectEqual('the codes of the errors', codesOf(answer), ['UNAUTHORIZED_FIELD_OR_TYPE'])
    },
  },
  {
    id: 'seen-for-nobody',
    sentence: 'An anonymous caller gets UNAUTHENTICATED for unseen, viewerSeen, recordPlayed and recordIssued.',
    async check(audit) {
      await seenCalls(audit).unseen(await audit.ownViewer(), [])
      const { business } = audit
      await expectNobodyAnswered(audit, [
        [UNSEEN, { business, candidates: ['1'] }],
        [SEEN, { business, ids: ['1'] }],
        [PLAY, { business, ids: ['1'] }],
        [ISSUE, { business, ids: ['1'] }],
      ])
    },
  },
]
