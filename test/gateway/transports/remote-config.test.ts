import { expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { REMOTE_DEFAULTS } from '../../../gateway/transports/remote-transport.ts'

test('the configuration has the defaults of the transport', () => {
  const { pipelining, ...defaults } = REMOTE_DEFAULTS
  expect(pipelining).toBe(1)
  const { errorCodes, ...remote } = makeConfig([]).remote
  expect(remote).toEqual(defaults)
  expect(errorCodes).toEqual(expect.arrayContaining(['FORBIDDEN', 'BAD_USER_INPUT']))
  expect(errorCodes).not.toContain('INTERNAL')
})

test('an invalid value is refused with its key', () => {
  expect(() => makeConfig([{ name: 'tidemark.yaml', values: { remote: { timeoutMs: 0, retrys: 1 } } }])).toThrow(/remote\.timeoutMs/)
})
