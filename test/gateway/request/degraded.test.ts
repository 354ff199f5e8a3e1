/** The answers to clients while a store is down, through the gateway and through the subgraph alone. */
import { Registry } from '@prometheus-io/client'
import { createClient } from 'graphql-ws'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { fixedConfig } from '../../../cli/process/live-config.ts'
import { serve } from '../../../cli/process/serve.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { ask } from '../../../harness/deployment/service.ts'
import { startAlone } from '../../support/standalone.ts'
import { config, makeDataFolder, makeSwitchedStores, serveOn } from '../../subgraphs/switched-stores.ts'
import { eventually, until } from '../../../harness/until.ts'

const REPORT =
  'mutation R($id: ID!) { reportProgress(input: {business: "video", id: $id, position: 60000}) { outcome firstOfDay progress { position } } }'
const PAGE = '{ viewerHistory(first: 5) { edges { node { id } } } }'

const silent = pino({ level: 'silent' })
const stores = makeSwitchedStores()
const folder = makeDataFolder()
const served = serveOn(stores, folder.path)
const registry = new Registry()
const gateway = await serve({
  ...{ subgraphs: [served.history], stores, registry, log: silent },
  live: fixedConfig({ ...config, server: { ...config.server, port: 0 } }),
})
let origin = ''
let url = ''
beforeAll(async () => {
  origin = (await gateway.listen()).url
  url = `${origin}/graphql`
})
afterAll(async () => {
  await gateway.close()
  await served.stop()
  folder.remove()
})
afterEach(async () => {
  for (const store of ['hot', 'log', 'records'] as const) stores.set(store, 'up')
  await until('all breakers are closed', () => !Object.values(served.history.figures().outages).some((outage) => outage.isDown))
  await until('the journal is empty', async () => (await served.journals.own.count()).waiting === 0)
})

describe('with the hot store down', () => {
  it('answers have no errors and name it; when it is up again they name nothing', async () => {
    stores.set('hot', 'down')
    const written = await ask(url, '7', REPORT, { id: '1' })
    expect(written).toEqual({
      data: { reportProgress: { outcome: 'ACCEPTED', firstOfDay: false, progress: { position: 60_000 } } },
      extensions: { degraded: ['hotStore'] },
    })
    expect(await ask(url, '7', PAGE)).toEqual({ data: { viewerHistory: { edges: [] } }, extensions: { degraded: ['hotStore'] } })
    expect(await ask(url, '7', '{ historySettings { paused } }')).toMatchObject({ extensions: { degraded: ['hotStore'] } })
    expect(await ask(url, '7', '{ subjects(business: "video", ids: ["1"]) { viewerProgress { position } } }')).toEqual({
      data: { subjects: [{ viewerProgress: null }] },
      extensions: { degraded: ['hotStore'] },
    })
    stores.set('hot', 'up')
    await until(
      'it is there',
      async () => JSON.stringify(await ask(url, '7', PAGE)) === '{"data":{"viewerHistory":{"edges":[{"node":{"id":"1"}}]}}}',
    )
  })

  it('every other mutation is accepted too', async () => {
    stores.set('hot', 'down')
    const answer = await ask(
      url,
      '8',
      `mutation { deleteHistory(input: {business: "video", ids: ["1"]}) { deletedIds } clearHistory(input: {business: "video"}) { business }
        pause: updateHistorySettings(input: {paused: true}) { settings { paused } }
        resume: updateHistorySettings(input: {paused: false}) { settings { paused } }
        reportProgressBatch(input: {reports: [{business: "video", id: "2", position: 1}]}) { results { outcome } } }`,
    )
    expect(answer).toEqual({
      data: {
        deleteHistory: { deletedIds: [] },
        clearHistory: { business: 'video' },
        pause: { settings: { paused: true } },
        resume: { settings: { paused: false } },
        reportProgressBatch: { results: [{ outcome: 'ACCEPTED' }] },
      },
      extensions: { degraded: ['hotStore'] },
    })
  })

  it('an operation that did not run names nothing', async () => {
    stores.set('hot', 'down')
    expect(await ask(url, '7', '{ nothing }')).not.toHaveProperty('extensions')
  })

  it('operations over a WebSocket and single answers over SSE name it', async () => {
    stores.set('hot', 'down')
    const client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { viewerId: '7' },
      retryAttempts: 0,
    })
    const results: unknown[] = []
    for await (const result of client.iterate({ query: PAGE })) results.push(result)
    await client.dispose()
    expect(results).toMatchObject([{ extensions: { degraded: ['hotStore'] } }])
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', 'x-viewer-id': '7' },
      body: JSON.stringify({ query: PAGE }),
    })
    expect(await response.text()).toContain('"extensions":{"degraded":["hotStore"]}')
  })

  it('a subscription opens; its first event after the outage names it, and the second does not', async () => {
    stores.set('hot', 'down')
    const client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { viewerId: '9' },
      retryAttempts: 0,
    })
    const events = client.iterate({ query: 'subscription { progressChanged { subject { id } } }' })
    const first = events.next()
    await until('it is open', async () => (await registry.metrics()).includes('tidemark_gateway_subscriptions_open 1'))
    await ask(url, '9', REPORT, { id: '1' })
    stores.set('hot', 'up')
    expect((await first).value).toEqual({ data: { progressChanged: { subject: { id: '1' } } }, extensions: { degraded: ['hotStore'] } })
    const second = events.next()
    await ask(url, '9', REPORT, { id: '2' })
    expect((await second).value).toEqual({ data: { progressChanged: { subject: { id: '2' } } } })
    await client.dispose()
  })

  it('the process is ready and reports the failure; with the record store down as well it is not ready', async () => {
    stores.set('hot', 'down')
    // The result of a check is cached for one second.
    await eventually(async () => {
      const one = await fetch(`${origin}/health/ready`)
      expect(one.status).toBe(200)
      expect(await one.json()).toMatchObject({
        ok: true,
        stores: { hotStore: 'HOT_STORE_UNAVAILABLE: The hot store does not answer. Try again.', log: 'ok', recordStore: 'ok' },
      })
    })
    stores.set('records', 'down')
    await eventually(async () => expect((await fetch(`${origin}/health/ready`)).status).toBe(503))
  })
})

describe('with the log down', () => {
  it('writes name it once it is known, and reads do not', async () => {
    stores.set('log', 'down')
    await until('a write names it', async () => JSON.stringify(await ask(url, '7', REPORT, { id: '3' })).includes('"degraded":["log"]'))
    expect(await ask(url, '7', PAGE)).not.toHaveProperty('extensions')
  })
})

describe('with hot store and record store down', () => {
  it('lookups are null, a page of the history is empty, and both stores are named', async () => {
    stores.set('hot', 'down')
    stores.set('records', 'down')
    const answer = await ask(url, '7', '{ subjects(business: "video", ids: ["1"]) { viewerProgress { position } } }')
    expect(answer).toEqual({ data: { subjects: [{ viewerProgress: null }] }, extensions: { degraded: ['hotStore', 'recordStore'] } })
    const page = await ask(url, '7', PAGE)
    expect(page).toMatchObject({ data: { viewerHistory: { edges: [] } }, extensions: { degraded: ['hotStore', 'recordStore'] } })
    expect(page).not.toHaveProperty('errors')
    expect(await ask(url, '7', REPORT, { id: '4' })).toMatchObject({ data: { reportProgress: { outcome: 'ACCEPTED' } } })
  })
})

describe('the subgraph alone', () => {
  it('names the stores that were missing for its answers', async () => {
    const alone = await startAlone(served.history.schema, (viewer) => {
      const degraded: Degraded = new Set()
      return { viewer, degraded, loaders: served.history.makeLoaders(degraded) }
    })
    expect(await ask(alone.url, '7', PAGE)).not.toHaveProperty('extensions')
    stores.set('hot', 'down')
    expect(await ask(alone.url, '7', PAGE)).toMatchObject({ extensions: { degraded: ['hotStore'] } })
    await alone.stop()
  })
})
