/** Reads: pages without gaps or repeats, point lookups in order, and equal answers from both. */
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'
import { progressOf, type Connection } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const HOUR = 3_600_000
/** The most ids in a lookup. */
const IDS_MAX = 200

/** Reports `count` subjects, "0" the newest. Resolves to their ids, newest first. */
async function fill(audit: Audit, viewer: AuditViewer, count: number, apartMs = 1_000): Promise<string[]> {
  const newest = audit.now() - HOUR
  const ids = Array.from({ length: count }, (_, index) => String(index))
  await viewer.reportBatch(ids.map((id, index) => ({ id, position: REAL_POSITION + index, viewedAt: newest - index * apartMs })))
  return ids
}

function oidsOf(pages: readonly Connection[]): string[] {
  return pages.flatMap((page) => page.edges.map((edge) => edge.node.id))
}

export const pages: readonly Check[] = [
  {
    id: 'history-of-nobody-new',
    sentence: 'A viewer who watched nothing has an empty history, and pageInfo says so.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null }
      expectEqual('the history', await viewer.history(), { edges: [], pageInfo })
      expectEqual('the point lookup', await viewer.lookUp('1'), null)
    },
  },
  {
    id: 'pages-without-seam',
    sentence: 'Pages of any size follow each other without skipping or repeating.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = await fill(audit, viewer, 60)
      for (const first of [1, 7, 20, 60, 100]) expectEqual(`all pages of ${first}`, oidsOf(await viewer.walk(first)), ids)
    },
  },
  {
    id: 'pages-of-one-moment',
    sentence: 'Entries with equal viewedAt are all listed, each once, with any page size.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = await fill(audit, viewer, 30, 0)
      for (const first of [4, 30]) {
        const seen = oidsOf(await viewer.walk(first))
        expectEqual(`the number of entries on pages of ${first}`, seen.length, ids.length)
        expectEqual(`the number of subjects on pages of ${first}`, new Set(seen).size, ids.length)
      }
    },
  },
  {
    id: 'pages-while-writing',
    sentence: 'During writes, pages repeat no subject and skip no subject that keeps its place.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = await fill(audit, viewer, 100)
      // After each page, three subjects are watched: one before the cursor, one after it, and a new one.
      const moved = new Set<string>()
      let round = 0
      const seen = oidsOf(
        await viewer.walk(9, async () => {
          round++
          const again = [String(round), String(99 - round)]
          for (const id of again) moved.add(id)
          const viewedAt = audit.now() - HOUR / 2 + round
          await viewer.reportBatch([...again, `new ${round}`].map((id) => ({ id, position: REAL_POSITION + 500, viewedAt })))
        }),
      )
      expectEqual('the number of repeated subjects', seen.length - new Set(seen).size, 0)
      expectEqual(
        'the subjects that stayed',
        seen.filter((id) => !moved.has(id)),
        ids.filter((id) => !moved.has(id)),
      )
    },
  },
  {
    id: 'pages-while-deleting',
    sentence: 'A cursor stays valid after its own entry is deleted. Remaining entries are neither skipped nor repeated.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = await fill(audit, viewer, 40)
      const deleted = new Set<string>()
      const walked = await viewer.walk(8, async (page) => {
        const last = page.edges[page.edges.length - 1]?.node.id ?? ''
        const victims = [last, String(Number(last) + 3)]
        for (const id of victims) deleted.add(id)
        await viewer.deleteHistory(victims)
      })
      const stayed = (id: string) => !deleted.has(id)
      expectEqual('the subjects that stayed', oidsOf(walked).filter(stayed), ids.filter(stayed))
      expectEqual('the number of repeated subjects', oidsOf(walked).length - new Set(oidsOf(walked)).size, 0)
    },
  },
  {
    id: 'page-info',
    sentence: 'pageInfo describes its page, and every cursor continues after its entry.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = await fill(audit, viewer, 10)
      const [first, last] = (await viewer.walk(6)) as [Connection, Connection | undefined]
      const cursors = first.edges.map((edge) => edge.cursor)
      const expected = { hasNextPage: true, hasPreviousPage: false, startCursor: cursors[0], endCursor: cursors[5] }
      expectEqual('pageInfo of the first of two pages', first.pageInfo, expected)
      expectFields('pageInfo of the last of two pages', last?.pageInfo, { hasNextPage: false, hasPreviousPage: true })
      for (const [index, after] of cursors.entries()) {
        expectEqual(`the entries after cursor ${index}`, oidsOf([await viewer.history({ after })]), ids.slice(index + 1))
      }
    },
  },
  {
    id: 'first-1-to-100',
    sentence: 'first may be 1 to 100. Without it a page has 20 entries.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await fill(audit, viewer, 120)
      const sizes = []
      for (const variables of [{ first: 1 }, { first: 100 }, {}]) sizes.push((await viewer.history(variables)).edges.length)
      expectEqual('the sizes of pages with first: 1, first: 100 and no first', sizes, [1, 100, 20])
    },
  },
  {
    id: 'businesses-narrow',
    sentence: 'businesses limits the history to the named ones. An empty list gives an empty history.',
    async check(audit) {
      const other = audit.otherBusiness()
      const viewer = await audit.ownViewer()
      await fill(audit, viewer, 5)
      await viewer.report({ business: other, id: 'other', position: REAL_POSITION })
      const list = async (businesses: string[]) => (await viewer.history({ businesses })).edges.map((edge) => edge.node.id)
      expectEqual(`the history of ${audit.business}`, await list([audit.business]), ['0', '1', '2', '3', '4'])
      expectEqual(`the history of ${other}`, await list([other]), ['other'])
      expectEqual('the history of both', await list([audit.business, other]), ['other', '0', '1', '2', '3', '4'])
      expectEqual('the history of none', await list([]), [])
    },
  },
  {
    id: 'lookup-in-order',
    sentence: 'A point lookup of up to 200 ids answers in their order, with null for a subject without progress.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await fill(audit, viewer, 100)
      const ids = Array.from({ length: IDS_MAX }, (_, index) => (index % 2 === 0 ? String((index * 7) % 100) : `never ${index}`))
      const seen = (await viewer.lookUpMany(ids)).map((progress) => progress?.id ?? null)
      expectEqual(
        'the ids of the answers',
        seen,
        ids.map((id) => (id.startsWith('never') ? null : id)),
      )
      const repeated = (await viewer.lookUpMany(['3', '3', 'never', '3'])).map((progress) => progress?.id ?? null)
      expectEqual('the answers to a repeated id', repeated, ['3', '3', null, '3'])
      expectEqual('the answer to no ids', await viewer.lookUpMany([]), [])
    },
  },
  {
    id: 'reads-agree',
    sentence: 'A page and the point lookup agree about a subject.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const ids = await fill(audit, viewer, 25)
      const { edges } = await viewer.history({ first: 100 })
      const listed = edges.map((edge) => progressOf(edge.node))
      expectEqual('the point lookup', await viewer.lookUpMany(ids), listed)
      expectEqual(
        'viewedAt of the entries',
        edges.map((edge) => edge.viewedAt),
        listed.map((progress) => progress?.viewedAt),
      )
      expectEqual(
        'the ids of the subjects',
        edges.map((edge) => edge.node.id),
        ids,
      )
      expectThat(
        edges.every((edge) => edge.node.__typename === audit.entity),
        `subjects of type ${audit.entity}`,
        edges[0]?.node,
      )
    },
  },
]
