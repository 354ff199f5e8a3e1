/** Only the viewer accesses their own data. An anonymous caller has none. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { SCOPE_WRITE_ANY } from '../../core/viewer.ts'
import { askGraphQL, codesOf } from '../answer.ts'
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { headersOf } from '../identity.ts'
import { CheckSkipped, expectEqual, expectFields, expectThat } from '../outcome.ts'
import { BATCH, CLEAR, DELETE, HISTORY, LOOKUP, PAUSE, REPORT, RESUME, SETTINGS } from '../operations.ts'

const HOUR = 3_600_000

function readsOf(audit: Audit): [string, Record<string, unknown>][] {
  return [
    [HISTORY, {}],
    [LOOKUP, { business: audit.business, ids: ['1'] }],
    [SETTINGS, {}],
  ]
}

function changesOf(audit: Audit): [string, Record<string, unknown>][] {
  const input = { business: audit.business, id: '1', position: REAL_POSITION }
  return [
    [REPORT, { input }],
    [BATCH, { reports: [input] }],
    [DELETE, { business: audit.business, ids: ['1'] }],
    [CLEAR, { business: audit.business }],
    [PAUSE, {}],
    [RESUME, {}],
  ]
}

/** Sends each operation with these headers. */
async function codesWith(
  audit: Audit,
  headers: Record<string, string>,
  operations: readonly [string, Record<string, unknown>][],
): Promise<(string | undefined)[][]> {
  const answers = []
  for (const [query, variables] of operations) answers.push(codesOf(await askGraphQL(audit.url, headers, query, variables)))
  return answers
}

async function expectUnauthenticated(
  audit: Audit,
  headers: Record<string, string>,
  operations: readonly [string, Record<string, unknown>][],
  code: string,
) {
  const expected = operations.map(() => [code])
  expectEqual('the codes of the errors', await codesWith(audit, headers, operations), expected)
}

export const whoAsks: readonly Check[] = [
  {
    id: 'nobody-reads',
    sentence: 'An anonymous caller reads nothing and gets UNAUTHENTICATED.',
    check: (audit) => expectUnauthenticated(audit, {}, readsOf(audit), 'UNAUTHENTICATED'),
  },
  {
    id: 'nobody-writes',
    sentence: 'An anonymous caller changes nothing and gets UNAUTHENTICATED.',
    check: (audit) => expectUnauthenticated(audit, {}, changesOf(audit), 'UNAUTHENTICATED'),
  },
  {
    id: 'nobody-follows',
    sentence: 'An anonymous caller cannot subscribe to changes and gets UNAUTHENTICATED.',
    async check(audit) {
      const changes = await audit.nobody.openChanges()
      try {
        expectEqual('the codes of the errors', await changes.errorCodes(audit.eventMaxMs), ['UNAUTHENTICATED'])
      } finally {
        changes.end()
      }
    },
  },
  {
    id: 'token-broken',
    sentence: 'A malformed token is refused with UNAUTHENTICATED.',
    check: (audit) =>
      expectUnauthenticated(audit, { authorization: 'Bearer no.such.token' }, [...readsOf(audit), ...changesOf(audit)], 'UNAUTHENTICATED'),
  },
  {
    id: 'token-forged',
    sentence: 'A token without a signature, or with one from another key, is refused with UNAUTHENTICATED.',
    async check(audit) {
      const other = {
        kind: 'signed',
        key: createSecretKey(randomBytes(32)),
        algorithm: 'HS256',
        issuer: undefined,
        audience: undefined,
      } as const
      const forged = (await headersOf(other, 'forged'))['authorization'] ?? ''
      const [, payload] = forged.split('.')
      const unsigned = `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
      for (const authorization of [forged, unsigned])
        await expectUnauthenticated(audit, { authorization }, readsOf(audit), 'UNAUTHENTICATED')
    },
  },
  {
    id: 'token-expired',
    sentence: 'A token that has expired is refused with TOKEN_EXPIRED.',
    async check(audit) {
      if (audit.identity.kind !== 'signed') throw new CheckSkipped('needs to sign tokens: give --secret or --private-key')
      await expectUnauthenticated(audit, await headersOf(audit.identity, 'expired', [], -HOUR / 1_000), readsOf(audit), 'TOKEN_EXPIRED')
    },
  },
  {
    id: 'others-read-nothing',
    sentence: "A viewer cannot read another viewer's history, by id, page or cursor.",
    async check(audit) {
      const owner = await audit.ownViewer()
      const other = await audit.ownViewer()
      const viewedAt = audit.now() - HOUR
      await owner.reportBatch(['1', '2', '3'].map((id, index) => ({ id, position: REAL_POSITION, viewedAt: viewedAt - index })))
      const after = (await owner.history({ first: 1 })).pageInfo.endCursor
      expectEqual('the point lookup of another viewer', await other.lookUpMany(['1', '2', '3']), [null, null, null])
      expectEqual("another viewer's history", await other.oids(), [])
      expectEqual("another viewer's history after the owner's cursor", (await other.history({ after })).edges, [])
    },
  },
  {
    id: 'others-change-nothing',
    sentence: "A viewer cannot delete, clear or pause another viewer's history.",
    async check(audit) {
      const owner = await audit.ownViewer()
      const other = await audit.ownViewer()
      await owner.report({ id: '1', position: REAL_POSITION, viewedAt: audit.now() - HOUR })
      expectEqual('deletedIds of another viewer', await other.deleteHistory(['1']), [])
      await other.clearHistory()
      await other.pause()
      expectEqual('paused of the owner', await owner.isPaused(), false)
      expectEqual("the owner's history", await owner.oids(), ['1'])
    },
  },
  {
    id: 'write-for-another-forbidden',
    sentence: `A report for another viewer without the scope ${SCOPE_WRITE_ANY} is rejected with FORBIDDEN and stored for neither.`,
    async check(audit) {
      const owner = await audit.ownViewer()
      const other = await audit.ownViewer()
      const answer = await other.report({ viewer: owner.id, id: '1', position: REAL_POSITION })
      expectFields('the answer', answer, { outcome: 'REJECTED', code: 'FORBIDDEN', path: ['input', 'viewer'], progress: null })
      expectThat((answer.message ?? '').includes(SCOPE_WRITE_ANY), `a message that names the scope ${SCOPE_WRITE_ANY}`, answer.message)
      expectEqual('both histories', [await owner.oids(), await other.oids()], [[], []])
    },
  },
  {
    id: 'write-for-another-with-scope',
    sentence: `With the scope ${SCOPE_WRITE_ANY}, a report counts only for the viewer it names.`,
    async check(audit) {
      const owner = await audit.ownViewer()
      const other = await audit.ownViewer([SCOPE_WRITE_ANY])
      expectFields('the answer', await other.report({ viewer: owner.id, id: '1', position: REAL_POSITION }), { outcome: 'ACCEPTED' })
      expectEqual('both histories', [await owner.oids(), await other.oids()], [['1'], []])
    },
  },
]
