import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { makeBreaker } from '../../core/outage/breaker.ts'
import { systemClock } from '../../core/clock.ts'
import { beBusy } from '../support/busy.ts'

/** Sends back what it gets, also while this thread is busy. */
const ECHO = `
  const server = require('node:net').createServer((socket) => socket.pipe(socket))
  server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port))`

test('an answer that came while the process was busy is read before its time limit ends', async () => {
  const server = new Worker(ECHO, { eval: true })
  const [port] = (await once(server, 'message')) as [number]
  const socket = createConnection(port, '127.0.0.1')
  await once(socket, 'connect')
  const breaker = makeBreaker(
    systemClock,
    'recordStore',
    () => Promise.resolve(),
    { checkEveryMs: 1_000, patienceMs: 50 },
    () => {},
  )
  for (let round = 0; round < 5; round++) {
    const answer = breaker.run(async () => {
      socket.write('anything')
      await once(socket, 'data')
    })
    await setImmediate()
    beBusy(200)
    await answer
  }
  expect(breaker.opened()).toBe(0)
  breaker.stop()
  socket.destroy()
  await server.terminate()
})

test('a timer that is cancelled while sockets are read does not run', async () => {
  let hasRun = false
  const timer = systemClock.after(1, () => {
    hasRun = true
  })
  // The timer has ended, and its task waits for the next turn.
  setTimeout(() => timer.cancel(), 1)
  beBusy(20)
  for (let turn = 0; turn < 5; turn++) await setImmediate()
  expect(hasRun).toBe(false)
})
