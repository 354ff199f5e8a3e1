import { expect, test } from 'vitest'
import { readHistoryEntry } from '../../../subgraphs/history/write/journaled-changes.ts'
import { report, write } from '../../contracts/reports.ts'

const KEY = { viewer: '7', business: 1, oid: 'a' }

test.each([
  [{ kind: 'merge' }, 'its kind is unknown to this version of history: "merge"'],
  [{ kind: 'mark', writes: [KEY] }, 'its kind is unknown to this version of history: "mark"'],
  [{ kind: 'put', writes: [KEY] }, 'this is not a write'],
  [{ kind: 'delete', keys: [] }, 'it has no keys'],
  [{ kind: 'base', keys: [KEY, { ...KEY, viewer: '8' }] }, 'one of its keys is of viewer 8'],
  [{ kind: 'clear' }, 'it names no business to clear'],
  [{ kind: 'pause', paused: 'yes' }, 'it does not say whether history is paused'],
])('a journal entry with the change %j is refused', (change, mistake) => {
  expect(readHistoryEntry({ viewer: '7', now: 1, change })).toContain(mistake)
})

test('entries of each kind are read back unchanged', () => {
  const changes = [
    { kind: 'put', writes: [write('7', 'a', report(1))] },
    { kind: 'delete', keys: [KEY] },
    { kind: 'base', keys: [KEY] },
    { kind: 'clear', business: 1 },
    { kind: 'pause', paused: true },
  ]
  for (const change of changes) expect(readHistoryEntry({ viewer: '7', now: 1, change })).toEqual({ viewer: '7', now: 1, change })
})
