/** The writes of a lane: storms of one viewer, crowds on one subject, single marks, and owners of subjects. */
import type { Mark } from '../../../core/domain.ts'
import { randomBelow } from '../../../core/random.ts'
import type { Lane } from '../lane.ts'
import type { Ledger, Sent } from './ledger.ts'
import { BUSINESS, HOT_SUBJECTS, REGISTER, pickViewer, type MarkWriterOptions } from './writer-options.ts'

const OWNERS = 5
const STORM = 20
const STORM_SUBJECTS = 3
const CROWD_MAX = 100

const MARK_BATCH = 'mutation ($inputs: [MarkInput!]!) { markBatch(inputs: $inputs) { outcome code message newMark } }'
const MARK_ONE = `mutation ($business: String!, $id: ID!, $mark: Mark!, $markedAt: Timestamp) {
  mark(business: $business, id: $id, mark: $mark, markedAt: $markedAt, source: "chaos") { outcome code message newMark } }`
const REGISTRATION = 'mutation ($inputs: [SubjectInput!]!) { registerSubjects(inputs: $inputs) { registered code message } }'

type Outcome = { outcome: string; code: string | null; message: string | null; newMark: Mark | null }

export function makeMarking(lane: Lane, ledger: Ledger, options: MarkWriterOptions) {
  const { random, insist } = lane

  function pickSubject(): string {
    return String(1 + randomBelow(random, options.subjects))
  }

  function pickMark(): Mark {
    return (['LIKE', 'LIKE', 'NONE', 'DISLIKE'] as const)[randomBelow(random, 4)] as Mark
  }

  async function send(operation: string, viewer: string, sent: readonly Sent[], scopes?: string): Promise<void> {
    const inputs = sent.map(({ entry, at }) => ({ viewer: entry.viewer, business: BUSINESS, id: entry.oid, ...entry.attempts[at] }))
    const { data, degraded } = await insist<{ markBatch: Outcome[] }>(operation, viewer, MARK_BATCH, { inputs }, scopes)
    data.markBatch.forEach((outcome, place) => judge(sent[place] as Sent, outcome, degraded))
  }

  function judge({ entry, at }: Sent, { outcome, code, message, newMark }: Outcome, degraded: ReadonlySet<string>): void {
    const { mark } = entry.attempts[at] as { mark: Mark }
    const isNewest = at === entry.attempts.length - 1
    // A repeated mark, here or in the service, meets itself and the viewer's newer marks.
    if (outcome === 'ACCEPTED' || (outcome === 'STALE' && (!isNewest || newMark === mark)))
      ledger.acknowledge({ entry, at }, !degraded.has('hotStore'))
    else
      options.onWrong(
        `viewer ${entry.viewer}, subject ${entry.oid}: the newest mark, ${mark}, was ${outcome} with ${newMark}: ${code ?? ''} ${message ?? ''}`,
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
    const { data, degraded } = await insist<{ mark: Outcome }>('mark', viewer, MARK_ONE, {
      business: BUSINESS,
      id: entry.oid,
      ...entry.attempts[at],
    })
    judge({ entry, at }, data.mark, degraded)
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
    const inputs = Array.from(oids, (oid) => ({
      business: BUSINESS,
      id: String(oid),
      owner: `owner-${randomBelow(random, OWNERS)}`,
    }))
    const { data } = await insist<{ registerSubjects: { registered: boolean; code: string | null }[] }>(
      REGISTER,
      'service',
      REGISTRATION,
      { inputs },
      'subjects:register',
    )
    data.registerSubjects.forEach(({ registered, code }, place) => {
      const { id, owner } = inputs[place] as { id: string; owner: string }
      if (registered) ledger.owners.set(id, owner)
      else options.onWrong(`subject ${id}: its owner was not registered: ${code}`)
    })
  }

  return { storm, single, crowd, register }
}
