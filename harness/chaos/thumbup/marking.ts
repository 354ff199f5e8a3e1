/** The writes of a lane: storms of one viewer, crowds on one subject, single marks, and owners of subjects. */
import type { UserError } from '../../../conformance/answer.ts'
import type { Mark } from '../../../core/domain.ts'
import { randomBelow } from '../../../core/random.ts'
import type { Lane } from '../lane.ts'
import type { Ledger, Sent } from './ledger.ts'
import { BUSINESS, HOT_SUBJECTS, REGISTER, pickViewer, type MarkWriterOptions } from './writer-options.ts'

const OWNERS = 5
const STORM = 20
const STORM_SUBJECTS = 3
const CROWD_MAX = 100

const MARKED = '{ outcome mark userErrors { code message path } }'
const MARK_BATCH = `mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results ${MARKED} } }`
const MARK_ONE = `mutation ($business: String!, $id: ID!, $mark: Mark!, $markedAt: Timestamp) {
  setMark(input: { business: $business, id: $id, mark: $mark, markedAt: $markedAt, source: "chaos" }) ${MARKED} }`
const REGISTRATION = `mutation ($subjects: [RegisterSubjectInput!]!) {
  registerSubjects(input: { subjects: $subjects }) { results { registered userErrors { code message path } } } }`

type Outcome = { outcome: string; mark: Mark | null; userErrors: UserError[] }
type Registered = { registered: boolean; userErrors: UserError[] }

export function makeMarking(lane: Lane, ledger: Ledger, options: MarkWriterOptions) {
  const { random, insist } = lane

  function pickSubject(): string {
    return String(1 + randomBelow(random, options.subjects))
  }

  function pickMark(): Mark {
    return (['LIKE', 'LIKE', 'NONE', 'DISLIKE'] as const)[randomBelow(random, 4)] as Mark
  }

  async function send(operation: string, viewer: string, sent: readonly Sent[], scopes?: string): Promise<void> {
    const marks = sent.map(({ entry, at }) => ({ viewer: entry.viewer, business: BUSINESS, id: entry.oid, ...entry.attempts[at] }))
    type Batch = { setMarkBatch: { results: Outcome[] } }
    const { data, degraded } = await insist<Batch>(operation, viewer, MARK_BATCH, { marks }, scopes)
    data.setMarkBatch.results.forEach((outcome, place) => judge(sent[place] as Sent, outcome, degraded))
  }

  function judge({ entry, at }: Sent, { outcome, userErrors, mark: stored }: Outcome, degraded: ReadonlySet<string>): void {
    const { mark } = entry.attempts[at] as { mark: Mark }
    const isNewest = at === entry.attempts.length - 1
    // A repeated mark, here or in the service, meets itself and the viewer's newer marks.
    if (outcome === 'ACCEPTED' || (outcome === 'STALE' && (!isNewest || stored === mark)))
      ledger.acknowledge({ entry, at }, !degraded.has('hotStore'))
    else
      options.onWrong(
        `viewer ${entry.viewer}, subject ${entry.oid}: the newest mark, ${mark}, was ${outcome} with ${stored}: ${reasonOf(userErrors)}`,
      )
  }

  /** Likes, undoes and dislikes the same few subjects again and again. */
  async function storm(): Promise<void> {
    const viewer = pickViewer(lane, options)
    const subjects = Array.from({ length: STORM_SUBJECTS }, pickSubject)
    const sent = Array.from({ length: STORM }, () =>
      ledger.attempt(viewer, subjects[randomBelow(random, STORM_SUBJECTS)] as string, pickMark()),
    )
    await send('storm', viewer, sent)
  }

  async function single(): Promise<void> {
    const viewer = pickViewer(lane, options)
    const { entry, at } = ledger.attempt(viewer, pickSubject(), pickMark())
    const { data, degraded } = await insist<{ setMark: Outcome }>('mark', viewer, MARK_ONE, {
      business: BUSINESS,
      id: entry.oid,
      ...entry.attempts[at],
    })
    judge({ entry, at }, data.setMark, degraded)
  }

  /** A service brings the marks of many viewers of one subject. */
  async function crowd(): Promise<void> {
    const oid = HOT_SUBJECTS[randomBelow(random, HOT_SUBJECTS.length)] as string
    const viewers = new Set(Array.from({ length: 1 + randomBelow(random, CROWD_MAX) }, () => pickViewer(lane, options)))
    const sent = Array.from(viewers, (viewer) => ledger.attempt(viewer, oid, pickMark()))
    await send('crowd', 'service', sent, 'marks:write-any')
  }

  /** One lane registers the owners of a subject, so that the last registration is known. */
  async function register(): Promise<void> {
    const oids = new Set(
      Array.from({ length: 5 }, () => 1 + lane.number + options.lanes * randomBelow(random, Math.ceil(options.subjects / options.lanes))),
    )
    const subjects = Array.from(oids, (oid) => ({
      business: BUSINESS,
      id: String(oid),
      owner: `owner-${randomBelow(random, OWNERS)}`,
    }))
    const { data } = await insist<{ registerSubjects: { results: Registered[] } }>(
      REGISTER,
      'service',
      REGISTRATION,
      { subjects },
      'subjects:register',
    )
    data.registerSubjects.results.forEach(({ registered, userErrors }, place) => {
      const { id, owner } = subjects[place] as { id: string; owner: string }
      if (registered) ledger.owners.set(id, owner)
      else options.onWrong(`subject ${id}: its owner was not registered: ${reasonOf(userErrors)}`)
    })
  }

  return { storm, single, crowd, register }
}

function reasonOf(userErrors: readonly UserError[]): string {
  return userErrors.map(({ code, message }) => `${code} ${message}`).join(', ')
}
