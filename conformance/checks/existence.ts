/**
 * Served and watched subjects do not come back in `unseen`. The records of these checks cannot be deleted. They belong to viewers of the
 * audit and expire with the filters of those viewers.
 */
import { SCOPE_EXISTENCE_BULK, SCOPE_OPERATOR } from '../../core/viewer.ts'
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { CheckSkipped, expectEqual, expectThat } from '../outcome.ts'
import { ISSUE, PLAY, SEEN, UNSEEN, WHY_HIDDEN, seenEntityQuery } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const DAY = 86_400_000
/** The most candidates of a request without the scope. */
const CANDIDATES_MAX = 500

type Unseen = { ids: string[]; droppedIssued: number; droppedStaged: number; droppedFiltered: number }

export const ids = (count: number, beginning = ''): string[] => Array.from({ length: count }, (_, at) => `${beginning}${at + 1}`)

/** Sends the request, and skips the check if the deployment has no such field. */
async function data<Data>(viewer: AuditViewer, query: string, variables: object): Promise<Data> {
  const answer = await viewer.ask<Data>(query, { ...variables })
  const without = answer.errors.find(({ message }) =>
    /^Cannot query field "(unseen|seen|recordIssued|recordPlayed|whyHidden|viewerSeen)"/.test(message),
  )
  if (without !== undefined) throw new CheckSkipped('this deployment does not serve feed-existence')
  return viewer.data<Data>(query, { ...variables })
}

export const seenCalls = (audit: Audit) => ({
  async played(viewer: AuditViewer, of: readonly string[], playedAt: number | null = null, business = audit.business): Promise<void> {
    const { recordPlayed } = await once<{ recordPlayed: { recorded: number; visible: boolean } }>(viewer, PLAY, {
      business,
      ids: of,
      playedAt,
    })
    expectEqual('how many plays were recorded, and whether they are visible', recordPlayed, { recorded: new Set(of).size, visible: true })
  },
  async issued(viewer: AuditViewer, of: readonly string[], business = audit.business): Promise<void> {
    const { recordIssued } = await once<{ recordIssued: { recorded: boolean } }>(viewer, ISSUE, { business, ids: of })
    expectEqual('whether it was noted what was served', recordIssued.recorded, true)
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
    const { seen } = await data<{ seen: { id: string; reason: string | null }[] }>(viewer, SEEN, { business: audit.business, ids: of })
    expectEqual(
      'the ids that `seen` answers',
      seen.map(({ id }) => id),
      of,
    )
    // A play may be in a filter by now or not. Both reasons are right.
    return seen.map(({ reason }) => (reason === 'PLAYED_PROBABLY' ? 'PLAYED' : reason))
  },
})

/** Sends a mutation once, after a query that skips the check if the field is missing. A repeated mutation would record something else. */
async function once<Data>(viewer: AuditViewer, query: string, variables: Record<string, unknown>): Promise<Data> {
  await data(viewer, SEEN, { business: variables['business'], ids: [] })
  return viewer.data<Data>(query, variables)
}

export const existence: readonly Check[] = [
  {
    id: 'seen-after-play',
    sentence: 'What was acknowledged as watched is left out of unseen at once, and nothing else is.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      for (let turn = 1; turn <= 5; turn++) {
        await played(viewer, [`p${turn}`])
        expectEqual('what unseen shows right after', (await unseen(viewer, [...ids(5, 'p'), 'new'])).ids, [
          ...ids(5, 'p').slice(turn),
          'new',
        ])
      }
    },
  },
  {
    id: 'seen-after-issue',
    sentence: 'What was acknowledged as served is left out of unseen at once, and nothing else is.',
    async check(audit) {
      const { issued, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await issued(viewer, ids(20, 'i'))
      expectEqual('what unseen shows right after', (await unseen(viewer, ['new', ...ids(20, 'i'), 'newer'])).ids, ['new', 'newer'])
    },
  },
  {
    id: 'seen-across-processes',
    sentence: 'What one process recorded is left out by another at once.',
    async check(audit) {
      const { issued, played, unseen, reasons } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const elsewhere = viewer.at(audit.second())
      expectEqual('what the other process shows at first', (await unseen(elsewhere, ['i', 'p', 'new'])).ids, ['i', 'p', 'new'])
      await issued(viewer, ['i'])
      await played(viewer, ['p'])
      expectEqual('what the other process shows', (await unseen(elsewhere, ['i', 'p', 'new'])).ids, ['new'])
      expectEqual('the reasons of the other process', await reasons(elsewhere, ['i', 'p', 'new']), ['ISSUED', 'PLAYED', null])
    },
  },
  {
    id: 'unseen-in-order',
    sentence: 'Unseen keeps the order of the candidates, each once, without those to exclude.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ['b'])
      expectEqual('what unseen shows', (await unseen(viewer, ['z', 'b', 'a', 'z', 'y', 'c', 'a'], ['y', 'other'])).ids, ['z', 'a', 'c'])
      expectEqual('what unseen shows of nothing', (await unseen(viewer, [])).ids, [])
    },
  },
  {
    id: 'unseen-counts',
    sentence: 'Unseen says how many it left out because they were served, or watched.',
    async check(audit) {
      const { issued, played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await issued(viewer, ids(3, 'i'))
      await played(viewer, ids(4, 'p'))
      const { droppedIssued, droppedStaged, droppedFiltered } = await unseen(viewer, [...ids(3, 'i'), ...ids(4, 'p'), 'new'])
      expectEqual('how many were served, and watched', [droppedIssued, droppedStaged + droppedFiltered], [3, 4])
    },
  },
  {
    id: 'unseen-hides-no-more',
    sentence: 'To who has seen nothing, all of 500 candidates are shown.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const candidates = ids(CANDIDATES_MAX, 'c')
      expectEqual('what unseen shows', (await seenCalls(audit).unseen(viewer, candidates)).ids, candidates)
    },
  },
  {
    id: 'seen-reasons',
    sentence: 'Seen gives the reasons in the order of the ids; watched comes before served.',
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
    sentence: 'viewerSeen of an entity says what seen says.',
    async check(audit) {
      const { issued } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const oid = audit.newOid()
      // At position 0 nothing was watched, so this is not a play.
      await viewer.report({ oid, position: 0 })
      const before = await readEntity(viewer, audit)
      expectEqual('viewerSeen of what was not served', before, null)
      await issued(viewer, [oid])
      expectEqual('viewerSeen of what was served', await readEntity(viewer, audit), 'ISSUED')
    },
  },
  {
    id: 'seen-ids-as-sent',
    sentence: 'Ids are told apart as they were sent, of 64 bytes and of any script.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      const recorded = ['007', 'x'.repeat(64), 'ü'.repeat(32), 'A', '視頻']
      await played(viewer, recorded)
      const like = ['7', 'x'.repeat(63), 'ü'.repeat(31), 'a', '视频']
      expectEqual('what unseen shows', (await unseen(viewer, [...recorded, ...like])).ids, like)
    },
  },
  {
    id: 'seen-of-two-businesses',
    sentence: 'What was seen in one business is unseen in another.',
    async check(audit) {
      const { issued, played, unseen } = seenCalls(audit)
      const other = audit.otherBusiness()
      const viewer = await audit.ownViewer()
      await played(viewer, ['p'])
      await issued(viewer, ['i'], other)
      expectEqual(`what unseen shows in ${audit.business}`, (await unseen(viewer, ['p', 'i'])).ids, ['i'])
      expectEqual(`what unseen shows in ${other}`, (await unseen(viewer, ['p', 'i'], [], other)).ids, ['p'])
    },
  },
  {
    id: 'played-before',
    sentence: 'A play of earlier in this month or at the end of the last hides its subject as well.',
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
      expectEqual('what unseen shows', (await unseen(viewer, ['p0', 'p1', 'p2', 'new'])).ids, ['new'])
    },
  },
  {
    id: 'played-twice',
    sentence: 'A play that is recorded again, or twice at once, is no error and changes nothing.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ['p', 'p', 'q'])
      await played(viewer, ['q', 'p'])
      await played(viewer, [])
      expectEqual('what unseen shows', (await unseen(viewer, ['p', 'q', 'new'])).ids, ['new'])
    },
  },
  {
    id: 'seen-by-nobody-else',
    sentence: 'What one viewer has seen is hidden from nobody else.',
    async check(audit) {
      const { issued, played, unseen } = seenCalls(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      await played(viewer, ['p'])
      await issued(viewer, ['i'])
      expectEqual('what unseen shows to another viewer', (await unseen(other, ['p', 'i'])).ids, ['p', 'i'])
    },
  },
  {
    id: 'unseen-in-bulk',
    sentence: 'With the scope existence:bulk 10,000 candidates are answered.',
    async check(audit) {
      const { played, unseen } = seenCalls(audit)
      const viewer = await audit.ownViewer([SCOPE_EXISTENCE_BULK])
      const candidates = ids(10_000, 'c')
      await played(viewer, ['c10000', 'c5'])
      const shown = new Set((await unseen(viewer, candidates)).ids)
      expectThat(
        !shown.has('c5') && !shown.has('c10000'),
        'unseen to leave out what was watched',
        [...shown].filter((id) => id === 'c5' || id === 'c10000'),
      )
      // After a fold, a filter may hide one new subject in a hundred.
      expectThat(shown.size > 9_500, 'unseen to show nearly all of 9,998 that were not seen', shown.size)
    },
  },
  {
    id: 'why-hidden-tells',
    sentence: 'whyHidden tells an operator that a subject is hidden, and of one nobody has seen that it is not.',
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
      expectEqual('hidden, and whether it says why, of what was watched', [p.hidden, isPlayed], [true, true])
      expectEqual('hidden, and whether it says when, of what was served', [i.hidden, i.issuedAt !== null], [true, true])
      expectEqual('what it says of what nobody has seen', [n.hidden, n.issuedAt, n.stagedAt], [false, null, null])
    },
  },
]

/** These wait for the write-back. */
export const existenceStays: readonly Check[] = [
  {
    id: 'played-stays',
    sentence: 'What was watched, now and in the month before, is left out still after the write-back.',
    async check(audit) {
      const { played, unseen, reasons } = seenCalls(audit)
      const viewer = await audit.ownViewer()
      await played(viewer, ids(200, 'p'))
      await played(viewer, ids(200, 'q'), Math.round(audit.now() - 31 * DAY))
      await audit.quiet()
      const all = [...ids(200, 'p'), ...ids(200, 'q')]
      expectEqual('what unseen shows', (await unseen(viewer, all)).ids, [])
      expectEqual('the reasons', [...new Set(await reasons(viewer, ids(200, 'q')))], ['PLAYED'])
    },
  },
]

type WhyHidden = { hidden: boolean; issuedAt: number | null; stagedAt: number | null; filters: { has: boolean }[] }

async function readEntity(viewer: AuditViewer, { entity }: Audit): Promise<string | null> {
  type Entities = { viewerHistory: { edges: { node: { subject: { viewerSeen?: string | null } } }[] } }
  const { viewerHistory } = await data<Entities>(viewer, seenEntityQuery(entity), {})
  const [edge] = viewerHistory.edges
  expectThat(edge !== undefined, 'an entry in the history', 'none')
  return edge?.node.subject.viewerSeen ?? null
}
