import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { again } from '../../../stores/kafka/asking.ts'
import { isWithoutCoordinator } from '../../../stores/kafka/errors.ts'

/** The errors that kafkajs makes of the answers of a broker. */
const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error
}
const LOADING = 14
const NOT_AVAILABLE = 15
const NOT_COORDINATOR = 16
const GROUP_FORBIDDEN = 30

function broker(codes: number[]) {
  let asked = 0
  return {
    asked: () => asked,
    answer: async () => {
      const code = codes[asked]
      asked += 1
      if (code !== undefined) throw createErrorFromCode(code)
      return 'offsets'
    },
  }
}

describe('a request to a group without a coordinator', () => {
  it('is repeated until it is answered', async () => {
    const { answer, asked } = broker([LOADING, NOT_AVAILABLE, NOT_COORDINATOR])
    expect(await again(isWithoutCoordinator, answer)).toBe('offsets')
    expect(asked()).toBe(4)
  })

  it('is given up after its time, with the last error', async () => {
    const { answer } = broker(Array.from({ length: 1_000 }, () => LOADING))
    await expect(again(isWithoutCoordinator, answer, 250)).rejects.toMatchObject({ type: 'GROUP_LOAD_IN_PROGRESS' })
  })

  it('is not repeated after a final refusal', async () => {
    const { answer, asked } = broker([GROUP_FORBIDDEN])
    await expect(again(isWithoutCoordinator, answer)).rejects.toMatchObject({ type: 'GROUP_AUTHORIZATION_FAILED' })
    expect(asked()).toBe(1)
  })
})
