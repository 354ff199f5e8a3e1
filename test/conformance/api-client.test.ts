import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { callForWhole } from '../../conformance/api-client.ts'

let server: Server | undefined
afterEach(() => {
  server?.close()
  server?.closeAllConnections()
})

/** Answers one after the other, then repeats the last one. */
async function serve(answers: readonly object[]): Promise<{ url: string; calls(): number }> {
  let calls = 0
  server = createServer((_, response) => response.end(JSON.stringify(answers[Math.min(calls++, answers.length - 1)])))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`, calls: () => calls }
}

test('a degraded answer is requested again until it is complete', async () => {
  const lacking = { data: { likes: null }, extensions: { degraded: ['recordStore'] } }
  const { url, calls } = await serve([lacking, lacking, { data: { likes: 3 } }])
  expect(await callForWhole(url, '{ likes }', {}, {})).toEqual({ likes: 3 })
  expect(calls()).toBe(3)
})

test('an error is reported at once', async () => {
  const { url, calls } = await serve([{ errors: [{ message: 'no', extensions: { code: 'FORBIDDEN' } }] }])
  await expect(callForWhole(url, '{ likes }', {}, {})).rejects.toThrow('answered: no (FORBIDDEN)')
  expect(calls()).toBe(1)
})
