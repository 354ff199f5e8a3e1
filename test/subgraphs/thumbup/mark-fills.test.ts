import { describe, expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import { makeFills } from '../../../loaders/mark-fills.ts'

const CAP = 3

/** Fills whose record store answers each viewer when the test releases it. */
function makeHeldFills() {
  const waiting = new Map<string, { answer(): void; refuse(): void }>()
  const filled: string[] = []
  const fills = makeFills(
    {
      beginReads: () => Promise.resolve([{ unknown: true, asOf: 0 }]),
      fillMarks: (viewer) => {
        filled.push(viewer)
        return Promise.resolve()
      },
    },
    {
      listMarks: (viewer) =>
        new Promise((resolve, reject) => {
          waiting.set(viewer, { answer: () => resolve([]), refuse: () => reject(new Error('refused')) })
        }),
    },
    () => CAP,
    () => undefined,
  )
  return { fills, filled, waiting }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('stopping waits for a fill that outlives its caller', async () => {
  const { fills, filled, waiting } = makeHeldFills()
  const asked = Promise.all(['1', '2'].map((viewer) => fills.bring({ viewer, business: 1 })))
  await nextTurn()
  waiting.get('1')?.refuse()
  await expect(asked).rejects.toThrow('refused')
  let isSettled = false
  const settled = fills.settled().then(() => (isSettled = true))
  await nextTurn()
  expect(isSettled).toBe(false)
  waiting.get('2')?.answer()
  await settled
  expect(filled).toEqual(['2'])
  await fills.settled()
})

describe('send', () => {
  const of = { viewer: '1', business: 1 }

  /** Fills that wait until the test resolves `rows`, and then the end of each fill. */
  function makeSlowFills() {
    const asked: string[] = []
    const errors: unknown[] = []
    const rows = Promise.withResolvers<never[]>()
    const ends: PromiseWithResolvers<void>[] = []
    const fills = makeFills(
      {
        beginReads: () => Promise.resolve([{ unknown: true, asOf: 1 }]),
        fillMarks: (_viewer, _business, _rows, { asOf }) => {
          asked.push(`fill as of ${asOf}`)
          const end = Promise.withResolvers<void>()
          ends.push(end)
          return end.promise
        },
      },
      { listMarks: () => rows.promise },
      () => CAP,
      (error) => errors.push(error),
    )
    return { fills, asked, errors, rows, ends }
  }

  /** True if the task resolves within this turn of the event loop. */
  async function isOver(task: Promise<unknown>): Promise<boolean> {
    let over = false
    void task.then(() => (over = true))
    await nextTurn()
    return over
  }

  test('`bring` and `settled` wait for the end of a sent fill, and no second fill begins', async () => {
    const { fills, asked, rows, ends } = makeSlowFills()
    rows.resolve([])
    await fills.send(of, 7)
    const waiting = [fills.bring(of), fills.settled()]
    expect(await Promise.all(waiting.map(isOver))).toEqual([false, false])
    ends[0]?.resolve()
    await Promise.all(waiting)
    expect(asked).toEqual(['fill as of 7'])
    expect(fills.count()).toBe(1)
  })

  test('joins a fill whose rows are still being read, and resolves when they are sent', async () => {
    const { fills, asked, rows, ends } = makeSlowFills()
    const brought = fills.bring(of)
    const sent = fills.send(of, 7)
    expect(await isOver(sent)).toBe(false)
    rows.resolve([])
    await sent
    expect(asked).toEqual(['fill as of 1'])
    ends[0]?.resolve()
    await brought
  })

  test('reports a failed fill but no outage, does not reject, and begins a new fill at the next call', async () => {
    const { fills, asked, errors, rows, ends } = makeSlowFills()
    rows.resolve([])
    await fills.send(of, 7)
    const refusal = new Error('unexpected')
    ends[0]?.reject(refusal)
    await fills.settled()
    expect(errors).toEqual([refusal])
    expect(fills.count()).toBe(0)
    await fills.send(of, 8)
    ends[1]?.reject(new TidemarkError('HOT_STORE_UNAVAILABLE', 'the breaker reports this'))
    await fills.settled()
    expect(errors).toEqual([refusal])
    expect(asked).toEqual(['fill as of 7', 'fill as of 8'])
  })
})
