/** For every check of thumbup, ways to break its promise. */
import {
  asking,
  changing,
  givesNoScope,
  halfDoing,
  inSecond,
  pretending,
  refusing,
  withVariables,
  type PlannedFault,
} from './fault-kinds.ts'
import { everybodyIsOne, everybodyIsSomebody } from './fault-viewers.ts'
import { askedWith, told, type Asked } from './faulty-proxy.ts'

const wrongCode = refusing('refuses with another code', { code: 'INTERNAL' })
const noSentence = refusing('refuses without a sentence', { message: 'Invalid' })

const acceptedMark = ({ id, mark }: any) => ({
  ...{ outcome: 'ACCEPTED', userErrors: [], oldMark: 'NONE', mark, changed: true, state: 'PENDING' },
  subject: { id, viewerMark: mark, likeCount: Number(mark === 'LIKE'), dislikeCount: Number(mark === 'DISLIKE') },
})
/** Acknowledges the marks that `drops` picks, and loses them. */
const losingMarks = (name: string, drops: (input: any) => boolean): PlannedFault => ({
  name,
  make: () => ({
    async answer(asked, forward) {
      const { variables, query } = asked
      if (/AuditMark\b/.test(query) && drops(variables.input)) return told({ data: { setMark: acceptedMark(variables.input) } })
      if (!/AuditMarkBatch/.test(query)) return forward(asked)
      const kept = variables.marks.filter((input: any) => !drops(input))
      const { json } = await forward(askedWith(asked, { variables: { marks: kept } }))
      const answers = json?.data?.setMarkBatch?.results ?? []
      const results = variables.marks.map((input: any) => (drops(input) ? acceptedMark(input) : answers.shift()))
      return told({ data: { setMarkBatch: { results, userErrors: [] } } })
    },
  }),
})
const fakeMark = losingMarks('acknowledges marks and loses them', () => true)
const fakeUndo = losingMarks('acknowledges undoing and does nothing', ({ mark }) => mark === 'NONE')
const fakeDislike = losingMarks('acknowledges dislikes and loses them', ({ mark }) => mark === 'DISLIKE')
/** Changes the inputs of marks, single or in a batch. */
const marking = (name: string, change: (input: any) => object): PlannedFault =>
  asking(name, /AuditMark(Batch)?\b/, (asked) => {
    const { input, marks } = asked.variables
    const changed = (each: any) => ({ ...each, ...change(each) })
    return askedWith(asked, { variables: marks ? { marks: marks.map(changed) } : { input: changed(input) } })
  })
/** Changes the answers to marks, single or in a batch. */
const answeringMarks = (name: string, change: (payload: any) => void): PlannedFault =>
  changing(name, /AuditMark(Batch)?\b/, (data) => [data.setMark ?? data.setMarkBatch.results].flat().forEach(change))
const showing = (name: string, change: (state: any, asked: Asked) => void): PlannedFault =>
  changing(name, /Audit(States|Counts)\b/, (data, asked) => data.subjects.forEach((state: any) => change(state, asked)))
const listing = (name: string, change: (list: any, asked: Asked) => void): PlannedFault =>
  changing(name, /Audit(Likes|Likers)\b/, (data, asked) => {
    const list = data.thumbupUser?.likes ?? data.subjects?.[0]?.likers
    if (list) change(list, asked)
  })
const givesEveryScope = (operation: RegExp): PlannedFault =>
  asking('gives every caller every scope', operation, (asked) => ({
    ...asked,
    headers: { ...asked.headers, 'x-viewer-scopes': 'marks:write-any marks:read-any subjects:register operator' },
  }))
/** Numbers that only grow, like those of a cache without versions. */
const neverFalling = (name: string, operation: RegExp, each: (data: any, asked: Asked) => [string, any, string][]): PlannedFault => ({
  name,
  make: () => {
    const most = new Map<string, number>()
    return {
      async answer(asked, forward) {
        const answer = await forward(asked)
        if (!operation.test(asked.query) || !answer.json?.data) return answer
        for (const [key, holder, field] of each(answer.json.data, asked)) {
          const now = Math.max(most.get(key) ?? 0, holder[field] ?? 0)
          most.set(key, now)
          holder[field] = now
        }
        return told(answer.json, answer.status)
      },
    }
  },
})

const noMark = showing('shows no mark', (state) => (state.viewerMark = 'NONE'))
const oldCount = showing('shows no count of a new mark', (state) => (state.likeCount = 0))
const noDislikes = showing('counts no dislikes', (state) => (state.dislikeCount = 0))
const oneMore = showing('counts one too many', (state) => (state.likeCount += 1))
const byArrival = marking('takes the later arrival for the newer mark', () => ({ markedAt: null }))
const withoutFirst = listing('lists all but the newest', ({ edges }) => void edges.shift())
const skipping = listing('skips an entry between pages', ({ edges }, asked) => void (asked.variables.after && edges.shift()))
const repeating = listing('lists an entry again on the next page', ({ edges, pageInfo }, asked) => {
  if (!asked.variables.after || edges.length === 0) return
  edges.unshift(edges[0])
  if (pageInfo.hasNextPage) edges.splice(-2, 1)
})
const disordered = listing('lists two in the wrong order', ({ edges }) => {
  if (edges.length > 5) [edges[1], edges[4]] = [edges[4], edges[1]]
})
const cutOff = listing(
  'ends where the hot store ends',
  ({ pageInfo }, asked) => void (asked.variables.after && (pageInfo.hasNextPage = false)),
)
const receivesOneMore = changing('adds one', /AuditReceived/, ({ thumbupUser }) => void (thumbupUser.likesReceived += 1))
const fakeRegister = pretending('acknowledges registrations and loses them', /AuditRegister/, ({ variables }) => ({
  registerSubjects: {
    results: variables.subjects.map(({ id }: any) => ({ registered: true, subject: { id }, userErrors: [] })),
    userErrors: [],
  },
}))
const sumsNeverFall = neverFalling('lets no sum fall', /AuditReceived/, (data, asked) => [
  [asked.variables.user, data.thumbupUser, 'likesReceived'],
])
const countsNeverFall = neverFalling('lets no count fall', /AuditCounts\b/, (data) =>
  data.subjects.map((state: any) => [state.id, state, 'likeCount']),
)

const answersAll = pretending('answers requests it should refuse', /Audit(Likes|Likers|Received|States)\b/, () => ({
  subjects: [],
  thumbupUser: {},
}))
const answersAllCounts = pretending('answers counts it should refuse', /AuditCounts\b/, () => ({ subjects: [] }))
const oneMark = (asked: Asked): Asked =>
  askedWith(asked, {
    query: 'mutation ($input: SetMarkInput!) { setMark(input: $input) { outcome } }',
    variables: { input: { business: 'video', id: '1', mark: 'LIKE' } },
  })
/** Corrects the invalid input and stores it, although it was refused. */
const storesAll = halfDoing('stores refused marks', /AuditMark(Batch)?\b/, oneMark)

const COUNT_READS = ['counts-201-ids', 'counts-id-empty', 'counts-business-unknown']
const LIST_READS = [
  ...['likes-business-unknown', 'likes-received-business-unknown', 'likers-first-0', 'likes-first-101'],
  ...['likers-cursor-broken', 'likes-cursor-broken'],
]
const BAD_MARKS = ['mark-business-unknown', 'mark-id-empty', 'mark-id-long', 'mark-time-negative', 'mark-source-long']

/** By the id of the check that must detect the fault. */
export const MARK_FAULTS: Record<string, readonly PlannedFault[]> = {
  'mark-answers': [
    answeringMarks('says that every mark is a change', (payload) => (payload.changed = true)),
    answeringMarks('knows no mark from before', (payload) => (payload.oldMark = 'NONE')),
    answeringMarks('says that none is', (payload) => (payload.changed = false)),
  ],
  'mark-then-state': [
    fakeMark,
    fakeUndo,
    noMark,
    oldCount,
    oneMore,
    answeringMarks('answers no count', (payload) => (payload.subject.likeCount = 0)),
    answeringMarks('answers with the subject as before', (payload) => (payload.subject.viewerMark = payload.oldMark)),
  ],
  'mark-moves-both-counts': [fakeDislike, noDislikes, showing('keeps the like', (state) => (state.likeCount = 1))],
  'mark-across-processes': [inSecond(noMark), inSecond(oldCount), fakeMark],
  'mark-then-entity': [
    ...['likeCount', 'viewerMark'].map((field) =>
      changing(`knows no ${field} of the entity`, /AuditMarkedEntity/, (data) =>
        data.viewerHistory.edges.forEach(({ node }: any) => (node[field] = null)),
      ),
    ),
  ],
  'undo-of-nothing': [
    answeringMarks('says that every mark is a change', (payload) => (payload.changed = true)),
    showing('counts undone marks below zero', (state) => (state.likeCount -= 1)),
  ],
  'last-mark-wins': [byArrival, fakeMark, losingMarks('forgets undone marks', ({ mark }) => mark === 'NONE')],
  'older-mark-is-stale': [byArrival, answeringMarks('accepts everything', (payload) => (payload.outcome = 'ACCEPTED'))],
  'mark-ahead-counts-as-now': [fakeUndo, answeringMarks('calls the undo stale', (payload) => (payload.outcome = 'STALE'))],
  'equal-marked-at': [
    {
      name: 'keeps the first of a moment',
      make: () => {
        const seen = new Set<string>()
        return losingMarks('', ({ id, markedAt }) => seen.size === seen.add(`${id} ${markedAt}`).size).make()
      },
    },
  ],
  'marks-at-once': [
    losingMarks('loses the latest of many', ({ source }) => source === 'at once 19'),
    answeringMarks('says that every mark is a change', (payload) => (payload.changed = true)),
  ],
  'mark-batch-as-single': [
    changing('answers in another order', /AuditMarkBatch/, (data) => void data.setMarkBatch.results.reverse()),
    changing('tells no change in batches', /AuditMarkBatch/, (data) =>
      data.setMarkBatch.results.forEach((payload: any) => (payload.changed = false)),
    ),
    asking('takes the first of each subject', /AuditMarkBatch/, (asked) => {
      const first = new Map([...asked.variables.marks].reverse().map((input: any) => [input.id, input]))
      return askedWith(asked, { variables: { marks: asked.variables.marks.map((input: any) => first.get(input.id)) } })
    }),
  ],
  'marks-500': [
    {
      name: 'takes 499',
      make: () => ({
        answer: (asked, forward) => {
          const [last] = (asked.variables.marks ?? []).slice(-1)
          return (
            losingMarks('', (input) => input === last)
              .make()
              .answer?.(asked, forward) ?? forward(asked)
          )
        },
      }),
    },
    fakeMark,
  ],
  'states-of-50': [
    changing('answers in another order', /AuditStates/, (data) => void data.subjects.reverse()),
    changing('answers each id once', /AuditStates/, (data) => {
      data.subjects = [...new Map(data.subjects.map((state: any) => [state.id, state])).values()]
    }),
    fakeMark,
  ],
  'mark-ids-as-sent': [
    marking('reads ids as numbers', ({ id }) => ({ id: id === '007' ? '7' : id })),
    marking('takes no account of case', ({ id }) => ({ id: id.toLowerCase() })),
  ],
  'marks-of-two-businesses': [
    asking('knows one business', /Audit(Mark|States)\b/, (asked) => {
      const { input, ...others } = asked.variables
      return askedWith(asked, { variables: input ? { input: { ...input, business: 'video' } } : { ...others, business: 'video' } })
    }),
  ],
  'marks-of-others-hidden': [everybodyIsOne, showing('shows a mark of anybody', (state) => (state.viewerMark = 'LIKE'))],
  'mark-for-another-forbidden': [
    givesEveryScope(/AuditMark\b/),
    wrongCode,
    noSentence,
    marking('marks for the caller', () => ({ viewer: null })),
  ],
  'mark-for-another-with-scope': [
    givesNoScope(/AuditMark\b/),
    marking('marks for the caller', () => ({ viewer: null })),
    answeringMarks('shows the mark of another viewer', (payload) => (payload.subject.viewerMark = payload.mark)),
  ],
  'likes-at-once': [withoutFirst, fakeMark, fakeUndo, listing('lists the oldest first', ({ edges }) => void edges.reverse()), byArrival],
  'likes-paged': [skipping, repeating, disordered],
  'likers-at-once': [withoutFirst, fakeMark, fakeUndo],
  'likes-of-others-forbidden': [
    givesEveryScope(/AuditLikes\b/),
    givesNoScope(/AuditLikes\b/),
    wrongCode,
    withVariables('shows the likes of the caller to any caller', /AuditLikes\b/, () => ({ user: null })),
  ],
  ...Object.fromEntries(COUNT_READS.map((id) => [id, [wrongCode, noSentence, answersAllCounts]])),
  ...Object.fromEntries(LIST_READS.map((id) => [id, [wrongCode, noSentence, answersAll]])),
  ...Object.fromEntries(BAD_MARKS.map((id) => [id, [wrongCode, noSentence, storesAll]])),
  'cursors-of-other-lists': [withVariables('starts again for a bad cursor', /Audit(Likes|Likers)\b/, () => ({ after: null })), wrongCode],
  'marks-501': [wrongCode, noSentence, storesAll],
  'mark-of-no-kind': [wrongCode, noSentence, storesAll],
  'marks-for-nobody': [wrongCode, everybodyIsSomebody],
  'thumbup-scopes': [wrongCode, givesEveryScope(/AuditRegister/), givesEveryScope(/AuditReconcile/)],
  'register-bad-subjects': [wrongCode, fakeRegister],
  'counts-changed-201-ids': [
    {
      name: 'follows the first of too many',
      make: () => ({ open: (asked) => askedWith(asked, { variables: { ...asked.variables, ids: asked.variables.ids.slice(0, 1) } }) }),
    },
  ],
  'likers-paged': [skipping, repeating, withoutFirst, disordered],
  'long-likes-stay': [cutOff, skipping, fakeUndo],
  'counts-for-everybody': [fakeMark, countsNeverFall],
  'mark-settles': [
    answeringMarks('settles nothing', (payload) => (payload.state = 'PENDING')),
    answeringMarks('says at once that it is settled', (payload) => (payload.state = 'SETTLED')),
  ],
  'counts-add-up': [
    oneMore,
    losingMarks('counts no change of mind', ({ mark }) => mark === 'NONE'),
    showing('counts no dislikes', (state) => (state.dislikeCount = 0)),
  ],
  'likes-received': [receivesOneMore, fakeRegister, sumsNeverFall],
  'likes-received-late': [fakeRegister],
  'likes-received-move': [sumsNeverFall, receivesOneMore],
  'reconcile-no-drift': [
    changing('has counted a subject wrong', /AuditReconcile/, ({ reconcile }) => (reconcile.drift = [{ subject: { id: '1' } }])),
    changing('has added an owner wrong', /AuditReconcile/, ({ reconcile }) => (reconcile.ownerDrift = [{ owner: { id: '1' } }])),
    changing('counts nothing', /AuditReconcile/, ({ reconcile }) => (reconcile.checked = 0)),
    givesNoScope(/AuditReconcile/),
  ],
  'counts-changed-tells': [
    { name: 'passes no event on', make: () => ({ passes: () => false }) },
    {
      name: 'tells the first change only',
      make: () => {
        let told = 0
        return { passes: (event) => event?.data?.countsChanged === undefined || told++ === 0 }
      },
    },
  ],
}
