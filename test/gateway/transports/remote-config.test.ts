import { expect, test } from 'vitest'
import { makeConfig } from '../../../core/config.ts'
import { REMOTE_DEFAULTS } from '../../../gateway/transports/remote.ts'

test('the configuration has the defaults of the transport', () => {
  const { pipelining, ...defaults } = REMOTE_DEFAULTS
  expect(pipelining).toBe(1)
  expect(makeConfig([]).remote).toEqual(defaults)
})

test('what cannot be is refused with the key', () => {
  expect(() => makeConfig([{ name: 'tidemark.yaml', values: { remote: { timeoutMs: 0, retrys: 1 } } }])).toThrow(/remote\.timeoutMs/)
})
