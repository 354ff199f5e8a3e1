/** The contents of the log of a process, and their frequency. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeLog } from '../../../cli/process/log.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

function makeLines() {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) }
  const clock = makeSteppedClock()
  return { lines, clock, log: makeLog({ destination, clock }), pass: clock.advance }
}

const down = () =>
  new TidemarkError('LOG_UNAVAILABLE', 'Kafka does not answer', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })

describe('an error', () => {
  test('of ours is logged as its code, its sentence and its cause, without stacks', () => {
    const { lines, log } = makeLines()
    log.error({ err: down() }, 'failed')
    expect(lines[0]?.['err']).toEqual({
      type: 'TidemarkError',
      code: 'LOG_UNAVAILABLE',
      message: 'Kafka does not answer',
      cause: { type: 'Error', code: 'ECONNREFUSED', message: 'refused' },
    })
  })

  test('that is unexpected is logged with its stack', () => {
    const { lines, log } = makeLines()
    log.error({ err: new TypeError('reading x of undefined') }, 'failed')
    expect(JSON.stringify(lines[0])).toContain('log.test.ts')
  })

  test('of a driver is logged without the data sent to the driver', () => {
    const { lines, log } = makeLines()
    const reply = Object.assign(new Error('WRONGTYPE of a key'), { command: { name: 'zmscore', args: ['played:3001', 'candidate-0'] } })
    const query = Object.assign(new Error('no such table'), { code: 'ER_NO_SUCH_TABLE', sql: "SELECT '3001'", sqlMessage: '3001' })
    log.error({ err: new TidemarkError('INTERNAL', 'it answered', { cause: reply }) }, 'failed')
    log.error({ err: query }, 'failed')
    expect(JSON.stringify(lines)).not.toMatch(/3001|candidate/)
    expect(lines[1]?.['err']).toMatchObject({ code: 'ER_NO_SUCH_TABLE', message: 'no such table', stack: expect.anything() })
  })

  test('that is long is truncated', () => {
    const { lines, log } = makeLines()
    log.error({ err: new Error('x'.repeat(100_000)) }, 'failed')
    expect(JSON.stringify(lines).length).toBeLessThan(10_000)
  })

  test('about a viewer is logged without the id, and equals one about another viewer', () => {
    const { lines, log } = makeLines()
    const of = (viewer: string) => new TidemarkError('LEGACY_INVALID', `what stands there for viewer "${viewer}" is no set`)
    log.error({ err: new TidemarkError('INTERNAL', 'a fold failed', { cause: of('3001') }) }, 'failed')
    for (const viewer of ['3001', '3002']) log.error({ err: of(viewer) }, 'failed')
    expect(JSON.stringify(lines)).not.toMatch(/300\d/)
    expect(lines).toHaveLength(2)
  })
})

describe('a repeated message', () => {
  test('is held back for ten seconds, and one line after them counts all of it, even if nothing more happens', () => {
    const { lines, log, pass } = makeLines()
    for (let i = 0; i < 300; i++) log.error({ err: down(), region: i }, 'failed')
    expect(lines).toHaveLength(1)
    pass(9_999)
    expect(lines).toHaveLength(1)
    pass(1)
    expect(lines.map(({ region, repeated }) => [region, repeated])).toEqual([
      [0, undefined],
      [299, 299],
    ])
  })

  test('that goes on for minutes is one line in ten seconds, and none once it is over', () => {
    const { lines, clock, log, pass } = makeLines()
    for (let second = 0; second < 60; second++) {
      log.error({ err: down() }, 'failed')
      pass(1_000)
    }
    pass(60_000)
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 9, 10, 10, 10, 10, 10])
    expect(clock.pending()).toBe(0)
    log.error({ err: down() }, 'failed')
    expect(lines.at(-1)).not.toHaveProperty('repeated')
  })

  test('with other figures in its reason is the same, and with another reason is not', () => {
    const { lines, log, pass } = makeLines()
    for (const [offset, reason] of ['1 of 8 plays: its oid has 65 bytes', '3 of 9 plays: its oid has 70 bytes', 'no plays'].entries())
      log.error({ reason, offset }, 'set aside')
    for (const what of ['History knew 2 subjects', 'History knew 7 subjects']) log.warn({ what }, 'damaged')
    expect(lines.map(({ reason, what }) => reason ?? what)).toEqual([
      '1 of 8 plays: its oid has 65 bytes',
      'no plays',
      'History knew 2 subjects',
    ])
    pass(10_000)
    expect(lines.slice(3)).toMatchObject([
      { reason: '3 of 9 plays: its oid has 70 bytes', offset: 1, repeated: 1 },
      { what: 'History knew 7 subjects', repeated: 1 },
    ])
  })

  test('is counted for any number of kinds', () => {
    const { lines, log, pass } = makeLines()
    for (let i = 0; i < 2_000; i++) for (const _ of [1, 2, 3]) log.error({}, `failed at ${i}`)
    pass(10_000)
    expect(lines).toHaveLength(4_000)
    expect(lines.reduce((sum, { repeated = 1 }) => sum + Number(repeated), 0)).toBe(6_000)
  })

  test('that was held back is logged before the process ends', () => {
    const script = `import { makeLog } from './cli/process/log.ts'; const log = makeLog(); for (const at of [1, 2, 3]) log.error({ at }, 'failed')`
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: join(import.meta.dirname, '..', '..', '..'),
    })
    const lines = String(stderr)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).toMatchObject([{ at: 1 }, { at: 3, repeated: 2 }])
  })

  test('with changing words, as clients may choose them, is a bounded number of lines, and all are counted', () => {
    const { lines, log, pass } = makeLines()
    for (let at = 0; at < 5_000; at++) log.error({ err: new Error(`no such thing as ${at.toString(36)}`) }, 'internal error')
    expect(lines).toHaveLength(21)
    log.error({ err: down() }, 'failed elsewhere')
    expect(lines).toHaveLength(22)
    pass(10_000)
    const repeated = lines.reduce((sum, line) => sum + Number(line['repeated'] ?? 1), 0)
    expect(repeated).toBe(5_001)
  })

  test('about something else, or as information, is logged', () => {
    const { lines, log } = makeLines()
    log.error({ err: down() }, 'failed')
    log.error({ err: new TidemarkError('LOG_UNAVAILABLE', 'another Kafka does not answer') }, 'failed')
    log.error({ err: down() }, 'failed elsewhere')
    log.info({ store: 'log' }, 'a store is back')
    log.info({ store: 'log' }, 'a store is back')
    expect(lines).toHaveLength(5)
  })
})

test('secrets are not logged', () => {
  const { lines, log } = makeLines()
  log.warn({ auth: { secret: 's3cret' }, password: 's3cret' }, 'settings')
  expect(JSON.stringify(lines)).not.toContain('s3cret')
})
