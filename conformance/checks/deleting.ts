/** Deleted and cleared entries stay gone, late reports included. A paused history stores nothing. */
import { setTimeout as wait } from 'node:timers/promises'
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'
import type { AuditViewer } from '../viewer.ts'

const MINUTE = 60_000
/** The clock of the deployment must advance before a view is newer than a deletion. */
const NEXT_MOMENT_MS = 50

/** Views of a minute ago. "3" is the newest. */
async function watch(audit: Audit, viewer: AuditViewer, ids = ['1', '2', '3']): Promise<void> {
  const begin = audit.now() - MINUTE
  await viewer.reportBatch(ids.map((id, index) => ({ id, position: REAL_POSITION + index, viewedAt: begin + index * 1_000 })))
}

async function expectGone(viewer: AuditViewer, id: string): Promise<void> {
  expectEqual(`the point lookup of ${id}`, await viewer.lookUp(id), null)
  expectThat(!(await viewer.oids()).includes(id), `a history without ${id}`, `${id} in it`)
}

/** Reports a view from before the deletion or clearing, and expects that it is dropped. */
async function expectLateDropped(audit: Audit, viewer: AuditViewer, id: string): Promise<void> {
  for (const agoMs of [MINUTE / 2, 5 * MINUTE]) {
    const late = await viewer.report({ id, position: REAL_POSITION + 7, viewedAt: audit.now() - agoMs })
    expectFields('the answer to a late report', late, { outcome: 'STALE', progress: null })
  }
  await expectGone(viewer, id)
}

export const deleting: readonly Check[] = [
  {
    id: 'delete-at-once',
    sentence: 'Deleted entries are gone from every read at once, and nothing else is.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      expectEqual('deletedIds', await viewer.deleteHistory(['3', 'never', '1']), ['3', '1'])
      await expectGone(viewer, '1')
      await expectGone(viewer, '3')
      expectEqual('the history', await viewer.oids(), ['2'])
    },
  },
  {
    id: 'delete-late-report',
    sentence: 'A report with a viewedAt before the deletion does not bring a subject back.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.deleteHistory(['2'])
      await expectLateDropped(audit, viewer, '2')
    },
  },
  {
    id: 'delete-then-view',
    sentence: 'A view after the deletion brings a subject back, with the data of that view.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.deleteHistory(['2'])
      await wait(NEXT_MOMENT_MS)
      const answer = await viewer.report({ id: '2', position: REAL_POSITION / 2 })
      expectEqual('the outcome of the view', answer.outcome, 'ACCEPTED')
      expectFields('the stored progress', await viewer.lookUp('2'), { position: REAL_POSITION / 2 })
      expectEqual('the history', await viewer.oids(), ['2', '3', '1'])
    },
  },
  {
    id: 'delete-twice',
    sentence: 'A repeated deletion is no error and reports no deleted ids.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.deleteHistory(['2'])
      expectEqual('deletedIds of the second deletion', await viewer.deleteHistory(['2']), [])
      expectEqual('deletedIds of no ids', await viewer.deleteHistory([]), [])
      expectEqual('the history', await viewer.oids(), ['3', '1'])
    },
  },
  {
    id: 'delete-across-processes',
    sentence: 'A deletion or clearing through one process takes effect in another at once.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const elsewhere = viewer.at(audit.second())
      await watch(audit, viewer)
      await viewer.deleteHistory(['2'])
      await expectGone(elsewhere, '2')
      await elsewhere.clearHistory()
      expectEqual('the history in the first process', await viewer.oids(), [])
    },
  },
  {
    id: 'clear-at-once',
    sentence: 'Clearing empties the business at once.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      const clearedAt = await viewer.clearHistory()
      expectThat(clearedAt > audit.now() - MINUTE / 2, 'clearedAt to be now', `${clearedAt - audit.now()} ms from now`)
      expectEqual('the history', await viewer.oids(), [])
      expectEqual('the point lookup', await viewer.lookUpMany(['1', '2', '3']), [null, null, null])
    },
  },
  {
    id: 'clear-one-business',
    sentence: 'Clearing a business does not change the others.',
    async check(audit) {
      const other = audit.otherBusiness()
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.report({ business: other, id: 'other', position: REAL_POSITION, viewedAt: audit.now() - MINUTE })
      await viewer.clearHistory()
      expectEqual('the history', await viewer.oids(), ['other'])
    },
  },
  {
    id: 'clear-late-report',
    sentence: 'A report with a viewedAt before the clearing is dropped, for a cleared subject and for a new one.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.clearHistory()
      await expectLateDropped(audit, viewer, '2')
      await expectLateDropped(audit, viewer, 'new')
    },
  },
  {
    id: 'clear-then-view',
    sentence: 'A view after the clearing is the only one in the history.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.clearHistory()
      await wait(NEXT_MOMENT_MS)
      await viewer.report({ id: '2', position: REAL_POSITION / 2 })
      expectFields('the stored progress', await viewer.lookUp('2'), { position: REAL_POSITION / 2 })
      expectEqual('the history', await viewer.oids(), ['2'])
    },
  },
  {
    id: 'pause-drops',
    sentence: 'While history is paused, reports are PAUSED and store nothing. Existing entries stay.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      expectEqual('paused of the answer', await viewer.pause(), true)
      expectEqual('paused of the settings', await viewer.isPaused(), true)
      const answers = [
        await viewer.report({ id: '2', position: 1 }),
        ...(await viewer.reportBatch([{ id: 'new', position: REAL_POSITION }])),
      ]
      for (const answer of answers) expectFields('the answer to a report', answer, { outcome: 'PAUSED', progress: null, firstOfDay: false })
      expectEqual('the history', await viewer.oids(), ['3', '2', '1'])
      expectFields('the stored progress', await viewer.lookUp('2'), { position: REAL_POSITION + 1 })
    },
  },
  {
    id: 'pause-lets-delete',
    sentence: 'Deleting and clearing work while history is paused.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer)
      await viewer.pause()
      expectEqual('deletedIds', await viewer.deleteHistory(['2']), ['2'])
      expectEqual('the history', await viewer.oids(), ['3', '1'])
      await viewer.clearHistory()
      expectEqual('the history after clearing', await viewer.oids(), [])
    },
  },
  {
    id: 'pause-across-processes',
    sentence: 'A pause through one process takes effect in another at once.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const elsewhere = viewer.at(audit.second())
      await viewer.pause()
      expectEqual('the outcome in the second process', (await elsewhere.report({ id: '1', position: REAL_POSITION })).outcome, 'PAUSED')
      expectEqual('paused in the second process', await elsewhere.isPaused(), true)
    },
  },
  {
    id: 'resume-counts-again',
    sentence: 'After a resume, reports count again. Reports dropped during the pause do not come back.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await watch(audit, viewer, ['1'])
      await viewer.pause()
      await viewer.report({ id: 'dropped', position: REAL_POSITION })
      expectEqual('paused of the answer', await viewer.resume(), false)
      expectEqual('paused of the settings', await viewer.isPaused(), false)
      expectEqual('the outcome of a report', (await viewer.report({ id: '2', position: REAL_POSITION })).outcome, 'ACCEPTED')
      expectEqual('the history', await viewer.oids(), ['2', '1'])
    },
  },
]
