/** Notices of a process about stores that fail and recover: named by business, and repeated from time to time during the outage. */
import { expect, test } from 'vitest'
import { reporter } from '../../../cli/process/reporter.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

function said() {
  const clock = makeSteppedClock()
  const lines: [string, object, string][] = []
  const say = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message])
  const log = { error: say('error'), warn: say('warn'), info: say('info') } as never
  return { clock, lines, notices: reporter(log, undefined, clock) }
}

test('a store of a business is reported with its name, once, every ten minutes again, and no more once it is back', () => {
  const { clock, lines, notices } = said()
  const err = new Error('it refuses us: correct the password')
  const ours = notices.ofBusiness?.('article')
  ours?.storeDown('recordStore', err)
  clock.advance(599_999)
  expect(lines).toEqual([
    ['error', { business: 'article', store: 'recordStore', err }, 'a store of business "article" is down; going on without it'],
  ])
  clock.advance(600_001)
  expect(lines.slice(1)).toEqual([
    ['warn', expect.objectContaining({ business: 'article', downMs: 600_000, err }), expect.stringContaining('is still down')],
    ['warn', expect.objectContaining({ business: 'article', downMs: 1_200_000, err }), expect.stringContaining('is still down')],
  ])
  ours?.storeBack('recordStore', 1_300_000)
  clock.advance(3_600_000)
  expect(lines).toHaveLength(4)
  expect(lines[3]).toEqual([
    'info',
    { business: 'article', store: 'recordStore', downMs: 1_300_000 },
    'a store of business "article" is back',
  ])
})

test('the common stores are reported without a name, separately from those of a business', () => {
  const { clock, lines, notices } = said()
  notices.ofBusiness?.('article').storeDown('log', new Error('a'))
  notices.storeDown('log', new Error('b'))
  notices.storeBack('log', 1)
  clock.advance(600_000)
  expect(lines.map(([level, , message]) => `${level}: ${message}`)).toEqual([
    'error: a store of business "article" is down; going on without it',
    'error: a store is down; going on without it',
    'info: a store is back',
    'warn: a store of business "article" is still down; going on without it',
  ])
})
