/** A business that is disabled takes no writes. Its data can be read and deleted, and it takes writes again when it is enabled. */
import { expect, test } from 'vitest'
import { makeBusinesses, requireEnabled } from '../../config/businesses.ts'
import { makeConfig, type Config } from '../../config/config.ts'
import { checkReports } from '../../subgraphs/history/inputs.ts'
import { makeThumbupBusinesses } from '../../subgraphs/thumbup/businesses.ts'
import { checkMarks, checkSubject } from '../../subgraphs/thumbup/inputs.ts'

const configOf = (enabled: boolean): Config =>
  makeConfig([{ name: 'test', values: { businesses: [{ number: 1, name: 'video', entity: 'Video', enabled }] } }])
const viewer = { id: '7', scopes: [] }

let current = configOf(false)
const businesses = makeBusinesses(() => current.businesses)
const marked = makeThumbupBusinesses(() => current.businesses)
const codesOf = (answers: readonly object[]) => answers.map((each) => ('errors' in each || 'outcome' in each ? JSON.stringify(each) : 'ok'))

test('reports and likes are refused, and an undone mark is taken', () => {
  current = configOf(false)
  const [report] = codesOf(checkReports([{ business: 'video', id: '1', position: 60_000 }], viewer, businesses, 1))
  expect(report).toContain('BUSINESS_DISABLED')
  expect(report).toContain('business \\"video\\" takes no writes (enabled: false): read it, or delete from it')
  const marks = (['LIKE', 'DISLIKE', 'NONE'] as const).map((mark) => ({ business: 'video', id: '1', mark }))
  const [like, dislike, undo] = codesOf(checkMarks(marks, viewer, marked, 1))
  expect([like, dislike]).toEqual([expect.stringContaining('BUSINESS_DISABLED'), expect.stringContaining('BUSINESS_DISABLED')])
  expect(undo).toBe('ok')
  expect(() => checkSubject({ business: 'video', id: '1', owner: '2' }, undefined, marked)).toThrow(/takes no writes/)
})

test('the next write after a change of the version is taken', () => {
  current = configOf(true)
  expect(codesOf(checkReports([{ business: 'video', id: '1', position: 60_000 }], viewer, businesses, 1))).toEqual(['ok'])
  expect(requireEnabled(businesses.byName('video')).number).toBe(1)
})
