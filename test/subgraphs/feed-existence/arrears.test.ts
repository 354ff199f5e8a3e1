/** Plays that are in the log and not in the hot store: waiting plays in memory, and the backlog of the log. */
import { describe, expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import type { Play } from '../../../core/domain.ts'
import { PartOutage } from '../../../core/outage/part-outage.ts'
import { makeBacklog } from '../../../subgraphs/feed-existence/write/backlog.ts'
import { makeWaitingPlays } from '../../../subgraphs/feed-existence/write/waiting-plays.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { until } from '../../../harness/until.ts'
import { HOUR, openSeen, seenConfig, serveSeen, settle, viewerOf, type Opened } from './opened.ts'

const playOf = (viewer: string, oid: string, playedAt = 1): Play => ({ viewer, business: 1, oid, playedAt })

/** A hot store whose answers can be held after the store has given them. */
function holdReads(opened: Opened) {
  const answered = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const reads = { isHeld: false, whenAnswered: answered.promise, letGo: held.resolve }
  const hot = {
    ...opened.stores.hot,
    async getSeenMany(of: Parameters<typeof opened.stores.hot.getSeenMany>[0]) {
      const answer = await opened.stores.hot.getSeenMany(of)
      if (reads.isHeld) {
        answered.resolve()
        await held.promise
      }
      return answer
    },
  }
  return { reads, stores: { ...opened.stores, hot } }
}

test('a play that is staged during a read is still hidden from its viewer', async () => {
  const opened = openSeen()
  const { reads, stores } = holdReads(opened)
  const served = serveSeen(opened, seenConfig(), stores)
  opened.set('hot', true)
  expect(await served.play('7', ['new'])).toMatchObject({ visible: false })
  opened.before('hot.stagePlays', () => reads.whenAnswered)
  opened.set('hot', false)
  opened.clock.advance(1_000)
  await until('the hot store is back', () => !served.subgraph.figures().outages.hotStore.isDown)
  reads.isHeld = true
  const reading = served.ask('{ unseen(business: "video", candidates: ["new"]) { ids } }', viewerOf('7'))
  await until('it is staged', () => {
    opened.clock.advance(1_000)
    return served.subgraph.figures().staging.waiting === 0
  })
  reads.letGo()
  expect((await reading).data).toEqual({ unseen: { ids: [] } })
  await served.stop()
  await opened.close()
})

test('a play of another process that is staged during a read may be missing, and the answer is degraded', async () => {
  const opened = openSeen()
  const { reads, stores } = holdReads(opened)
  await opened.plain.log.appendPlays([{ viewer: '7', business: 1, oid: 'acknowledged', playedAt: opened.clock.now() }])
  const served = serveSeen(opened, seenConfig(), stores)
  await served.subgraph.start()
  const ask = () => served.ask('{ unseen(business: "video", candidates: ["acknowledged"]) { ids } }', viewerOf('7'))
  reads.isHeld = true
  const reading = ask()
  await reads.whenAnswered
  reads.isHeld = false
  const job = await served.subgraph.startJob()
  await until('nothing is missing any more', async () => {
    opened.clock.advance(100)
    return (await ask()).degraded.length === 0
  })
  expect((await ask()).data).toEqual({ unseen: { ids: [] } })
  reads.letGo()
  expect(await reading).toMatchObject({ data: { unseen: { ids: ['acknowledged'] } }, degraded: ['hotStore'] })
  const stopped = job.stop()
  opened.clock.advance(HOUR)
  await stopped
  await served.stop()
  await opened.close()
})

describe('waiting plays', () => {
  function open(mayStage: (viewer: string) => boolean = () => true) {
    const clock = makeSteppedClock()
    const [staged, errors]: [Play[], unknown[]] = [[], []]
    const wrong: { error?: Error; held?: Promise<void> } = {}
    const stage = async (plays: readonly Play[]) => {
      await wrong.held
      if (wrong.error !== undefined) throw wrong.error
      staged.push(...plays)
    }
    return {
      clock,
      staged,
      errors,
      wrong,
      waiting: makeWaitingPlays(clock, stage, { retryMs: 1_000, mayStage }, (error) => errors.push(error)),
    }
  }

  test('are known by viewer and business, with the latest time, until they are staged', async () => {
    const { clock, staged, wrong, errors, waiting } = open()
    waiting.note([playOf('7', 'a', 5), playOf('7', 'b'), playOf('8', 'a')])
    waiting.note([playOf('7', 'a', 3)])
    expect([waiting.of('7', 1), waiting.of('7', 2), waiting.of('9', 1)]).toEqual([
      new Map([
        ['a', 5],
        ['b', 1],
      ]),
      new Map(),
      new Map(),
    ])
    wrong.error = new Error('not now')
    clock.advance(1_000)
    await settle()
    expect([waiting.figures().waiting, errors.length]).toEqual([3, 1])
    delete wrong.error
    clock.advance(1_000)
    await settle()
    expect([waiting.figures().waiting, staged.length, waiting.of('7', 1).size, clock.pending()]).toEqual([0, 3, 0, 0])
  })

  test('that are reported again later during staging stay', async () => {
    const { staged, wrong, waiting } = open()
    let letGo = (): void => {}
    wrong.held = new Promise((resolve) => (letGo = resolve))
    waiting.note([playOf('7', 'a', 5)])
    waiting.wake()
    waiting.note([playOf('7', 'a', 6)])
    letGo()
    await until('the first is staged', () => staged.length === 1)
    await settle()
    expect(waiting.of('7', 1)).toEqual(new Map([['a', 6]]))
    await waiting.stop()
  })

  test('of viewers in an unavailable part stay, and do not block other viewers', async () => {
    const { clock, staged, wrong, waiting } = open((viewer) => viewer !== '1')
    waiting.note(['1', '2', '3'].map((viewer) => playOf(viewer, 'a')))
    wrong.error = new PartOutage(new TidemarkError('HOT_STORE_UNAVAILABLE', 'a part is down'), (viewer) => viewer === '2')
    clock.advance(1_000)
    await settle()
    expect([staged, waiting.figures().waiting]).toEqual([[], 3])
    delete wrong.error
    clock.advance(1_000)
    await settle()
    expect(staged.map(({ viewer }) => viewer)).toEqual(['2', '3'])
    expect(waiting.of('1', 1).size).toBe(1)
    await waiting.stop()
  })

  test('are limited in number, and a full list drops new plays instead of known ones', () => {
    const { waiting } = open()
    waiting.note(Array.from({ length: 50_000 }, (_, at) => playOf(String(at % 100), String(at))))
    waiting.note([playOf('7', 'one too many'), playOf('7', '7', 9)])
    expect(waiting.figures().waiting).toBe(50_000)
    expect([waiting.of('7', 1).get('7'), waiting.of('7', 1).has('one too many')]).toEqual([9, false])
    return waiting.stop()
  })
})

describe('the backlog', () => {
  function open() {
    const clock = makeSteppedClock()
    const log = { end: 10, staged: 0, isDown: false }
    const ask = async <T>(answer: T): Promise<T> => {
      if (log.isDown) throw new TidemarkError('LOG_UNAVAILABLE', 'the log is down')
      return answer
    }
    const port = { end: () => ask([log.end]), isStaged: ([end = 0]: readonly number[]) => ask(log.staged >= end) }
    const errors: unknown[] = []
    const backlog = makeBacklog(clock, port, { checkEveryMs: 1_000 }, (error) => errors.push(error))
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1_000)
        await settle()
      }
    }
    return { clock, log, backlog, pass, errors }
  }

  test('lasts until the log is staged up to its end two seconds after an outage, and no longer', async () => {
    const { clock, log, backlog, pass } = open()
    backlog.begin(undefined)
    await pass(1)
    // Another process noticed the outage later.
    log.end = 20
    await pass(2)
    log.staged = 19
    await pass(2)
    expect(backlog.mayLack(3)).toBe(true)
    // Later plays are not part of the backlog.
    Object.assign(log, { end: 100, staged: 20 })
    await pass(2)
    expect([backlog.mayLack(3), clock.pending()]).toEqual([false, 0])
  })

  test('of a part covers only that part, and begins again with the next outage', async () => {
    const { log, backlog, pass } = open()
    backlog.begin(1)
    expect([backlog.mayLack(1), backlog.mayLack(2), backlog.mayLack(undefined)]).toEqual([true, false, false])
    await pass(3)
    Object.assign(log, { end: 30, staged: 10 })
    backlog.begin(1)
    await pass(5)
    expect(backlog.mayLack(1)).toBe(true)
    log.staged = 30
    await pass(2)
    expect(backlog.mayLack(1)).toBe(false)
    await backlog.stop()
  })

  test('lasts while the log is down', async () => {
    const { log, backlog, pass, errors } = open()
    backlog.begin(undefined)
    Object.assign(log, { isDown: true, staged: 10 })
    await pass(10)
    expect([backlog.mayLack(1), errors.length > 0]).toEqual([true, true])
    log.isDown = false
    await pass(2)
    expect(backlog.mayLack(1)).toBe(false)
  })

  test('is empty for a starting process once the log confirms it, and the start waits for that', async () => {
    const [empty, left] = [open(), open()]
    empty.log.staged = 10
    for (const { backlog } of [empty, left]) {
      const started = backlog.start()
      expect(backlog.mayLack(1)).toBe(true)
      await started
    }
    expect([empty.backlog.mayLack(1), empty.clock.pending(), left.backlog.mayLack(1)]).toEqual([false, 0, true])
    left.log.staged = 10
    await left.pass(2)
    expect([left.backlog.mayLack(1), left.clock.pending()]).toEqual([false, 0])
  })

  test('of a process started while the log is down lasts until the log answers', async () => {
    const { log, backlog, pass, errors } = open()
    Object.assign(log, { isDown: true, staged: 10 })
    await backlog.start()
    expect([backlog.mayLack(1), errors.length]).toEqual([true, 1])
    await pass(10)
    expect(backlog.mayLack(1)).toBe(true)
    log.isDown = false
    await pass(2)
    expect(backlog.mayLack(1)).toBe(false)
  })

  test('does not block the start of a process while the log does not answer', async () => {
    const clock = makeSteppedClock()
    const silence = Promise.withResolvers<never>()
    const log = { end: () => silence.promise, isStaged: () => silence.promise }
    const backlog = makeBacklog(clock, log, { checkEveryMs: 1_000 }, () => {})
    const started = backlog.start()
    clock.advance(5_000)
    await started
    expect(backlog.mayLack(1)).toBe(true)
    silence.reject(new Error('gone'))
    await backlog.stop()
    expect(clock.pending()).toBe(0)
  })
})
