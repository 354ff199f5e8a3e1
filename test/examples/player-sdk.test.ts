/** The player SDK against servers that are slow, limit the rate, or hide their clock. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { makeReporter, type Reporter, type ReporterOptions, type Storage } from '../../examples/player-sdk/player.ts'
import { memoryStorage } from './memory-storage.ts'

type Request = { query: string; variables: { reports?: { id: string }[] } }
type Answer = { data: object } | { errors: object[] }

const open: { server: Server; reporter: Reporter }[] = []
afterEach(() => {
  for (const { server, reporter } of open.splice(0)) {
    reporter.close()
    server.close()
    server.closeAllConnections()
  }
})

const ACCEPTED = { outcome: 'ACCEPTED', dayToken: null, progress: null, userErrors: [] }
const accept = ({ variables: { reports } }: Request): Answer =>
  reports === undefined
    ? { data: { __typename: 'Query' } }
    : { data: { reportProgressBatch: { results: reports.map(() => ACCEPTED), userErrors: [] } } }

/** A reporter, and the requests that its server got. A request whose `answer` is undefined gets none. */
async function reporterOf(
  {
    answer = accept,
    waitMs = 0,
    sendDate = true,
  }: { answer?: (request: Request) => Answer | undefined; waitMs?: number; sendDate?: boolean },
  options: Partial<ReporterOptions> = {},
) {
  const requests: Request[] = []
  const server = createServer((request, response) => {
    void json(request).then(async (body) => {
      requests.push(body as Request)
      await sleep(waitMs)
      response.sendDate = sendDate
      const text = JSON.stringify(answer(body as Request))
      if (text !== undefined) response.setHeader('content-type', 'application/json').end(text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const reporter = makeReporter({ url, business: 'video', account: '7', storage: memoryStorage(), ...options })
  open.push({ server, reporter })
  return { reporter, requests, reports: () => requests.filter(({ variables }) => variables.reports !== undefined).length }
}

test('a running player sends one report per heartbeat, also if the server takes longer than a second', async () => {
  const { reporter, reports } = await reporterOf({ waitMs: 1_200 })
  const watch = reporter.watch('1')
  for (let step = 0; step < 50; step++) {
    watch.at(step * 100)
    await sleep(100)
  }
  expect(reports()).toBe(1)
  watch.stop(5_000)
  await reporter.flush()
  expect(reporter.waiting()).toBe(0)
})

test('a stop while a report is under way is sent after it', async () => {
  const { reporter, requests } = await reporterOf({ waitMs: 200 })
  const watch = reporter.watch('1')
  watch.at(1_000)
  await sleep(300)
  watch.stop(2_000)
  await expect.poll(() => reporter.waiting()).toBe(0)
  expect(requests.at(-1)?.variables.reports).toEqual([expect.objectContaining({ position: 2_000 })])
})

test('a player that runs waits as long as the server asked for', async () => {
  const refusal = { errors: [{ message: 'slower', extensions: { code: 'RATE_LIMITED', retryAfterMs: 60_000 } }] }
  const troubles: string[] = []
  const { reporter, reports } = await reporterOf(
    { answer: (request) => (request.variables.reports === undefined ? accept(request) : refusal) },
    { heartbeatMs: 100, onTrouble: (code) => troubles.push(code) },
  )
  const watch = reporter.watch('1')
  for (let second = 0; second < 3; second++) {
    watch.at(second * 1_000)
    watch.stop(second * 1_000 + 500)
    await sleep(1_100)
  }
  expect([reports(), troubles]).toEqual([1, ['RATE_LIMITED']])
  expect(reporter.waiting()).toBe(1)
})

test('a server that hides its clock is asked for it once', async () => {
  const { reporter, requests, reports } = await reporterOf({ sendDate: false })
  for (const id of ['1', '2', '3']) {
    reporter.watch(id).stop(1_000)
    await reporter.flush()
  }
  expect([reports(), requests.length]).toEqual([3, 4])
})

test('a damaged entry of the storage is dropped, and does not stop the others', async () => {
  const storage = memoryStorage()
  storage.setItem('tidemark:7:video:1', '{"id":"1",')
  const troubles: string[] = []
  const { reporter, requests } = await reporterOf({}, { storage, onTrouble: (code) => troubles.push(code) })
  reporter.watch('2').stop(1_000)
  await reporter.flush()
  expect(requests.at(-1)?.variables.reports?.map(({ id }) => id)).toEqual(['2'])
  expect(reporter.waiting()).toBe(0)
  expect(storage.getItem('tidemark:7:video:1')).toBeNull()
  expect(troubles).toEqual([])
})

test('a batch that is refused as a whole is reported to the player, and its reports stay in the queue', async () => {
  const mistake = { code: 'INPUTS_TOO_MANY', message: 'too many' }
  const troubles: string[] = []
  const { reporter } = await reporterOf(
    {
      answer: (request) =>
        request.variables.reports === undefined
          ? accept(request)
          : { data: { reportProgressBatch: { results: [], userErrors: [mistake] } } },
    },
    { onTrouble: (code) => troubles.push(code) },
  )
  reporter.watch('1').stop(1_000)
  await reporter.flush()
  expect(troubles).toEqual(['INPUTS_TOO_MANY'])
  expect(reporter.waiting()).toBe(1)
})

/** A server that answers each report with this error. */
async function refusing(extensions: { code: string; retryable?: boolean }) {
  const troubles: string[] = []
  const answer = (request: Request): Answer =>
    request.variables.reports === undefined ? accept(request) : { errors: [{ message: 'no', extensions }] }
  return { ...(await reporterOf({ answer }, { heartbeatMs: 100, onTrouble: (code) => troubles.push(code) })), troubles }
}

test.each(['FORBIDDEN', 'GRAPHQL_VALIDATION_FAILED'])(
  'a running player repeats a call that was refused with %s after half a minute at the earliest',
  async (code) => {
    const { reporter, reports, troubles } = await refusing({ code })
    const watch = reporter.watch('1')
    for (let second = 0; second < 4; second++) {
      watch.stop(second * 1_000)
      await sleep(1_000)
    }
    expect([reports(), troubles, reporter.waiting()]).toEqual([1, [code], 1])
    await reporter.flush()
    expect([reports(), troubles, reporter.waiting()]).toEqual([2, [code, code], 1])
  },
)

test('a call that failed with a retryable code is repeated soon', async () => {
  const { reporter, reports } = await refusing({ code: 'HOT_STORE_UNAVAILABLE', retryable: true })
  reporter.watch('1').stop(1_000)
  await expect.poll(reports, { timeout: 5_000 }).toBe(2)
  expect(reporter.waiting()).toBe(1)
})

test('a report that the quota of the business refuses stays in the queue and is sent again', async () => {
  const trouble: string[] = []
  const refused = { outcome: 'REJECTED', dayToken: null, progress: null, userErrors: [{ code: 'QUOTA_EXCEEDED', message: 'later' }] }
  let isFull = true
  const { reporter } = await reporterOf(
    {
      answer: (request) =>
        isFull && request.variables.reports !== undefined
          ? { data: { reportProgressBatch: { results: request.variables.reports.map(() => refused), userErrors: [] } } }
          : accept(request),
    },
    { onTrouble: (code) => void trouble.push(code) },
  )
  reporter.watch('1').stop(5_000)
  await reporter.flush()
  expect({ trouble, waiting: reporter.waiting() }).toEqual({ trouble: ['QUOTA_EXCEEDED'], waiting: 1 })
  isFull = false
  await reporter.flush()
  expect(reporter.waiting()).toBe(0)
})

test('a request without an answer is given up after the timeout and sent again', async () => {
  let hangs = true
  const troubles: string[] = []
  const { reporter, requests, reports } = await reporterOf(
    { answer: (request) => (hangs && request.variables.reports !== undefined ? undefined : accept(request)) },
    { timeoutMs: 1_000, onTrouble: (code) => troubles.push(code) },
  )
  reporter.watch('1').stop(1_000)
  await reporter.flush()
  expect([troubles, reports(), reporter.waiting()]).toEqual([['OFFLINE'], 1, 1])
  hangs = false
  await expect.poll(() => reporter.waiting(), { timeout: 5_000 }).toBe(0)
  const [first, second] = requests.filter(({ variables }) => variables.reports !== undefined)
  expect(second?.variables).toEqual(first?.variables)
})

test('resume rejects if the server does not answer within the timeout', async () => {
  const { reporter } = await reporterOf({ answer: () => undefined }, { timeoutMs: 200 })
  await expect(reporter.resume('1')).rejects.toMatchObject({ name: 'TimeoutError' })
})

/** Throws in each of these methods, as a browser does. */
function broken(...methods: (keyof Storage)[]): Storage {
  return new Proxy(memoryStorage(), {
    get(storage, name, receiver) {
      if (methods.includes(name as keyof Storage)) throw new DOMException('no', name === 'setItem' ? 'QuotaExceededError' : 'SecurityError')
      return Reflect.get(storage, name, receiver) as unknown
    },
  })
}

test.each([
  ['full', ['setItem']],
  ['denied', ['getItem', 'setItem', 'removeItem', 'key', 'length']],
] as [string, (keyof Storage)[]][])(
  'with a storage that is %s, reports wait in memory and are sent, and the player hears of it once',
  async (_, methods) => {
    const troubles: string[] = []
    const { reporter, requests } = await reporterOf({}, { storage: broken(...methods), onTrouble: (code) => troubles.push(code) })
    for (const position of [1_000, 2_000]) reporter.watch('1').stop(position)
    reporter.watch('2').stop(3_000)
    expect(reporter.waiting()).toBe(2)
    expect(await reporter.resume('1')).toMatchObject({ position: 2_000 })
    await reporter.flush()
    expect(reporter.waiting()).toBe(0)
    const sent = requests.flatMap(({ variables }) => variables.reports ?? [])
    expect(sent).toContainEqual(expect.objectContaining({ id: '1', position: 2_000 }))
    expect(sent).toContainEqual(expect.objectContaining({ id: '2', position: 3_000 }))
    expect(troubles).toEqual(['STORAGE_UNAVAILABLE'])
  },
)

test('a position that no longer fits into the storage replaces the one that the storage still has', async () => {
  const storage = memoryStorage()
  storage.setItem('tidemark:7:video:1', JSON.stringify({ id: '1', position: 1_000, duration: 0, at: 1 }))
  storage.setItem = () => {
    throw new DOMException('no', 'QuotaExceededError')
  }
  const { reporter, requests } = await reporterOf({}, { storage })
  reporter.watch('1').stop(2_000)
  await reporter.flush()
  expect([reporter.waiting(), storage.length]).toEqual([0, 0])
  expect(requests.at(-1)?.variables.reports).toEqual([expect.objectContaining({ position: 2_000 })])
})

test.each([
  ['a', 'a:video'],
  ['a:video', 'a'],
  ['a:b', 'a%3Ab'],
  ['a%3Ab', 'a%253Ab'],
  ['ü:名', 'ü%3A名'],
  ['%', '%25'],
  ['\ud800', '\ud801'],
])('the reports of the account %j are not those of the account %j in the same browser', async (account, other) => {
  const storage = memoryStorage()
  const isDown = { errors: [{ message: 'down', extensions: { code: 'HOT_STORE_UNAVAILABLE', retryable: true } }] }
  const offline = await reporterOf({ answer: () => isDown }, { storage, account, business: 'video' })
  for (const id of ['1', 'video:1', '%', '名']) offline.reporter.watch(id).stop(1_000)
  offline.reporter.close()

  for (const business of ['video', 'video:video', 'b:video']) {
    const { reporter, reports } = await reporterOf({}, { storage, account: other, business })
    expect([business, reporter.waiting()]).toEqual([business, 0])
    await reporter.flush()
    expect(reports()).toBe(0)
  }
  const again = await reporterOf({}, { storage, account, business: 'video' })
  expect(again.reporter.waiting()).toBe(4)
  await again.reporter.flush()
  const sent = again.requests.flatMap(({ variables }) => variables.reports ?? [])
  expect(new Set(sent.map(({ id }) => id))).toEqual(new Set(['1', 'video:1', '%', '名']))
  expect(storage.length).toBe(0)
})
