import { describe, expect, it } from 'vitest'
import { makeWriteWindow, type WriteWindow } from '../../../stores/mysql/write-window.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'

/** Feeds a database whose statements take `latencyOf(rows, others in flight)` from an endless queue, for this time. */
async function feed(
  clock: SteppedClock,
  window: WriteWindow,
  forMs: number,
  latencyOf: (rows: number, inFlight: number) => number,
): Promise<number> {
  let rowsDone = 0
  let open = true
  const started: Promise<void>[] = []
  const next = async (): Promise<void> => {
    const turn = await window.enter(100_000)
    if (open) started.push(next())
    clock.after(latencyOf(turn.rows, window.figures().inFlight), () => {
      rowsDone += turn.rows
      turn.end('done')
    })
  }
  started.push(next())
  for (let ms = 0; ms < forMs || window.figures().inFlight > 0; ms += 1) {
    open = ms < forMs
    clock.advance(1)
    for (let i = 0; i < 8; i++) await Promise.resolve()
  }
  await Promise.all(started)
  return rowsDone
}

describe('write window', () => {
  it('a fast database gets all statements and rows within the limits', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    expect(window.figures()).toMatchObject({ statementLimit: 1, rowLimit: 512 })
    await feed(clock, window, 1_000, () => 10)
    expect(window.figures()).toMatchObject({ statementLimit: 4, rowLimit: 512, slow: 0 })
    expect(window.figures().latencyMs).toBeCloseTo(10)
  })

  it('a limit that was not reached does not grow', async () => {
    const window = makeWriteWindow(makeSteppedClock())
    for (let statement = 0; statement < 100; statement++) (await window.enter(10)).end('done')
    expect(window.figures()).toMatchObject({ statementLimit: 2, rowLimit: 512 })
  })

  it('a contended database gets fewer statements with all their rows', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock, { statementsMax: 8 })
    await feed(clock, window, 60_000, (_rows, inFlight) => 180 * inFlight)
    expect(window.figures().statementLimit).toBeLessThanOrEqual(3)
    expect(window.figures().rowLimit).toBe(512)
  })

  it('a database that spends its time on rows gets fewer of them', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    await feed(clock, window, 60_000, (rows, inFlight) => rows * 5 * inFlight)
    expect(window.figures().statementLimit).toBeLessThanOrEqual(2)
    expect(window.figures().rowLimit).toBeLessThan(150)
    expect(window.figures().latencyMs).toBeLessThan(600)
  })

  it('a database that spends its time on rows, and not on other statements, gets more statements with fewer rows', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    await feed(clock, window, 60_000, (rows) => rows * 5)
    expect(window.figures().statementLimit).toBe(4)
    expect(window.figures().rowLimit).toBeLessThan(150)
    expect(window.figures().latencyMs).toBeLessThan(600)
  })

  it('after one slow statement, a database that needs more than half of the allowed time gets all statements again', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    const slow = await window.enter(512)
    clock.advance(600)
    slow.end('done')
    expect(window.figures()).toMatchObject({ statementLimit: 1, rowLimit: 256 })
    await feed(clock, window, 30_000, (rows) => rows * 0.6)
    expect(window.figures().statementLimit).toBe(4)
    expect(window.figures().rowLimit).toBeGreaterThan(400)
  })

  it('a database with slow commits keeps its rows, because fewer would not help', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    const rowsDone = await feed(clock, window, 120_000, (rows) => 800 + rows / 100)
    expect(window.figures()).toMatchObject({ statementLimit: 1, rowLimit: 512 })
    expect(rowsDone).toBeGreaterThan(0.9 * (120_000 / 805) * 512)
  })

  it('limits grow back when the database recovers', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    await feed(clock, window, 60_000, (rows) => rows * 20)
    expect(window.figures()).toMatchObject({ statementLimit: 1, rowLimit: 32 })
    await feed(clock, window, 5_000, () => 10)
    expect(window.figures()).toMatchObject({ statementLimit: 4, rowLimit: 512 })
  })

  it('statements that were in flight when the limit was cut do not cut it again', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    await feed(clock, window, 1_000, () => 10)
    const turns = await Promise.all([1, 2, 3, 4].map(() => window.enter(10)))
    clock.advance(600)
    turns[0]?.end('done')
    turns[1]?.end('done')
    clock.advance(1)
    turns[2]?.end('done')
    turns[3]?.end('done')
    expect(window.figures()).toMatchObject({ statementLimit: 2, slow: 4 })
  })

  it('a timeout cuts the limit, and a lost connection does not', async () => {
    const clock = makeSteppedClock()
    const window = makeWriteWindow(clock)
    const lost = await window.enter(512)
    lost.end('failed')
    expect(window.figures()).toMatchObject({ rowLimit: 512, slow: 0, statements: 1 })
    const timedOut = await window.enter(512)
    timedOut.end('overloaded')
    expect(window.figures()).toMatchObject({ rowLimit: 256, slow: 1 })
  })

  it('a turn is never larger than requested, and never empty', async () => {
    const window = makeWriteWindow(makeSteppedClock(), { rowsMax: 1 })
    const turn = await window.enter(3)
    expect(turn.rows).toBe(1)
    turn.end('done')
    expect((await makeWriteWindow(makeSteppedClock()).enter(3)).rows).toBe(3)
  })

  it('turns are granted in the order of the requests', async () => {
    const window = makeWriteWindow(makeSteppedClock(), { statementsMax: 1 })
    const order: number[] = []
    const turns = [1, 2, 3].map(async (name) => {
      const turn = await window.enter(1)
      order.push(name)
      turn.end('done')
    })
    await Promise.all(turns)
    expect(order).toEqual([1, 2, 3])
  })
})
