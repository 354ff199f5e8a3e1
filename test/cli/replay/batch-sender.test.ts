import { expect, test } from 'vitest'
import { describeSending, sendInBatches, type Outcome } from '../../../cli/replay/batch-sender.ts'

const OPTIONS = { batch: 2, concurrency: 2 }
const latency = { p50: 1, p95: 1, p99: 1, max: 1 }

async function* inputs(count: number): AsyncGenerator<number> {
  for (let input = 0; input < count; input++) yield input
}

test('rejected inputs do not count as throughput', () => {
  const report = { sent: 10, seconds: 2, outcomes: { ACCEPTED: 3, STALE: 1, REJECTED: 6 }, firstRejected: 'ID_INVALID: …', latency }
  expect(describeSending('marks', report)).toContain('throughput      2 marks/s acknowledged and durable')
})

test.each(['BUSINESS_UNKNOWN', 'BUSINESS_DELETED'])('%s ends it: no sender starts another batch', async (code) => {
  let calls = 0
  const refuse = async (batch: number[]): Promise<Outcome[]> => {
    calls++
    return batch.map(() => ({ outcome: 'REJECTED', userErrors: [{ code, message: 'no such business', path: ['input'] }] }))
  }
  await expect(sendInBatches(inputs(1_000), OPTIONS, () => undefined, refuse)).rejects.toMatchObject({ code, message: 'no such business' })
  // All batches under way have been sent by then.
  await new Promise((resolve) => setImmediate(resolve))
  expect(calls).toBeLessThanOrEqual(OPTIONS.concurrency)
})

test('another rejection does not end it', async () => {
  const reject = async (batch: number[]): Promise<Outcome[]> =>
    batch.map(() => ({ outcome: 'REJECTED', userErrors: [{ code: 'ID_INVALID', message: 'empty', path: ['input'] }] }))
  const report = await sendInBatches(inputs(7), OPTIONS, () => undefined, reject)
  expect(report).toMatchObject({ sent: 7, outcomes: { REJECTED: 7 }, firstRejected: 'ID_INVALID: empty' })
})
