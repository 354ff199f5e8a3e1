import { expect, test } from 'vitest'
import { readMarkEntry } from '../../../subgraphs/thumbup/write/journaled-marks.ts'

const MARK = { viewer: '7', business: 1, oid: 'a', mark: 'LIKE', markedAt: 1 }

test.each([
  [{ kind: 'put', writes: [MARK] }, 'this version of thumbup does not know its kind: "put"'],
  [{ kind: 'mark', writes: [] }, 'it has no marks'],
  [{ kind: 'mark', writes: [{ ...MARK, mark: 'LOVE' }] }, 'this is not a mark'],
  [{ kind: 'mark', writes: [MARK, { ...MARK, viewer: '8' }] }, 'one of its marks is of viewer 8'],
])('a journal entry with the change %j is refused', (change, mistake) => {
  expect(readMarkEntry({ viewer: '7', now: 1, change })).toContain(mistake)
})

test('an entry of marks is read back unchanged', () => {
  const entry = { viewer: '7', now: 1, change: { kind: 'mark', writes: [MARK] } }
  expect(readMarkEntry(entry)).toEqual(entry)
})
