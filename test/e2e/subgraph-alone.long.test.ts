/** The history subgraph in a process without a gateway. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { runCommand } from '../../harness/deployment/command.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const REPORT = 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }'
const CHANGES =
  'subscription ($since: String) { progressChanged(since: $since) { kind business subject { id viewerProgress { position } } token } }'
const report = (service: Service, viewer: string, id: string) =>
  ask(service.url, viewer, REPORT, { input: { business: 'video', id, position: 10_000 } })

let alone: Service
let gateway: Service | undefined
const [place, gatewayPlace] = [makeServiceFolder(), makeServiceFolder()]
beforeAll(async () => {
  alone = await startService({ folder: place.folder, command: ['subgraph', 'history'] })
})
afterAll(async () => {
  await Promise.all([alone?.stop(), gateway?.stop()])
  for (const { remove } of [place, gatewayPlace]) remove()
})

describe('the subgraph alone', () => {
  test('answers _service and _entities, and the SDL of _service composes', async () => {
    const { data } = await ask(alone.url, undefined, '{ _service { sdl } }')
    expect(composeSupergraph([{ name: 'history', sdl: data._service.sdl }])).toContain('viewerHistory')
    await report(alone, '1', '42')
    const entities = await ask(
      alone.url,
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

  test('an invalid id of a representation is an error of its own, and the other representations are answered', async () => {
    await report(alone, '1', '5')
    const query = 'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Video { viewerProgress { position } } } }'
    const numeric = await ask(alone.url, '1', query, { r: [{ __typename: 'Video', id: 5 }] })
    expect(numeric.data._entities).toEqual([{ viewerProgress: { position: 10_000 } }])
    const empty = await ask(alone.url, '1', query, {
      r: [
        { __typename: 'Video', id: '' },
        { __typename: 'Video', id: '5' },
      ],
    })
    expect(empty.errors?.map((error) => error.extensions.code)).toEqual(['ID_INVALID'])
    expect(empty.data._entities[1]).toEqual({ viewerProgress: { position: 10_000 } })
  })

  test('refuses an operation that costs too much or is too large', async () => {
    const query = 'query ($r: [_Any!]!) { _entities(representations: $r) { __typename } }'
    const { errors } = await ask(alone.url, '1', query, { r: Array.from({ length: 10_001 }, () => ({ __typename: 'Video', id: '5' })) })
    expect(errors?.[0]?.extensions.code).toBe('OPERATION_TOO_COSTLY')
    const many = await ask(
      alone.url,
      '1',
      `mutation { ${Array.from({ length: 11 }, (_, index) => `m${index}: updateHistorySettings(input: { paused: true }) { settings { paused } }`).join(' ')} }`,
    )
    expect(many.errors?.[0]?.extensions.code).toBe('OPERATION_TOO_LARGE')
    expect((await ask(alone.url, '1', '{ historySettings { paused } }')).data.historySettings).toEqual({ paused: false })
  })

  test('reports its readiness and its metrics to operators', async () => {
    await report(alone, '1', '5')
    const ready = await fetch(new URL('/health/ready', alone.url))
    expect([ready.status, await ready.json()]).toMatchObject([200, { ok: true }])
    expect((await fetch(new URL('/health/live', alone.url))).status).toBe(200)
    expect(await (await fetch(new URL('/metrics', alone.url))).text()).toMatch(/^tidemark_[a-z_]+/m)
    expect((await fetch(new URL('/nowhere', alone.url))).status).toBe(404)
  })

  test('refuses a broken or too large body with a code, and continues to serve', async () => {
    const post = async (body: string, type = 'application/json') => {
      const answer = await fetch(alone.url, { method: 'POST', headers: { 'content-type': type }, body })
      const { errors } = (await answer.json()) as { errors: { extensions: { code: string } }[] }
      return [answer.status, errors[0]?.extensions.code]
    }
    expect(await post('{"query":')).toEqual([400, 'BAD_REQUEST'])
    expect(await post(`{"query":"{ __typename }","x":"${'x'.repeat(1_048_576)}"}`)).toEqual([413, 'BODY_TOO_LARGE'])
    expect(await post('<x/>', 'application/xml')).toEqual([415, 'BAD_REQUEST'])
    expect((await ask(alone.url, '1', '{ __typename }')).data.__typename).toBe('Query')
  })

  test('refuses a subscription with a message that fits its own clients and those of a gateway', async () => {
    const supergraph = join(place.folder, 'supergraph.yaml')
    writeFileSync(supergraph, `subgraphs:\n  history:\n    routing_url: ${alone.url}\n`)
    gateway = await startService({ folder: gatewayPlace.folder, settings: { server: { supergraph } } })
    const accept = 'text/event-stream'
    const streamed = await fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-viewer-id': '1', accept },
      body: JSON.stringify({ query: CHANGES }),
    })
    expect(await streamed.text()).toMatch(/"message":"this subgraph runs alone .*"code":"SUBSCRIPTIONS_NOT_SERVED"/)
    const { errors } = await ask(alone.url, '1', CHANGES)
    expect(errors).toMatchObject([
      {
        message:
          "this subgraph runs alone and serves no subscriptions: repeat a query instead, or run the subgraph in the gateway's process",
        extensions: { code: 'SUBSCRIPTIONS_NOT_SERVED' },
      },
    ])
  })

  test('is refused by the audit, which needs the address of a gateway', async () => {
    const { status, error } = await runCommand('.', ['audit', alone.url])
    expect(error).toMatch(/is a subgraph alone, .*: give the address of the gateway/)
    expect(status).toBe(1)
  })

  test('reports errors with the same codes as the gateway', async () => {
    const { errors } = await ask(alone.url, undefined, '{ viewerHistory { edges { cursor } } }')
    expect(errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED')
  })
})
