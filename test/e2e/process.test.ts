/** The process around the API: folders, workers, shutdown, subscriptions across processes, the subgraph alone. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createClient } from 'graphql-ws'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ask, makeServiceFolder, startService, type Service } from '../support/service.ts'
import { waitUntilQuiet } from '../support/kill-rounds.ts'
import { composeSupergraph } from '../../gateway/compose.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const REPORT = 'mutation ($input: ProgressInput!) { reportProgress(input: $input) { outcome } }'
const BATCH = 'mutation ($inputs: [ProgressInput!]!) { reportProgressBatch(inputs: $inputs) { outcome } }'
const CHANGES = 'subscription ($since: String) { progressChanged(since: $since) { kind business oid progress { position } token } }'
const report = (service: Service, viewer: string, oid: string, position = 10_000) =>
  ask(service.url, viewer, REPORT, { input: { business: 'video', oid, position } })

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
      return value.data.progressChanged as { kind: string; oid: string | null; progress: { position: number } | null; token: string }
    },
    async end() {
      await events.return?.()
      await client.dispose()
    },
  }
}

function workerPids(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

const soon = (ms = 300) => new Promise((resolve) => setTimeout(resolve, ms))

describe('the data folder', () => {
  test('a second start on a folder in use says so and leaves the first alone', async () => {
    const first = await begin()
    const { folder } = folders[0] as { folder: string }
    await expect(startService({ folder })).rejects.toThrow('DATA_IN_USE')
    expect((await report(first, '1', '1')).data.reportProgress.outcome).toBe('ACCEPTED')
  })

  test('a folder of another region count is refused with what to do', async () => {
    const service = await begin()
    await service.stop()
    const { folder } = folders[0] as { folder: string }
    await expect(startService({ folder, settings: { stores: { regions: 7 } } })).rejects.toThrow(
      /DATA_INCOMPATIBLE: .*set stores.regions to 100/,
    )
  })

  test('a full disk is an error with a code, and what was acknowledged before stays', async () => {
    const service = await begin({ settings: { stores: { sizeMaxGb: 0.002 } } })
    const acknowledged: string[] = []
    let code: string | undefined
    for (let batch = 0; code === undefined && batch < 50; batch++) {
      const inputs = Array.from({ length: 500 }, (_, index) => ({ business: 'video', oid: `${batch}.${index}`, position: 10_000 }))
      const { data, errors } = await ask(service.url, '1', BATCH, { inputs })
      code = errors?.[0]?.extensions.code
      if (code === undefined)
        acknowledged.push(...inputs.filter((_, index) => data.reportProgressBatch[index].outcome === 'ACCEPTED').map(({ oid }) => oid))
    }
    expect(code).toBe('STORE_FULL')
    const ids = acknowledged.slice(-200)
    const { data } = await ask(service.url, '1', 'query ($ids: [ID!]!) { progress(business: "video", ids: $ids) { oid } }', { ids })
    expect(data.progress.map((each: { oid: string } | null) => each?.oid)).toEqual(ids)
  })

  test.each([
    [{ server: { mode: 'x' } }, 'server.mode'],
    [{ nonsense: 1 }, 'nonsense is not a setting'],
    [{ businesses: [] }, 'businesses'],
  ])('the settings %j end with a sentence', async (settings, sentence) => {
    await expect(begin({ settings: settings })).rejects.toThrow(sentence)
  })
})

test('a data folder that cannot be one ends with a sentence', async () => {
  const child = spawn(process.execPath, [COMMAND, 'start', '--port', '0', '--data', '/dev/null/x'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [status] = (await once(child, 'exit')) as [number]
  expect(said).toMatch(/^CONFIG_INVALID: the data folder \/dev\/null\/x cannot be used/)
  expect(status).toBe(1)
})

describe('an address in use', () => {
  test.each([
    ['start', 1],
    ['start', 2],
    ['subgraph', 1],
  ])('ends %s with %i workers, a sentence and status 1', async (command, workers) => {
    const first = await begin()
    const { port } = new URL(first.url)
    const { folder, remove } = makeServiceFolder()
    const words = command === 'subgraph' ? ['subgraph', 'history'] : ['start', '--workers', String(workers)]
    const child = spawn(process.execPath, [COMMAND, ...words, '--port', port, '--data', folder], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [status] = (await once(child, 'exit')) as [number]
    remove()
    expect(said).toContain('CONFIG_INVALID')
    expect(said).not.toContain('    at ')
    expect(status).toBe(1)
  })
})

describe('shutdown', () => {
  test('a request that never ends keeps neither the flush nor the exit', async () => {
    const settings = { server: { drainMaxMs: 2_000 }, history: { flushAgeMaxMs: 3_000_000, sweepAfterMs: 3_100_000 } }
    const first = await begin({ settings })
    await report(first, '1', '1')
    const { hostname, port } = new URL(first.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write('POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{')
    await soon()
    expect(await first.stop()).toBe(0)
    const { folder } = folders[0] as { folder: string }
    const second = await begin({ folder, settings })
    await waitUntilQuiet(second.url)
    expect(await (await fetch(new URL('/metrics', second.url))).text()).toMatch(/^tidemark_swept_keys_total 0$/m)
  })

  test('SIGTERM flushes what is aggregated at once: the next start persists it without waiting for the sweeper', async () => {
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
  test("a viewer's other devices follow at once, and other viewers do not", async () => {
    const service = await begin()
    const mine = follow(service, '1')
    const others = follow(service, '2')
    const first = mine.next()
    const never = others.next()
    await soon()
    await report(service, '1', 'a')
    expect(await first).toMatchObject({ kind: 'REPORTED', oid: 'a', progress: { position: 10_000 } })
    await ask(service.url, '1', 'mutation { deleteHistory(business: "video", ids: ["a"]) { deletedIds } }')
    expect(await mine.next()).toMatchObject({ kind: 'DELETED', oid: 'a', progress: null })
    await ask(service.url, '1', 'mutation { clearHistory(business: "video") { clearedAt } }')
    expect(await mine.next()).toMatchObject({ kind: 'CLEARED', oid: null })
    await report(service, '2', 'b')
    expect(await never).toMatchObject({ oid: 'b' })
    await mine.end()
    await others.end()
  })

  test('a client that reconnects first gets what it missed', async () => {
    const service = await begin()
    const before = follow(service, '1')
    const first = before.next()
    await soon()
    await report(service, '1', 'a')
    const { token } = await first
    await before.end()
    await report(service, '1', 'b')
    await report(service, '1', 'c')
    const after = follow(service, '1', token)
    expect([(await after.next()).oid, (await after.next()).oid]).toEqual(['b', 'c'])
    await after.end()
  })

  test('a token nobody made is refused', async () => {
    const service = await begin()
    const client = createClient({
      url: service.url.replace('http', 'ws'),
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
    const service = await begin()
    const ended = new AbortController()
    const response = await fetch(service.url, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', 'x-viewer-id': '1' },
      body: JSON.stringify({ query: CHANGES }),
      signal: ended.signal,
    })
    await soon()
    await report(service, '1', 'a')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    while (!text.includes('event: next')) text += Buffer.from((await reader.read()).value as Uint8Array).toString()
    while (!text.includes('"oid":"a"')) text += Buffer.from((await reader.read()).value as Uint8Array).toString()
    ended.abort()
  })
})

describe('workers', () => {
  test('share the data folder: reads see what other workers acknowledged, subscriptions cross them, metrics add up', async () => {
    const service = await begin({ workers: 2 })
    const seen = follow(service, '1')
    const events: string[] = []
    const following = (async () => {
      while (events.length < 20) events.push((await seen.next()).oid as string)
    })()
    await soon()
    for (let i = 0; i < 20; i++) {
      await report(service, '1', String(i))
      const { data } = await ask(service.url, '1', 'query ($ids: [ID!]!) { progress(business: "video", ids: $ids) { oid } }', {
        ids: [String(i)],
      })
      expect(data.progress).toEqual([{ oid: String(i) }])
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
    const load = Array.from({ length: 8 }, async (_, lane) => {
      for (let i = 0; i < 1_000; i++) await report(service, String(lane), String(i)).catch(() => (i = 1_000))
    })
    await soon()
    for (const pid of [service.pid, ...pids]) process.kill(pid, 'SIGINT')
    expect(await service.stop()).toBe(0)
    await Promise.all(load)
    await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  })

  test('kill -9 of the primary, under load, takes the workers along and leaves the folder to the next start', async () => {
    const service = await begin({ workers: 2, settings: { history: { flushAgeMaxMs: 50 } } })
    const pids = workerPids(service.pid)
    const load = Array.from({ length: 8 }, async (_, lane) => {
      for (let i = 0; i < 1_000; i++) await report(service, String(lane), String(i)).catch(() => (i = 1_000))
    })
    await soon()
    await service.kill()
    await Promise.all(load)
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

describe('the subgraph alone', () => {
  test('answers _service and _entities, and what _service says composes', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    const { data } = await ask(service.url, undefined, '{ _service { sdl } }')
    expect(composeSupergraph([{ name: 'history', sdl: data._service.sdl }])).toContain('viewerHistory')
    await report(service, '1', '42')
    const entities = await ask(
      service.url,
      '1',
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Video { id viewerProgress { position } } } }',
      {
        r: [
          { __typename: 'Video', id: '42' },
          { __typename: 'Video', id: 'never' },
        ],
      },
    )
    expect(entities.data._entities).toEqual([
      { id: '42', viewerProgress: { position: 10_000 } },
      { id: 'never', viewerProgress: null },
    ])
  })

  test('a representation whose id is no id is its own error, and nobody else notices', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    await report(service, '1', '5')
    const query = 'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Video { viewerProgress { position } } } }'
    const numeric = await ask(service.url, '1', query, { r: [{ __typename: 'Video', id: 5 }] })
    expect(numeric.data._entities).toEqual([{ viewerProgress: { position: 10_000 } }])
    const empty = await ask(service.url, '1', query, {
      r: [
        { __typename: 'Video', id: '' },
        { __typename: 'Video', id: '5' },
      ],
    })
    expect(empty.errors?.map((error) => error.extensions.code)).toEqual(['ID_INVALID'])
    expect(empty.data._entities[1]).toEqual({ viewerProgress: { position: 10_000 } })
  })

  test('refuses what costs too much', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    const query = 'query ($r: [_Any!]!) { _entities(representations: $r) { __typename } }'
    const { errors } = await ask(service.url, '1', query, { r: Array.from({ length: 10_001 }, () => ({ __typename: 'Video', id: '5' })) })
    expect(errors?.[0]?.extensions.code).toBe('OPERATION_TOO_COSTLY')
    const many = await ask(
      service.url,
      '1',
      `mutation { ${Array.from({ length: 11 }, (_, index) => `m${index}: pauseHistory { paused }`).join(' ')} }`,
    )
    expect(many.errors?.[0]?.extensions.code).toBe('OPERATION_TOO_LARGE')
    expect((await ask(service.url, '1', '{ historySettings { paused } }')).data.historySettings).toEqual({ paused: false })
  })

  test('tells operators whether it is ready and what it measures', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    await report(service, '1', '5')
    const ready = await fetch(new URL('/health/ready', service.url))
    expect([ready.status, await ready.json()]).toMatchObject([200, { ok: true }])
    expect((await fetch(new URL('/health/live', service.url))).status).toBe(200)
    expect(await (await fetch(new URL('/metrics', service.url))).text()).toMatch(/^tidemark_[a-z_]+/m)
    expect((await fetch(new URL('/nowhere', service.url))).status).toBe(404)
  })

  test('refuses a body that is broken or too large with a code, and goes on', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    const post = async (body: string, type = 'application/json') => {
      const answer = await fetch(service.url, { method: 'POST', headers: { 'content-type': type }, body })
      const { errors } = (await answer.json()) as { errors: { extensions: { code: string } }[] }
      return [answer.status, errors[0]?.extensions.code]
    }
    expect(await post('{"query":')).toEqual([400, 'BAD_REQUEST'])
    expect(await post(`{"query":"{ __typename }","x":"${'x'.repeat(1_048_576)}"}`)).toEqual([413, 'BODY_TOO_LARGE'])
    expect(await post('<x/>', 'application/xml')).toEqual([415, 'BAD_REQUEST'])
    expect((await ask(service.url, '1', '{ __typename }')).data.__typename).toBe('Query')
  })

  test('refuses a subscription, which it cannot serve, in a sentence', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    const { errors } = await ask(service.url, '1', CHANGES)
    expect(errors).toMatchObject([
      { message: 'this address serves no subscriptions: use the gateway', extensions: { code: 'BAD_REQUEST' } },
    ])
  })

  test('is not audited as if it were a gateway', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    const child = spawn(process.execPath, [COMMAND, 'audit', service.url], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [status] = (await once(child, 'exit')) as [number]
    expect(said).toMatch(/is a subgraph alone, .*: give the address of the gateway/)
    expect(status).toBe(1)
  })

  test('says what is wrong with the codes of the gateway', async () => {
    const service = await begin({ command: ['subgraph', 'history'] })
    const { errors } = await ask(service.url, undefined, '{ viewerHistory { edges { cursor } } }')
    expect(errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED')
  })
})
