import { describe, expect, test } from 'vitest'
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

describe('a fill that was sent', () => {
  const of = { viewer: '1', business: 1 }

  function makeSlowFills() {
    const asked: string[] = []
    const end: { filled(): void; failed(error: Error): void }[] = []
    const fills = makeFills(
      {
        beginReads: () => Promise.reject(new Error('the moment is known')),
        fillMarks: (_viewer, _business, _rows, { asOf }) => {
          asked.push(`fill of ${asOf}`)
          return new Promise((resolve, reject) => end.push({ filled: resolve, failed: reject }))
        },
      },
      { listMarks: () => Promise.resolve([]) },
      () => CAP,
    )
    return { fills, asked, end }
  }

  test('is joined by a caller that waits for its end', async () => {
    const { fills, asked, end } = makeSlowFills()
    await fills.send(of, 7)
    let isThere = false
    const brought = fills.bring(of).then(() => (isThere = true))
    await nextTurn()
    expect(isThere).toBe(false)
    end[0]?.filled()
    await brought
    expect(asked).toEqual(['fill of 7'])
    expect(fills.count()).toBe(1)
  })

  test('does not fail its caller if the hot store does not take it, and the next one begins anew', async () => {
    const { fills, asked, end } = makeSlowFills()
    await fills.send(of, 7)
    end[0]?.failed(new Error('no answer'))
    await fills.settled()
    expect(fills.count()).toBe(0)
    await fills.send(of, 8)
    end[1]?.filled()
    await fills.settled()
    expect(asked).toEqual(['fill of 7', 'fill of 8'])
  })
})
