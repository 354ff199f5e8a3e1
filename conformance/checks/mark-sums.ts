/**
 * Marks as all viewers see them, some windows after they were set: counts, the likes an owner received, and events. The API
 * does not say how long a window is, so these checks repeat their reads for up to the time limit of the write-back.
 */
import { SCOPE_MARKS_WRITE_ANY, SCOPE_OPERATOR, SCOPE_SUBJECTS_REGISTER } from '../../core/viewer.ts'
import { openEvents, type Events } from '../changes.ts'
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { thumbup, type Thumbup } from '../marks.ts'
import { CheckFailed, expectEqual, expectFields, expectThat } from '../outcome.ts'
import { COUNTS_CHANGED, RECONCILE } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const VIEWERS = 24
const HELLO_EVERY_MS = 500
/** Settled counts stay the same over this many more reads. */
const AGAIN = 5

type CountsChange = { subjects: { business: string; id: string; likeCount: number; dislikeCount: number }[] }
type Reconciliation = { checked: number; unchecked: string[]; drift: unknown[]; ownerDrift: unknown[] }

/** Sets the mark for `count` viewers. */
function likeAs({ markAll }: Thumbup, writer: AuditViewer, id: string, count: number, mark = 'LIKE'): Promise<void> {
  const viewers = Array.from({ length: count }, (_, at) => `${writer.id}-fan-${at}`)
  return markAll(
    writer,
    viewers.map((viewer) => ({ viewer, id, mark })),
  )
}

/** All viewers come to see these counts, and continue to see them. */
async function expectCounts(audit: Audit, { counts }: Thumbup, viewer: AuditViewer, id: string, expected: number[]): Promise<void> {
  await audit.settled('the counts for all viewers', () => counts(viewer, [id]), [expected])
  for (let time = 0; time < AGAIN; time++) expectEqual('the counts once more', await counts(viewer, [id]), [expected])
}

/** No event says that a subscription is open, so one subject gets likes until its event arrives. */
async function whileFollowing(
  audit: Audit,
  { mark }: Thumbup,
  of: readonly string[],
  follow: (events: Events<CountsChange>) => Promise<void>,
) {
  const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
  const hello = audit.newOid()
  const variables = { business: audit.business, ids: [hello, ...of] }
  const listener = await audit.ownViewer()
  const events = await openEvents<CountsChange>(audit.url, listener.headers, COUNTS_CHANGED, variables, 'countsChanged')
  try {
    const until = performance.now() + audit.waitMs
    for (let said = 1; ; said++) {
      await mark(writer, hello, 'LIKE', { viewer: `${writer.id}-hello-${said}` })
      if ((await events.next(HELLO_EVERY_MS)) !== undefined) break
      if (performance.now() > until) throw new CheckFailed(`an event within ${audit.waitMs / 1_000} s after likes`, 'none')
    }
    await follow(events)
  } finally {
    events.end()
  }
}

export const markSums: readonly Check[] = [
  {
    id: 'counts-for-everybody',
    sentence: 'All viewers see the counts with a mark or an undo within some windows, and continue to see them.',
    async check(audit) {
      const calls = await thumbup(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const id = audit.newOid()
      await audit.settled('the counts at first', () => calls.counts(other, [id]), [[0, 0]])
      for (const [mark, likes] of [
        ['LIKE', 1],
        ['NONE', 0],
        ['LIKE', 1],
      ] as const) {
        await calls.mark(viewer, id, mark)
        await expectCounts(audit, calls, other, id, [likes, 0])
        expectEqual('the counts for an anonymous caller', await calls.counts(audit.nobody, [id]), [[likes, 0]])
        await audit.settled('the counts for the viewer of the mark', () => calls.counts(viewer, [id]), [[likes, 0]])
      }
    },
  },
  {
    id: 'mark-settles',
    sentence: 'A mark is PENDING until all viewers see it, and SETTLED from then on.',
    async check(audit) {
      const { mark } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      expectFields('the answer', await mark(viewer, id, 'LIKE'), { outcome: 'ACCEPTED', state: 'PENDING' })
      const again = async () => {
        const { changed, state, subject } = await mark(viewer, id, 'LIKE')
        return { changed, state, likeCount: subject?.likeCount }
      }
      await audit.settled('the answer to the same mark', again, { changed: false, state: 'SETTLED', likeCount: 1 })
    },
  },
  {
    id: 'counts-add-up',
    sentence: 'Counts stay exact while many viewers like, dislike, undo and repeat at once.',
    async check(audit) {
      const calls = await thumbup(audit)
      const viewers = await Promise.all(Array.from({ length: VIEWERS }, () => audit.ownViewer()))
      const reader = await audit.ownViewer()
      const id = audit.newOid()
      const last = ['LIKE', 'DISLIKE', 'NONE']
      await Promise.all(
        viewers.map(async (viewer, at) => {
          for (const mark of ['LIKE', 'NONE', 'LIKE', last[at % 3] as string, last[at % 3] as string]) await calls.mark(viewer, id, mark)
        }),
      )
      await expectCounts(audit, calls, reader, id, [VIEWERS / 3, VIEWERS / 3])
    },
  },
  {
    id: 'likes-received',
    sentence: 'likesReceived of an owner is the sum of the likes of their subjects, without undone likes.',
    async check(audit) {
      const calls = await thumbup(audit)
      const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
      const registrar = await audit.ownViewer([SCOPE_SUBJECTS_REGISTER])
      const owner = audit.newOid()
      const [a, b, c] = [audit.newOid(), audit.newOid(), audit.newOid()]
      const received = () => calls.received(writer, owner)
      expectEqual('likesReceived at first', await received(), 0)
      await calls.register(registrar, [a, b, c], owner)
      await likeAs(calls, writer, a, 4)
      await likeAs(calls, writer, b, 3)
      await audit.settled('likesReceived', received, 7)
      await likeAs(calls, writer, a, 2, 'NONE')
      await likeAs(calls, writer, b, 3)
      await audit.settled('likesReceived after two undos and repeated likes', received, 5)
    },
  },
  {
    id: 'likes-received-late',
    sentence: 'Likes that a subject received before its registration count for its owner.',
    async check(audit) {
      const calls = await thumbup(audit)
      const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
      const registrar = await audit.ownViewer([SCOPE_SUBJECTS_REGISTER])
      const owner = audit.newOid()
      const id = audit.newOid()
      await likeAs(calls, writer, id, 3)
      await audit.settled('the counts for all viewers', () => calls.counts(registrar, [id]), [[3, 0]])
      await calls.register(registrar, [id], owner)
      await audit.settled('likesReceived', () => calls.received(writer, owner), 3)
    },
  },
  {
    id: 'likes-received-move',
    sentence: 'The likes of a subject move with it to a new owner, and no subject counts for two owners.',
    async check(audit) {
      const calls = await thumbup(audit)
      const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
      const registrar = await audit.ownViewer([SCOPE_SUBJECTS_REGISTER])
      const owners = [audit.newOid(), audit.newOid()] as [string, string]
      const [stays, moves] = [audit.newOid(), audit.newOid()]
      const received = async () => [await calls.received(writer, owners[0]), await calls.received(writer, owners[1])]
      await calls.register(registrar, [stays, moves], owners[0])
      await likeAs(calls, writer, stays, 2)
      await likeAs(calls, writer, moves, 3)
      await audit.settled('likesReceived of both owners at first', received, [5, 0])
      await calls.register(registrar, [moves], owners[1])
      await audit.settled('likesReceived of both owners after the move', received, [2, 3])
      await likeAs(calls, writer, moves, 1, 'NONE')
      await audit.settled('likesReceived of both owners after an undo', received, [2, 2])
    },
  },
  {
    id: 'reconcile-no-drift',
    sentence: 'A reconciliation by an operator finds no drift in counts of subjects or of owners.',
    async check(audit) {
      const calls = await thumbup(audit)
      const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
      const registrar = await audit.ownViewer([SCOPE_SUBJECTS_REGISTER])
      const operator = await audit.ownViewer([SCOPE_OPERATOR])
      const ids = [audit.newOid(), audit.newOid(), audit.newOid()]
      await calls.register(registrar, ids.slice(1), audit.newOid())
      for (const [at, id] of ids.entries()) await likeAs(calls, writer, id, at + 1)
      await audit.settled('the counts for all viewers', () => calls.counts(operator, ids), [
        [1, 0],
        [2, 0],
        [3, 0],
      ])
      // Subjects that could not be counted are requested again.
      let found: Reconciliation | undefined
      const unchecked = async () => {
        found = (await operator.data<{ reconcile: Reconciliation }>(RECONCILE, { business: calls.business, ids })).reconcile
        return found.unchecked
      }
      await audit.settled('the unchecked subjects', unchecked, [])
      expectFields('the reconciliation', found, { checked: 3, drift: [], ownerDrift: [] })
    },
  },
  {
    id: 'counts-changed-tells',
    sentence:
      'A subscriber to counts receives the final counts. While a subject gets likes its count does not fall, and no event has other subjects.',
    async check(audit) {
      const calls = await thumbup(audit)
      const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
      const [a, b, other] = [audit.newOid(), audit.newOid(), audit.newOid()]
      await audit.settled('the counts at first', () => calls.counts(writer, [a, b]), [
        [0, 0],
        [0, 0],
      ])
      await whileFollowing(audit, calls, [a, b], async (events) => {
        await likeAs(calls, writer, other, 2)
        await likeAs(calls, writer, a, 3)
        await likeAs(calls, writer, b, 1)
        const heard = new Map<string, number>()
        const until = performance.now() + audit.waitMs
        while (heard.get(a) !== 3 || heard.get(b) !== 1) {
          const event = await events.next(Math.max(0, until - performance.now()))
          const seen = `likes of the two: ${heard.get(a) ?? 'nothing'} and ${heard.get(b) ?? 'nothing'}`
          if (event === undefined) throw new CheckFailed(`events with 3 likes and with 1 within ${audit.waitMs / 1_000} s`, seen)
          for (const { business, id, likeCount } of event.subjects) {
            expectEqual('the business of a subject', business, calls.business)
            expectThat(id !== other, 'no event of a subject that is not followed', id)
            expectThat(likeCount >= (heard.get(id) ?? 0), 'counts that do not fall', [heard.get(id) ?? 0, likeCount])
            heard.set(id, likeCount)
          }
        }
      })
    },
  },
]
