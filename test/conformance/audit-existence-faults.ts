/** For every check of feed existence, ways to break its promise. */
import { beginningOf, monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { changing, givesNoScope, halfDoing, inSecond, pretending, refusing, withVariables, type PlannedFault } from './fault-kinds.ts'
import { everybodyIsOne, everybodyIsSomebody } from './fault-viewers.ts'
import { askedWith, told, type Asked } from './faulty-proxy.ts'

const seenAs = (viewerSeen: string, ids: readonly string[]) => ids.map((id) => ({ id, viewerSeen }))
const playedAnswer = (ids: readonly string[]) => ({
  recordedCount: new Set(ids).size,
  visible: true,
  userErrors: [],
  subjects: seenAs('PLAYED', ids),
})

const wrongCode = refusing('refuses with another code', { code: 'INTERNAL' })
const noSentence = refusing('refuses without a sentence', { message: 'Invalid' })

const fakePlay = pretending('acknowledges plays and loses them', /AuditPlay/, ({ variables }) => ({
  recordPlayed: playedAnswer(variables.ids),
}))
const fakeIssue = pretending('acknowledges issued subjects and loses them', /AuditIssue/, ({ variables }) => ({
  recordIssued: { recorded: true, userErrors: [], subjects: seenAs('ISSUED', variables.ids) },
}))
const showsAll = changing('shows seen subjects', /AuditUnseen/, (data, asked) => void (data.unseen.ids = asked.variables.candidates))
const hidesMore = changing('hides unseen subjects', /AuditUnseen/, (data) => void data.unseen.ids.pop())
const knowsNoReason = changing('knows of nothing', /AuditSeen\b/, (data) => {
  for (const each of data.subjects) each.viewerSeen = null
})

const answersAll = pretending('answers requests it should refuse', /Audit(Unseen|Seen|WhyHidden)\b/, () => ({
  unseen: { ids: [], droppedIssued: 0, droppedStaged: 0, droppedFiltered: 0 },
  subjects: [],
  whyHidden: { hidden: false, issuedAt: null, stagedAt: null, filters: [] },
}))
/** Corrects the invalid input and records it, although it was refused. */
const records = halfDoing('records a part of a refused request', /Audit(Play|Issue)/, (asked: Asked) =>
  askedWith(asked, { variables: { business: 'video', ids: ['1'], playedAt: null } }),
)

const READS = [
  ...['unseen-501-candidates', 'unseen-501-to-exclude', 'unseen-id-empty', 'unseen-id-long', 'unseen-business-unknown'],
  ...['seen-201-ids', 'seen-business-unknown'],
]
const WRITES = [
  ...['played-201-ids', 'played-one-bad-id', 'played-in-the-future', 'played-long-ago', 'played-business-unknown'],
  ...['issued-201-ids', 'issued-one-bad-id'],
]

/** By the id of the check that must detect the fault. */
export const EXISTENCE_FAULTS: Record<string, readonly PlannedFault[]> = {
  'seen-after-play': [fakePlay, showsAll, hidesMore],
  'seen-after-issue': [fakeIssue, showsAll, hidesMore],
  'seen-across-processes': [inSecond(showsAll), inSecond(knowsNoReason), fakePlay, fakeIssue],
  'unseen-in-order': [
    changing('sorts', /AuditUnseen/, (data) => void data.unseen.ids.sort()),
    changing('shows one twice', /AuditUnseen/, ({ unseen: { ids } }) => void (ids.length > 0 && ids.push(ids[0]))),
    withVariables('ignores the exclusions', /AuditUnseen/, () => ({ exclude: [] })),
  ],
  'unseen-counts': [
    changing('counts nothing as served', /AuditUnseen/, (data) => (data.unseen.droppedIssued = 0)),
    changing('counts nothing as watched', /AuditUnseen/, (data) => (data.unseen.droppedStaged = data.unseen.droppedFiltered = 0)),
  ],
  'unseen-hides-no-more': [hidesMore],
  'seen-reasons': [
    knowsNoReason,
    changing('puts served before watched', /AuditSeen\b/, (data) => {
      for (const each of data.subjects) if (each.id === 'both') each.viewerSeen = 'ISSUED'
    }),
    changing('takes all for watched', /AuditSeen\b/, (data) => {
      for (const each of data.subjects) each.viewerSeen = 'PLAYED'
    }),
    changing('answers in another order', /AuditSeen\b/, (data) => void data.subjects.reverse()),
  ],
  'seen-entity': [
    changing('knows nothing of the entity', /AuditSeenEntity/, (data) =>
      data.viewerHistory.edges.forEach(({ node }: any) => (node.viewerSeen = null)),
    ),
  ],
  'seen-in-payloads': [
    changing('returns issued subjects as before', /AuditIssue/, (data) => {
      for (const each of data.recordIssued.subjects) each.viewerSeen = null
    }),
    changing('returns played subjects as before', /AuditPlay/, (data) => {
      for (const each of data.recordPlayed.subjects) each.viewerSeen = 'ISSUED'
    }),
    changing('returns all issued subjects as not played', /AuditIssue/, (data) => {
      for (const each of data.recordIssued.subjects) each.viewerSeen = 'ISSUED'
    }),
    changing('returns one subject', /Audit(Issue|Play)/, (data) => {
      for (const payload of Object.values<any>(data)) payload.subjects.length = 1
    }),
  ],
  'unseen-entities': [
    changing('returns entities of another business', /AuditUnseenSubjects/, (data) => {
      for (const each of data.unseen.subjects) each.__typename = 'Article'
    }),
    changing('returns entities of seen subjects too', /AuditUnseenSubjects/, (data) => void data.unseen.subjects.push({ id: 'b' })),
  ],
  'seen-ids-as-sent': [
    withVariables('reads ids as numbers', /AuditPlay/, ({ ids }) => ({ ids: ids.map((id: string) => (id === '007' ? '7' : id)) })),
    withVariables('takes no account of case', /AuditPlay/, ({ ids }) => ({ ids: ids.map((id: string) => id.toLowerCase()) })),
  ],
  'seen-of-two-businesses': [withVariables('knows one business', /Audit(Play|Issue|Unseen)/, () => ({ business: 'video' }))],
  'played-before': [
    fakePlay,
    {
      name: 'acknowledges plays of another month, and drops them',
      make: () => ({
        answer: (asked, forward) => {
          const { ids, playedAt } = asked.variables
          const isOfNow = playedAt === undefined || playedAt === null || playedAt >= beginningOf(monthOf(Date.now()))
          if (!/AuditPlay/.test(asked.query) || isOfNow) return forward(asked)
          return Promise.resolve(told({ data: { recordPlayed: playedAnswer(ids) } }))
        },
      }),
    },
  ],
  'played-twice': [
    changing('counts repetitions', /AuditPlay/, (data, asked) => (data.recordPlayed.recordedCount = asked.variables.ids.length)),
    fakePlay,
  ],
  'seen-by-nobody-else': [everybodyIsOne],
  'unseen-in-bulk': [
    givesNoScope(/AuditUnseen/),
    showsAll,
    changing(
      'hides every other one',
      /AuditUnseen/,
      ({ unseen }) => (unseen.ids = unseen.ids.filter((_: string, at: number) => at % 2 === 0)),
    ),
  ],
  'why-hidden-tells': [
    givesNoScope(/AuditWhyHidden/),
    changing('hides that it hides', /AuditWhyHidden/, (data) => (data.whyHidden.hidden = false)),
    changing('gives no reason', /AuditWhyHidden/, ({ whyHidden }) =>
      Object.assign(whyHidden, { issuedAt: null, stagedAt: null, filters: [] }),
    ),
  ],
  ...Object.fromEntries(READS.map((id) => [id, [wrongCode, noSentence, answersAll]])),
  ...Object.fromEntries(WRITES.map((id) => [id, [wrongCode, noSentence, records]])),
  'why-hidden-forbidden': [wrongCode, answersAll],
  'seen-for-nobody': [wrongCode, everybodyIsSomebody],
  'played-stays': [fakePlay, showsAll, knowsNoReason],
}
