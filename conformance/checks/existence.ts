/**
 * Served and watched subjects do not come back in `unseen`. The audit cannot remove the records of these checks. They
 * belong to the audit's own viewers and expire with their filters.
 */
import { SCOPE_EXISTENCE_BULK, SCOPE_OPERATOR } from '../../core/viewer.ts'
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { CheckSkipped, expectEqual, expectThat } from '../outcome.ts'
import { ISSUE, PLAY, SEEN, SEEN_ENTITY, UNSEEN, UNSEEN_SUBJECTS, WHY_HIDDEN } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const DAY = 86_400_000
/** The most candidates of one request without the scope existence:bulk. */
const CANDIDATES_MAX = 500

type Unseen = { ids: string[]; droppedIssued: number; droppedStaged: number; droppedFiltered: number }
type Seen = { id: string; viewerSeen: string | null }
type Payload = { userErrors: unknown[]; subjects: Seen[] }

export const ids = (count: number, beginning = ''): string[] => Array.from({ length: count }, (_, at) => `${beginning}${at + 1}`)

/** Sends a query. Skips the check if the deployment has no such field. */
async function data<Data>(viewer: AuditViewer, query: string, variables: object): Promise<Data> {
  const answer = await viewer.ask<Data>(query, { ...variables })
  const without = answer.errors.find(({ message }) =>
    /^Cannot query field "(unseen|recordIssued|recordPlayed|whyHidden|viewerSeen)"/.test(message),
  )
  if (without !== undefined) throw new CheckSkipped('this deployment does not serve feed-existence')
  return viewer.data<Data>(query, { ...variables })
}

export const seenCalls = (audit: Audit) => ({
  async played(viewer: AuditViewer, of: readonly string[], playedAt: number | null = null, business = audit.business): Promise<Seen[]> {
    const { recordPlayed } = await once<{ recordPlayed: Payload & { recordedCount: number; visible: boolean } }>(viewer, PLAY, {
      business,
      ids: of,
      playedAt,
    })
    const { recordedCount, visible, userErrors, subjects } = recordPlayed
    const expected = { recordedCount: new Set(of).size, visible: true, userErrors: [] }
    expectEqual('recordedCount, visible and userErrors of the answer', { recordedCount, visible, userErrors }, expected)
    return subjects
  },
  async issued(viewer: AuditViewer, of: readonly string[], business = audit.business): Promise<Seen[]> {
    const { recordIssued } = await once<{ recordIssued: Payload & { recorded: boolean } }>(viewer, ISSUE, { business, ids: of })
    const { recorded, userErrors, subjects } = recordIssued
    expectEqual('recorded and userErrors of the answer', { recorded, userErrors }, { recorded: true, userErrors: [] })
    return subjects
  },
  async unseen(
    viewer: AuditViewer,
    candidates: readonly string[],
    exclude: readonly string[] = [],
    business = audit.business,
  ): Promise<Unseen> {
    return (await data<{ unseen: Unseen }>(viewer, UNSEEN, { business, candidates, exclude })).unseen
  },
  async reasons(viewer: AuditViewer, of: readonly string[]): Promise<(string | null)[]> {
    const { subjects } = await data<{ subjects: Seen[] }>(viewer, SEEN, { business: audit.business, ids: of })
    return reasonsOf(subjects, of)
  },
})

/** The reasons in the order of the ids. The guarantee does not say whether a play is in a filter yet. */
function reasonsOf(subjects: readonly Seen[], of: readonly string[]): (string | null)[] {
  expectEqual(
    'the ids of the subjects',
    subjects.map(({ id }) => id),
    of,
  )
  return subjects.map(({ viewerSeen }) => (viewerSeen === 'PLAYED_PROBABLY' ? 'PLAYED' : viewerSeen))
}

/** Sends a mutation once. A read goes first, so that a deployment without the field skips the check. */
async function once<Data>(viewer: AuditViewer, query: string, variables: Record<string, unknown>): Promise<Data> {
  await data(viewer, SEEN, { business: variables['business'], ids: [] })
  return viewer.data<Data>(query, variables)
}

export const existence: readonly Check[] = [
  {
    id: 'seen-after-play',
    sentence: 'After an acknowledged play, unseen leaves the subject out at once, and nothing else.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      for (let turn = 1; turn <= 5; turn++) {
        await played(viewer, [`p${turn}`])
        expectEqual('the ids of unseen right after', (await unseen(viewer, [...ids(5, 'p'), 'new'])).ids, [
          ...ids(5, 'p').slice(turn),
          'new',
        ])
      }
    },
  },
  {
    id: 'seen-after-issue',
    sentence: 'After an acknowledged recordIssued, unseen leaves the served subjects out at once, and nothing else.',
    async check(audit) {
      const { issued, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await issued(viewer, ids(20, 'i'))
      expectEqual('the ids of unseen right after', (await unseen(viewer, ['new', ...ids(20, 'i'), 'newer'])).ids, ['new', 'newer'])
    },
  },
  {
    id: 'seen-across-processes',
    sentence: 'A play or issue recorded by one process is left out by another at once.',
    async check(audit) {
      const { issued, played, unseen, reasons } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const elsewhere = viewer.at(audit.second())
      expectEqual('unseen of the other process at first', (await unseen(elsewhere, ['i', 'p', 'new'])).ids, ['i', 'p', 'new'])
      await issued(viewer, ['i'])
      await played(viewer, ['p'])
      expectEqual('unseen of the other process', (await unseen(elsewhere, ['i', 'p', 'new'])).ids, ['new'])
      expectEqual('the reasons of the other process', await reasons(elsewhere, ['i', 'p', 'new']), ['ISSUED', 'PLAYED', null])
    },
  },
  {
    id: 'unseen-in-order',
    sentence: 'Unseen returns each candidate once, in the order of the request, without the excluded ids.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ['b'])
      expectEqual('the ids of unseen', (await unseen(viewer, ['z', 'b', 'a', 'z', 'y', 'c', 'a'], ['y', 'other'])).ids, ['z', 'a', 'c'])
      expectEqual('the ids of unseen without candidates', (await unseen(viewer, [])).ids, [])
    },
  },
  {
    id: 'unseen-counts',
    sentence: 'Unseen counts the candidates it left out as served and as watched.',
    async check(audit) {
      const { issued, played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await issued(viewer, ids(3, 'i'))
      await played(viewer, ids(4, 'p'))
      const { droppedIssued, droppedStaged, droppedFiltered } = await unseen(viewer, [...ids(3, 'i'), ...ids(4, 'p'), 'new'])
      expectEqual('the number of served and of watched candidates', [droppedIssued, droppedStaged + droppedFiltered], [3, 4])
    },
  },
  {
    id: 'unseen-hides-no-more',
    sentence: 'A viewer who has seen nothing gets all of 500 candidates.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const candidates = ids(CANDIDATES_MAX, 'c')
      expectEqual('the ids of unseen', (await seenCalls(audit).unseen(viewer, candidates)).ids, candidates)
    },
  },
  {
    id: 'seen-reasons',
    sentence: 'viewerSeen of subjects is the reason, in the order of the ids. A subject both watched and served has the reason PLAYED.',
    async check(audit) {
      const { issued, played, reasons } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await issued(viewer, ['served', 'both'])
      await played(viewer, ['both', 'watched'])
      const asked = ['new', 'both', 'served', 'watched']
      expectEqual('the reasons', await reasons(viewer, asked), [null, 'PLAYED', 'ISSUED', 'PLAYED'])
    },
  },
  {
    id: 'seen-entity',
    sentence: 'viewerSeen of a subject in the history is the same.',
    async check(audit) {
      const { issued } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const oid = audit.newOid()
      // Position 0, so that the report does not count as a play.
      await viewer.report({ id: oid, position: 0 })
      expectEqual('viewerSeen of a subject that was not served', await readEntity(viewer), { id: oid, viewerSeen: null })
      await issued(viewer, [oid])
      expectEqual('viewerSeen of a served subject', await readEntity(viewer), { id: oid, viewerSeen: 'ISSUED' })
    },
  },
  {
    id: 'seen-in-payloads',
    sentence: 'recordIssued and recordPlayed return their subjects as the viewer now sees them.',
    async check(audit) {
      const { issued, played } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      expectEqual('viewerSeen after the issue', reasonsOf(await issued(viewer, ['a', 'b']), ['a', 'b']), ['ISSUED', 'ISSUED'])
      expectEqual('viewerSeen after the play', reasonsOf(await played(viewer, ['b', 'c']), ['b', 'c']), ['PLAYED', 'PLAYED'])
      expectEqual('viewerSeen after another issue', reasonsOf(await issued(viewer, ['a', 'b']), ['a', 'b']), ['ISSUED', 'PLAYED'])
    },
  },
  {
    id: 'unseen-entities',
    sentence: 'The subjects of unseen are the entities of its ids.',
    async check(audit) {
      const { played } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ['b'])
      const { business, entity } = audit
      const { unseen } = await data<{ unseen: object }>(viewer, UNSEEN_SUBJECTS, { business, candidates: ['z', 'b', 'a', 'z'] })
      const subjects = ['z', 'a'].map((id) => ({ __typename: entity, id, business, viewerSeen: null }))
      expectEqual('ids and subjects of unseen', unseen, { ids: ['z', 'a'], subjects })
    },
  },
  {
    id: 'seen-ids-as-sent',
    sentence: 'Ids of up to 64 bytes and of any script are distinct if any byte differs.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const recorded = ['007', 'x'.repeat(64), 'ü'.repeat(32), 'A', '視頻']
      await played(viewer, recorded)
      const like = ['7', 'x'.repeat(63), 'ü'.repeat(31), 'a', '视频']
      expectEqual('the ids of unseen', (await unseen(viewer, [...recorded, ...like])).ids, like)
    },
  },
  {
    id: 'seen-of-two-businesses',
    sentence: 'A subject seen in one business is unseen in another.',
    async check(audit) {
      const { issued, played, unseen } = seenCalls(audit)
      const other = audit.otherBusiness()
      const viewer = await audit.ownViewer()
      await played(viewer, ['p'])
      await issued(viewer, ['i'], other)
      expectEqual(`the ids of unseen in ${audit.business}`, (await unseen(viewer, ['p', 'i'])).ids, ['i'])
      expectEqual(`the ids of unseen in ${other}`, (await unseen(viewer, ['p', 'i'], [], other)).ids, ['p'])
    },
  },
  {
    id: 'played-before',
    sentence: 'A play earlier in this month or at the end of the last month hides its subject as well.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const now = audit.now()
      const month = new Date(now)
      const times = [
        now - 60_000,
        Date.UTC(month.getUTCFullYear(), month.getUTCMonth()),
        Date.UTC(month.getUTCFullYear(), month.getUTCMonth()) - 1,
      ]
      for (const [at, playedAt] of times.entries()) await played(viewer, [`p${at}`], Math.round(playedAt))
      expectEqual('the ids of unseen', (await unseen(viewer, ['p0', 'p1', 'p2', 'new'])).ids, ['new'])
    },
  },
  {
    id: 'played-twice',
    sentence: 'A repeated play, in one call or in several, is no error and changes nothing.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ['p', 'p', 'q'])
      await played(viewer, ['q', 'p'])
      await played(viewer, [])
      expectEqual('the ids of unseen', (await unseen(viewer, ['p', 'q', 'new'])).ids, ['new'])
    },
  },
  {
    id: 'seen-by-nobody-else',
    sentence: 'Subjects seen by one viewer are not hidden from another.',
    async check(audit) {
      const { issued, played, unseen } = seenCalls(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      await played(viewer, ['p'])
      await issued(viewer, ['i'])
      expectEqual('the ids of unseen for another viewer', (await unseen(other, ['p', 'i'])).ids, ['p', 'i'])
    },
  },
  {
    id: 'unseen-in-bulk',
    sentence: 'With the scope existence:bulk, unseen takes 10,000 candidates.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer([SCOPE_EXISTENCE_BULK])
      const candidates = ids(10_000, 'c')
      await played(viewer, ['c10000', 'c5'])
      const shown = new Set((await unseen(viewer, candidates)).ids)
      expectThat(
        !shown.has('c5') && !shown.has('c10000'),
        'unseen to leave out the watched subjects',
        [...shown].filter((id) => id === 'c5' || id === 'c10000'),
      )
      // Once the plays are folded, a filter may hide one id in a hundred.
      expectThat(shown.size > 9_500, 'unseen to return nearly all of 9,998 unseen candidates', shown.size)
    },
  },
  {
    id: 'why-hidden-tells',
    sentence: 'whyHidden shows an operator the reason of a hidden subject, and that an unseen subject is not hidden.',
    async check(audit) {
      const { issued, played } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const operator = await audit.ownViewer([SCOPE_OPERATOR])
      await played(viewer, ['p'])
      await issued(viewer, ['i'])
      const why = async (id: string) =>
        (await data<{ whyHidden: WhyHidden }>(operator, WHY_HIDDEN, { business: audit.business, id, viewer: viewer.id })).whyHidden
      const [p, i, n] = [await why('p'), await why('i'), await why('new')]
      const isPlayed = p.stagedAt !== null || p.filters.some(({ has }) => has)
      expectEqual('hidden, and a play as its reason, for a watched subject', [p.hidden, isPlayed], [true, true])
      expectEqual('hidden, and the time, for a served subject', [i.hidden, i.issuedAt !== null], [true, true])
      expectEqual('hidden, issuedAt and stagedAt of an unseen subject', [n.hidden, n.issuedAt, n.stagedAt], [false, null, null])
    },
  },
]

/** These wait for the write-back. */
export const existenceStays: readonly Check[] = [
  {
    id: 'played-stays',
    sentence: 'Subjects watched now or in the month before are still left out after the write-back.',
    async check(audit) {
      const { played, unseen, reasons } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ids(200, 'p'))
      await played(viewer, ids(200, 'q'), Math.round(audit.now() - 31 * DAY))
      await audit.quiet()
      const all = [...ids(200, 'p'), ...ids(200, 'q')]
      expectEqual('the ids of unseen', (await unseen(viewer, all)).ids, [])
      expectEqual('the reasons', [...new Set(await reasons(viewer, ids(200, 'q')))], ['PLAYED'])
    },
  },
]

type WhyHidden = { hidden: boolean; issuedAt: number | null; stagedAt: number | null; filters: { has: boolean }[] }

async function readEntity(viewer: AuditViewer): Promise<Seen | undefined> {
  const { viewerHistory } = await data<{ viewerHistory: { edges: { node: Seen }[] } }>(viewer, SEEN_ENTITY, {})
  return viewerHistory.edges[0]?.node
}
