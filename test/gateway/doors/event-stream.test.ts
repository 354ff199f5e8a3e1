import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeEventStreams, type Results } from '../../../gateway/doors/event-stream.ts'
import { makeHeldBytes } from '../../../gateway/limits/held-bytes.ts'
import { UNLIMITED, makeOpenLimits, type OpenConnection } from '../../../gateway/limits/open-limits.ts'
import { makeFormatError } from '../../../gateway/request/error-format.ts'

const log = { error() {}, warn() {}, info() {}, debug() {} }

async function* someResults() {
  yield { data: {} }
}

test('a client that leaves while its subscription is being opened leaves no timer for the expiry of its token', async () => {
  const viewer = { id: '1', scopes: [], expiresAt: Date.now() + 400 }
  const streams = makeEventStreams({ log, formatError: makeFormatError('production', log), heldBytes: makeHeldBytes(log) }, 60_000)
  const limits = makeOpenLimits(UNLIMITED, systemClock, log)
  const opened = Promise.withResolvers<Results>()
  const begun = Promise.withResolvers<{ response: ServerResponse; ended: Promise<void> }>()
  const server = createServer((_, response) => {
    const connection = limits.connect(undefined, { viewer }) as OpenConnection
    begun.resolve({ response, ended: streams.write(response, viewer, { connection, release() {} }, () => opened.promise) })
  }).listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const request = get({ port: (server.address() as AddressInfo).port }).on('error', () => {})
  const { response, ended } = await begun.promise
  request.destroy()
  await once(response, 'close')

  const write = vi.spyOn(response, 'write')
  const results = someResults()
  opened.resolve(results)
  await ended
  expect((await results.next()).done).toBe(true)
  await sleep(viewer.expiresAt + 200 - Date.now())
  expect(write).not.toHaveBeenCalled()
})
