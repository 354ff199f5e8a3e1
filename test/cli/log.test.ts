/** What stands in the log of a process, and how often. */
import { describe, expect, test } from 'vitest'
import { makeLog } from '../../cli/log.ts'
import { TidemarkError } from '../../core/errors.ts'

function makeLines() {
  const lines: Record<string, unknown>[] = []
  let at = 1_000_000
  const destination = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) }
  const log = makeLog({ destination, now: () => at })
  return { lines, log, pass: (ms: number) => (at += ms) }
}

const down = () =>
  new TidemarkError('LOG_UNAVAILABLE', 'Kafka does not answer', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })

describe('an error', () => {
  test('of ours is its code, its sentence and its cause, without stacks', () => {
    const { lines, log } = makeLines()
    log.error({ err: down() }, 'failed')
    expect(lines[0]?.['err']).toEqual({
      type: 'TidemarkError',
      code: 'LOG_UNAVAILABLE',
      message: 'Kafka does not answer',
      cause: { type: 'Error', code: 'ECONNREFUSED', message: 'refused' },
    })
  })

  test('that nobody expected comes with its stack', () => {
    const { lines, log } = makeLines()
    log.error({ err: new TypeError('reading x of undefined') }, 'failed')
    expect(JSON.stringify(lines[0])).toContain('log.test.ts')
  })

  test('of a driver is written without what the driver was sent', () => {
    const { lines, log } = makeLines()
    const reply = Object.assign(new Error('WRONGTYPE of a key'), { command: { name: 'zmscore', args: ['played:3001', 'candidate-0'] } })
    const query = Object.assign(new Error('no such table'), { code: 'ER_NO_SUCH_TABLE', sql: "SELECT '3001'", sqlMessage: '3001' })
    log.error({ err: new TidemarkError('INTERNAL', 'it answered', { cause: reply }) }, 'failed')
    log.error({ err: query }, 'failed')
    expect(JSON.stringify(lines)).not.toMatch(/3001|candidate/)
    expect(lines[1]?.['err']).toMatchObject({ code: 'ER_NO_SUCH_TABLE', message: 'no such table', stack: expect.anything() })
  })

  test('that is long is cut', () => {
    const { lines, log } = makeLines()
    log.error({ err: new Error('x'.repeat(100_000)) }, 'failed')
    expect(JSON.stringify(lines).length).toBeLessThan(10_000)
  })

  test('about a viewer is written without him, and is the same of another one', () => {
    const { lines, log } = makeLines()
    const of = (viewer: string) => new TidemarkError('LEGACY_INVALID', `what stands there for viewer "${viewer}" is no set`)
    log.error({ err: new TidemarkError('INTERNAL', 'a fold failed', { cause: of('3001') }) }, 'failed')
    for (const viewer of ['3001', '3002']) log.error({ err: of(viewer) }, 'failed')
    expect(JSON.stringify(lines)).not.toMatch(/300\d/)
    expect(lines).toHaveLength(2)
  })
})

describe('what is said again', () => {
  test('within ten seconds is counted, and the next line has the count', () => {
    const { lines, log, pass } = makeLines()
    for (let i = 0; i < 300; i++) log.error({ err: down() }, 'failed')
    expect(lines).toHaveLength(1)
    pass(10_000)
    log.error({ err: down() }, 'failed')
    log.error({ err: down() }, 'failed')
    expect(lines).toHaveLength(2)
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 299])
  })

  test('about something else, or as news, is said', () => {
    const { lines, log } = makeLines()
    log.error({ err: down() }, 'failed')
    log.error({ err: new TidemarkError('LOG_UNAVAILABLE', 'another Kafka does not answer') }, 'failed')
    log.error({ err: down() }, 'failed elsewhere')
    log.info({ store: 'log' }, 'a store is back')
    log.info({ store: 'log' }, 'a store is back')
    expect(lines).toHaveLength(5)
  })
})

test('secrets are not written', () => {
  const { lines, log } = makeLines()
  log.warn({ auth: { secret: 's3cret' }, password: 's3cret' }, 'settings')
  expect(JSON.stringify(lines)).not.toContain('s3cret')
})
