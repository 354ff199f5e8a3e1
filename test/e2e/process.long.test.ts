/** The process around the API: folders, workers, shutdown, subscriptions across processes. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { createClient } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { sleep, systemClock } from '../../core/clock.ts'
import { runCommand } from '../../harness/deployment/command.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { waitUntilQuiet } from '../../harness/faults/kill-rounds.ts'
import { until } from '../../harness/until.ts'

const REPORT = 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }'
const BATCH = 'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }'
const CHANGES =
  'subscription ($since: String) { progressChanged(since: $since) { kind business subject { id viewerProgress { position } } token } }'
type Subject = { id: string; viewerProgress: { position: number } | null }
const LOOK = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id viewerProgress { position } } }'
const report = (service: Service, viewer: string, id: string, position = 10_000) =>
  ask(service.url, viewer, REPORT, { input: { business: 'video', id, position } })

/** One service for all tests that neither end it nor change its settings. Each test has its own viewers. */
let shared: Service
const place = makeServiceFolder()
beforeAll(async () => {
  shared = await startService({ folder: place.folder })
})
afterAll(async () => {
  await shared?.stop()
  place.remove()
})

const services: Service[] = []
const folders: ReturnType<typeof makeServiceFolder>[] = []
async function begin(options: Partial<Parameters<typeof startService>[0]> = {}): Promise<Service> {
  let { folder } = options
  if (folder === undefined) {
    folders.push(makeServiceFolder())
    folder = folders[folders.length - 1]?.folder as string
  }
  const service = await startService({ ...options, folder })
  services.push(service)
  return service
}
afterEach(async () => {
  for (const service of services.splice(0))
    if (service.process.exitCode === null && service.process.signalCode === null) await service.stop()
  for (const { remove } of folders.splice(0)) remove()
})

/** The next events of a subscription over WebSocket, and how to end it. */
function follow(service: Service, viewer: string, since?: string) {
  const client = createClient({
    url: service.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { viewerId: viewer },
    retryAttempts: 0,
  })
  const events = client.iterate<{ progressChanged: Record<string, unknown> }>({ query: CHANGES, variables: { since } })
  return {
    async next() {
      const { value } = await events.next()
      return value.data.progressChanged as { kind: string; subject: Subject | null; token: string }
    },
    async end() {
      await events.return?.()
      await client.dispose()
    },
  }
}

/** The process has ended, and its parent does not know yet. */
const isZombie = (pid: number): boolean => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

function workerPids(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

async function figureOf(service: Service, name: string): Promise<number> {
  const text = await (await fetch(new URL('/metrics', service.url))).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** Waits until this many subscriptions of the service follow changes. */
const openSubscriptions = (service: Service, count: number): Promise<void> =>
  until(`${count} subscriptions are open`, async () => (await figureOf(service, 'tidemark_gateway_subscriptions_open')) === count)

async function beginEndlessRequest(service: Service): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  // The service answers "100 Continue" once it has the headers.
  const headers = ['host: x', 'content-type: application/json', 'content-length: 1000', 'expect: 100-continue']
  socket.write(`POST /graphql HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n{`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return socket
}

/** Reports on eight lanes until the service is gone; resolves once a hundred are answered. */
async function loadOf(service: Service): Promise<{ ended: Promise<unknown> }> {
  let answered = 0
  async function lane(viewer: string): Promise<void> {
    for (let i = 0; ; i++) {
      await report(service, viewer, String(i))
      answered++
    }
  }
  const ended = Promise.allSettled(Array.from({ length: 8 }, (_, viewer) => lane(String(viewer))))
  await until('the service is under load', () => answered >= 100)
  return { ended }
}

describe('the data folder', () => {
  test('a second start on a folder in use says so and leaves the first alone', async () => {
    await expect(startService({ folder: place.folder })).rejects.toThrow('DATA_IN_USE')
    expect((await report(shared, 'in-use', '1')).data.reportProgress.outcome).toBe('ACCEPTED')
  })

  test('a folder with another region count is refused with advice', async () => {
    const service = await begin()
    await service.stop()
    const { folder } = folders[0] as { folder: string }
    await expect(startService({ folder, settings: { stores: { regions: 7 } } })).rejects.toThrow(
      /DATA_INCOMPATIBLE: .*set stores.regions to 100/,
    )
  })

  test('a full disk is an error with a code, and acknowledged reports stay', async () => {
    const service = await begin({ settings: { stores: { sizeMaxGb: 0.002 } } })
    const acknowledged: string[] = []
    let code: string | undefined
    for (let batch = 0; code === undefined && batch < 50; batch++) {
      const reports = Array.from({ length: 500 }, (_, index) => ({ business: 'video', id: `${batch}.${index}`, position: 10_000 }))
      const { data, errors } = await ask(service.url, '1', BATCH, { reports })
      code = errors?.[0]?.extensions.code
      if (code === undefined)
        acknowledged.push(
          ...reports.filter((_, index) => data.reportProgressBatch.results[index].outcome === 'ACCEPTED').map(({ id }) => id),
        )
    }
    expect(code).toBe('STORE_FULL')
    const ids = acknowledged.slice(-200)
    const { data } = await ask(service.url, '1', LOOK, { ids })
    expect(data.subjects).toEqual(ids.map((id) => ({ id, viewerProgress: { position: 10_000 } })))
  })

  test.each([
    [{ server: { mode: 'x' } }, 'server.mode'],
    [{ nonsense: 1 }, 'nonsense is not a setting'],
    [{ businesses: [] }, 'businesses'],
  ])('a start with the settings %j ends with an explanation', async (settings, sentence) => {
    await expect(begin({ settings: settings })).rejects.toThrow(sentence)
  })
})

test('an unusable data folder ends the start with an explanation', async () => {
  const { status, error } = await runCommand('.', ['start', '--port', '0', '--data', '/dev/null/x'])
  expect(error).toMatch(/^CONFIG_INVALID: the data folder \/dev\/null\/x cannot be used/)
  expect(status).toBe(1)
})

describe('an address in use', () => {
  test.each([
    ['start', 1],
    ['start', 2],
    ['subgraph', 1],
  ])('ends %s with %i workers: an explanation without a stack, and status 1', async (command, workers) => {
    const { port } = new URL(shared.url)
    const { folder, remove } = makeServiceFolder()
    const words = command === 'subgraph' ? ['subgraph', 'history'] : ['start', '--workers', String(workers)]
    const { status, error } = await runCommand(folder, [...words, '--port', port, '--data', folder])
    remove()
    expect(error).toContain('CONFIG_INVALID')
    expect(error).not.toContain('    at ')
    expect(status).toBe(1)
  })
})

describe('shutdown', () => {
  test('a request that never ends prevents neither the flush nor the exit', async () => {
    const settings = { server: { drainMaxMs: 2_000 }, history: { flushAgeMaxMs: 3_000_000, sweepAfterMs: 3_100_000 } }
    const first = await begin({ settings })
    await report(first, '1', '1')
    await beginEndlessRequest(first)
    expect(await first.stop()).toBe(0)
    const { folder } = folders[0] as { folder: string }
    const second = await begin({ folder, settings })
    await waitUntilQuiet(second.url)
    expect(await (await fetch(new URL('/metrics', second.url))).text()).toMatch(/^tidemark_swept_keys_total 0$/m)
  })

  test.each([1, 2])('a second Ctrl-C does not wait for a request that never ends, with %i workers', async (workers) => {
    const service = await begin({ workers })
    const socket = await beginEndlessRequest(service)
    service.process.kill('SIGINT')
    await until('the drain has begun', () => service.log().includes('draining'))
    await sleep(systemClock, 1_200)
    const pids = workers === 1 ? [] : workerPids(service.pid)
    service.process.kill('SIGINT')
    await once(service.process, 'exit')
    expect(service.process.signalCode).toBe('SIGKILL')
    await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
    socket.destroy()
  })

  test('SIGTERM flushes aggregated reports at once: the next start persists them without waiting for the sweeper', async () => {
    const settings = { history: { flushAgeMaxMs: 3_000_000, sweepAfterMs: 3_100_000 } }
    const first = await begin({ settings })
    await report(first, '1', '1')
    const begun = Date.now()
    expect(await first.stop()).toBe(0)
    expect(Date.now() - begun).toBeLessThan(5_000)
    const { folder } = folders[0] as { folder: string }
    const second = await begin({ folder, settings })
    await waitUntilQuiet(second.url)
    expect(await (await fetch(new URL('/metrics', second.url))).text()).toMatch(/^tidemark_swept_keys_total 0$/m)
  })
})

describe('subscriptions', () => {
  afterEach(() => openSubscriptions(shared, 0))

  test("a viewer's other devices get changes at once, and other viewers get none", async () => {
    const mine = follow(shared, '1')
    const others = follow(shared, '2')
    const first = mine.next()
    const never = others.next()
    await openSubscriptions(shared, 2)
    await report(shared, '1', 'a')
    expect(await first).toMatchObject({ kind: 'REPORTED', subject: { id: 'a', viewerProgress: { position: 10_000 } } })
    expect(await mine.next()).toMatchObject({ kind: 'FIRST_OF_DAY', subject: null })
    await ask(shared.url, '1', 'mutation { deleteHistory(input: { business: "video", ids: ["a"] }) { deletedIds } }')
    expect(await mine.next()).toMatchObject({ kind: 'DELETED', subject: { id: 'a', viewerProgress: null } })
    await ask(shared.url, '1', 'mutation { clearHistory(input: { business: "video" }) { clearedAt } }')
    expect(await mine.next()).toMatchObject({ kind: 'CLEARED', subject: null })
    await report(shared, '2', 'b')
    expect(await never).toMatchObject({ subject: { id: 'b' } })
    await mine.end()
    await others.end()
  })

  test('a client that reconnects first gets the changes it missed', async () => {
    const before = follow(shared, 'again')
    const first = before.next()
    await openSubscriptions(shared, 1)
    await report(shared, 'again', 'a')
    const { token } = await first
    await before.end()
    await report(shared, 'again', 'b')
    await report(shared, 'again', 'c')
    const after = follow(shared, 'again', token)
    expect([(await after.next()).subject?.id, (await after.next()).subject?.id]).toEqual(['b', 'c'])
    await after.end()
  })

  test('a malformed token is refused', async () => {
    const client = createClient({
      url: shared.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { viewerId: '1' },
      retryAttempts: 0,
    })
    const events = client.iterate({ query: CHANGES, variables: { since: 'NONSENSE!' } })
    const outcome = await events.next().then(
      (result) => JSON.stringify(result.value),
      (error: unknown) => JSON.stringify(error),
    )
    expect(outcome).toContain('CURSOR_INVALID')
    await client.dispose()
  })

  test('server-sent events carry the same changes', async () => {
    const ended = new AbortController()
    const response = await fetch(shared.url, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', 'x-viewer-id': 'sse' },
      body: JSON.stringify({ query: CHANGES }),
      signal: ended.signal,
    })
    await openSubscriptions(shared, 1)
    await report(shared, 'sse', 'a')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    while (!text.includes('event: next')) text += Buffer.from((await reader.read()).value as Uint8Array).toString()
    while (!text.includes('"id":"a"')) text += Buffer.from((await reader.read()).value as Uint8Array).toString()
    ended.abort()
  })
})

describe('workers', () => {
  test('share the data folder: reads see the reports of other workers, subscriptions cross workers, metrics add up', async () => {
    const service = await begin({ workers: 2 })
    const seen = follow(service, '1')
    const events: string[] = []
    const following = (async () => {
      while (events.length < 20) {
        const { kind, subject } = await seen.next()
        if (kind === 'REPORTED') events.push(subject?.id as string)
      }
    })()
    await openSubscriptions(service, 1)
    for (let i = 0; i < 20; i++) {
      await report(service, '1', String(i))
      const { data } = await ask(service.url, '1', LOOK, { ids: [String(i)] })
      expect(data.subjects).toEqual([{ id: String(i), viewerProgress: { position: 10_000 } }])
    }
    await following
    expect(events).toEqual(Array.from({ length: 20 }, (_, index) => String(index)))
    await seen.end()
    const metrics = await (await fetch(new URL('/metrics', service.url))).text()
    expect(metrics).toMatch(/^tidemark_reports_total\{outcome="accepted"\} 20$/m)
    expect(metrics).toMatch(/^tidemark_dirty_keys \d+$/m)
    expect(await service.stop()).toBe(0)
  })

  test('a Ctrl-C that reaches all processes at once, under load, ends them all', async () => {
    const service = await begin({ workers: 2, settings: { history: { flushAgeMaxMs: 50 } } })
    const pids = workerPids(service.pid)
    const load = await loadOf(service)
    for (const pid of [service.pid, ...pids]) process.kill(pid, 'SIGINT')
    expect(await service.stop(), service.log()).toBe(0)
    await load.ended
    await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  })

  test('a Ctrl-C that the primary handles after its workers have ended is a clean end', async () => {
    const service = await begin({ workers: 2 })
    process.kill(service.pid, 'SIGSTOP')
    const pids = workerPids(service.pid)
    for (const pid of [service.pid, ...pids]) process.kill(pid, 'SIGINT')
    await until('the workers have ended', () => pids.every(isZombie))
    process.kill(service.pid, 'SIGCONT')
    expect(await service.stop(), service.log()).toBe(0)
  })

  test('a Ctrl-C that npm repeats is a clean end', async () => {
    const service = await begin({ workers: 2 })
    for (const pid of [service.pid, ...workerPids(service.pid)]) process.kill(pid, 'SIGINT')
    await until('the drain has begun', () => service.log().includes('draining'))
    process.kill(service.pid, 'SIGINT')
    expect(await service.stop(), service.log()).toBe(0)
  })

  test('a worker that dies while changes are passed to it does not end the other processes', async () => {
    const service = await begin({ workers: 2 })
    const load = await loadOf(service)
    const [first, second] = workerPids(service.pid)
    process.kill(service.pid, 'SIGSTOP')
    await sleep(systemClock, 100)
    process.kill(first as number, 'SIGKILL')
    await until('the worker has ended', () => isZombie(first as number))
    process.kill(service.pid, 'SIGCONT')
    await expect.poll(() => workerPids(service.pid).filter((pid) => ![first, second].includes(pid)).length).toBe(1)
    expect(await service.stop(), service.log()).toBe(0)
    await load.ended
  })

  test('kill -9 of the primary under load ends the workers too, and the next start can use the folder', async () => {
    const service = await begin({ workers: 2, settings: { history: { flushAgeMaxMs: 50 } } })
    const pids = workerPids(service.pid)
    const load = await loadOf(service)
    await service.kill()
    await load.ended
    await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
    const { folder } = folders[0] as { folder: string }
    const next = await begin({ folder })
    expect((await report(next, '1', 'after')).data.reportProgress.outcome).toBe('ACCEPTED')
  })

  test('a worker that dies is started again', async () => {
    const service = await begin({ workers: 2 })
    const pids = workerPids(service.pid)
    expect(pids).toHaveLength(2)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await expect.poll(() => workerPids(service.pid).filter((pid) => !pids.includes(pid)).length).toBe(1)
    await expect.poll(() => report(service, '1', '1').then((answer) => answer.data.reportProgress.outcome)).toBe('ACCEPTED')
  })
})
