import { expect, test } from 'vitest'
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
