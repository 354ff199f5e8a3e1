/** The likers of a subject and the likes of a viewer: newest first, page by page, with the viewer's own marks at once. */
import { SCOPE_MARKS_READ_ANY, SCOPE_MARKS_WRITE_ANY } from '../../core/viewer.ts'
import { codesOf } from '../answer.ts'
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { walkList } from '../lists.ts'
import { thumbup, type MarkPage } from '../marks.ts'
import { expectEqual } from '../outcome.ts'
import { LIKES } from '../operations.ts'

const HOUR = 3_600_000
/** More of a viewer's likes than the hot store keeps by default. */
const LONG = 1_200
/** More likers than the cache holds for a subject. */
const MANY = 130
const PAGE = 100

const oidsOf = ({ entries }: MarkPage): string[] => entries.map(({ id }) => id)
const ids = (audit: Audit, count: number): string[] => Array.from({ length: count }, () => audit.newOid())

export const markLists: readonly Check[] = [
  {
    id: 'likes-at-once',
    sentence: 'A viewer finds a new like in their likes at once, newest first. An undone like is gone.',
    async check(audit) {
      const { mark, likes } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const [a, b, c] = ids(audit, 3) as [string, string, string]
      const newest = Math.round(audit.now() - HOUR)
      expectEqual('the likes at first', oidsOf(await likes(viewer)), [])
      await mark(viewer, a, 'LIKE', { markedAt: newest - 2 })
      expectEqual('the likes after the first', oidsOf(await likes(viewer)), [a])
      await mark(viewer, b, 'LIKE', { markedAt: newest })
      await mark(viewer, c, 'LIKE', { markedAt: newest - 1 })
      const { entries } = await likes(viewer)
      expectEqual(
        'the likes after three',
        entries.map(({ id, markedAt }) => [id, markedAt]),
        [
          [b, newest],
          [c, newest - 1],
          [a, newest - 2],
        ],
      )
      await mark(viewer, c, 'NONE')
      await mark(viewer, a, 'LIKE', { markedAt: newest + 1 })
      expectEqual('the likes after an undo and a repeated like', oidsOf(await likes(viewer)), [a, b])
    },
  },
  {
    id: 'likes-paged',
    sentence: 'Pages of likes neither skip nor repeat while likes are added.',
    async check(audit) {
      const { mark, markAll, likes } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const all = ids(audit, 30)
      const newest = Math.round(audit.now() - HOUR)
      // Three at a time have the same markedAt.
      await markAll(
        viewer,
        all.map((id, at) => ({ id, mark: 'LIKE', markedAt: newest - Math.floor(at / 3) })),
      )
      const walked = await walkList(
        (variables) => likes(viewer, variables),
        7,
        async () => void (await mark(viewer, audit.newOid(), 'LIKE')),
      )
      expectEqual('the number of entries on all pages', walked.length, all.length)
      expectEqual('the subjects on all pages', walked.toSorted(), all.toSorted())
      const groups = walked.map((id) => Math.floor(all.indexOf(id) / 3))
      expectEqual(
        'the order by markedAt',
        groups,
        groups.toSorted((a, b) => a - b),
      )
    },
  },
  {
    id: 'likers-at-once',
    sentence: 'A viewer appears among the likers at once after a like, and disappears at once after an undo.',
    async check(audit) {
      const { mark, likers } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const id = audit.newOid()
      for (const each of ['LIKE', 'NONE', 'LIKE']) {
        await mark(viewer, id, each)
        expectEqual(`the likers after ${each}`, oidsOf(await likers(viewer, id)), each === 'LIKE' ? [viewer.id] : [])
      }
    },
  },
  {
    id: 'likes-of-others-forbidden',
    sentence: `A read of another viewer's likes without the scope ${SCOPE_MARKS_READ_ANY} gets FORBIDDEN.`,
    async check(audit) {
      const { mark, likes } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const [other, reader] = [await audit.ownViewer(), await audit.ownViewer([SCOPE_MARKS_READ_ANY])]
      const id = audit.newOid()
      await mark(viewer, id, 'LIKE')
      const answer = await other.ask(LIKES, { business: audit.business, user: viewer.id })
      expectEqual('the codes of the errors', codesOf(answer), ['FORBIDDEN'])
      expectEqual("another viewer's likes", oidsOf(await likes(other)), [])
      expectEqual(`the likes read with ${SCOPE_MARKS_READ_ANY}`, oidsOf(await likes(reader, {}, viewer.id)), [id])
    },
  },
]

/** These wait until all viewers see the marks. */
export const markListsStay: readonly Check[] = [
  {
    id: 'likers-paged',
    sentence: 'All viewers read the likers of a subject, newest first. Pages neither skip nor repeat while likes are added.',
    async check(audit) {
      const { markAll, counts, likers } = await thumbup(audit)
      const writer = await audit.ownViewer([SCOPE_MARKS_WRITE_ANY])
      const reader = await audit.ownViewer()
      const id = audit.newOid()
      const newest = Math.round(audit.now() - HOUR)
      const viewers = Array.from({ length: MANY }, (_, at) => `${writer.id}-liker-${at}`)
      const likeAs = (viewer: string, markedAt: number) => markAll(writer, [{ viewer, id, mark: 'LIKE', markedAt }])
      // The oldest come first.
      const marks = viewers.map((viewer, at) => ({ viewer, id, mark: 'LIKE', markedAt: newest - at })).reverse()
      await markAll(writer, marks)
      await audit.settled('the counts for all viewers', () => counts(reader, [id]), [[MANY, 0]])
      const walked = await walkList(
        (variables) => likers(reader, id, variables),
        40,
        (page) => likeAs(`${writer.id}-later-${page}`, newest + page),
      )
      expectEqual('the likers on all pages', walked, viewers)
    },
  },
  {
    id: 'long-likes-stay',
    sentence: `All of ${LONG.toLocaleString('en')} likes of a viewer are listed, those in the record store without a gap.`,
    async check(audit) {
      const { mark, markAll, counts, likes } = await thumbup(audit)
      const viewer = await audit.ownViewer()
      const other = await audit.ownViewer()
      const all = ids(audit, LONG)
      const newest = Math.round(audit.now() - HOUR)
      await markAll(
        viewer,
        all.map((id, at) => ({ id, mark: 'LIKE', markedAt: newest - at })),
      )
      const sample = all.filter((_, at) => at % 8 === 7)
      const expected = sample.map(() => [1, 0])
      await audit.settled('the counts of some of them for all viewers', () => counts(other, sample), expected)
      // One like that only the record store has by now, and one in the hot store.
      const undone = [all[LONG - 10], all[5]] as string[]
      for (const id of undone) await mark(viewer, id, 'NONE')
      const walked = await walkList(
        (variables) => likes(viewer, variables),
        PAGE,
        async (page) => void (page === 1 && (await mark(viewer, audit.newOid(), 'LIKE'))),
      )
      expectEqual(
        'the likes on all pages',
        walked,
        all.filter((id) => !undone.includes(id)),
      )
    },
  },
]
