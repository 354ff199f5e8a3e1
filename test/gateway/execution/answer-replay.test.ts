import { Registry } from '@prometheus-io/client'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine, type Engine } from '../../../gateway/operation/engine.ts'
import type { RequestContext } from '../../../gateway/operation/prepared-operation.ts'
import { makeObserver } from '../../../gateway/transports/fetch-observer.ts'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { makeNotes, makeAnswerRecordings, runReplay } from '../../../gateway/execution/answer-replay.ts'
import { compilePlan } from '../../../gateway/execution/executor.ts'
import { makeRun } from '../../../gateway/execution/run.ts'
import { NAMES, ask, graphSchema, makeContext, openGraph, type Act, type SubgraphName } from '../engine-graph.ts'
import { connectTo, json, startSubgraph, type Handler } from '../transports/http-subgraph.ts'
import { openRemoteGraph, serving, type RemoteGraph } from '../transports/remote-graph.ts'

/** Three waves over three subgraphs: feed; cost; score. */
const QUERY = '{ feed { id title score viewerProgress { position } owner { likes } } looseFeed { likeCount } }'

/** Runs the query as the front does. `bytes` is true if the answer was bytes. */
async function run(engine: Engine, query = QUERY, variables?: Record<string, unknown>, context: RequestContext = makeContext()) {
  const operation = engine.prepare(query)
  if ('errors' in operation) throw new Error(operation.errors.join())
  const answer = await (operation.executeToJson ?? operation.execute)(variables, context)
  const bytes = Buffer.isBuffer(answer)
  return { bytes, answer: JSON.parse(bytes ? answer.toString() : JSON.stringify(answer)) as unknown }
}

const received = ({ subgraphs }: RemoteGraph) => NAMES.map((name) => subgraphs[name].received.length)
const added = (after: number[], before: number[]) => after.map((count, index) => count - (before[index] ?? 0))

/** Runs the query until its answers are cached and one is recorded. Resolves to the calls that one request makes. */
async function warmUp(graph: RemoteGraph, query = QUERY, variables?: Record<string, unknown>): Promise<number[]> {
  let before = received(graph)
  for (let time = 0; time < 4; time += 1) {
    before = received(graph)
    await run(graph.engine, query, variables)
  }
  return added(received(graph), before)
}

describe('an answer whose parts do not change', () => {
  test('a replayed answer is the same, and every request makes all its calls', async () => {
    for (const dedupe of [true, false]) {
      const graph = await openRemoteGraph({}, { dedupe })
      const expected = await ask(openGraph(), QUERY)
      const kinds: boolean[] = []
      const perRequest: number[][] = []
      for (let time = 0; time < 5; time += 1) {
        const before = received(graph)
        const { bytes, answer } = await run(graph.engine)
        expect(answer).toEqual(expected)
        perRequest.push(added(received(graph), before))
        kinds.push(bytes)
      }
      expect(new Set(perRequest.map(String)).size).toBe(1)
      expect(perRequest[0]?.filter((calls) => calls > 0).length).toBe(3)
      expect(kinds).toEqual([false, true, true, true, true])
    }
  })

  test('a replayed answer is the recorded buffer itself', async () => {
    const { engine } = await openRemoteGraph()
    const operation = engine.prepare('{ feed { cost } }')
    if ('errors' in operation) throw new Error(operation.errors.join())
    const answers: unknown[] = []
    for (let time = 0; time < 5; time += 1) answers.push(await operation.executeToJson?.(undefined, makeContext()))
    expect(answers[3]).toBe(answers[2])
    expect(answers[4]).toBe(answers[2])
  })

  test('an answer changes as soon as one part of it does, in any wave, and no call is made twice', async () => {
    const changes: Record<string, Act> = {
      'Video.title': ({ id }) => `new ${id}`,
      'Video.cost': ({ id }) => Number(id) * 1_000,
      'Video.score': () => 5,
      'Owner.likes': () => null,
      'Query.feed': () => [{ id: '5', owner: { id: 'o9' } }],
      'Video.viewerProgress': () => null,
    }
    const context = makeContext()
    const graph = await openRemoteGraph({}, { dedupe: false }, context)
    const calls = (await warmUp(graph)).reduce((sum, count) => sum + count)
    for (const [field, change] of Object.entries(changes)) {
      context.act = { [field]: change }
      const expected = await ask(openGraph(), QUERY, undefined, makeContext(context.act))
      for (let time = 0; time < 4; time += 1) {
        const before = received(graph)
        expect((await run(graph.engine)).answer, field).toEqual(expected)
        expect(added(received(graph), before).reduce((sum, count) => sum + count)).toBe(calls)
      }
      context.act = {}
      await warmUp(graph)
    }
  })
})

describe('a recorded answer', () => {
  test('a recording is not used while a subgraph answers errors or not at all, and is used again later', async () => {
    const graph = await openRemoteGraph({}, { dedupe: false, retries: 0, failuresMax: 100 })
    await warmUp(graph)
    const expected = await ask(openGraph(), QUERY)
    for (const broken of [
      ((_, response) => json(response, { data: null, errors: [{ message: 'secret' }] })) as Handler,
      ((_, response) => json(response, '<html>', 500)) as Handler,
      ((_, __, socket) => socket.destroy()) as Handler,
    ]) {
      graph.subgraphs.thumbup.handle(broken)
      const { bytes, answer } = await run(graph.engine)
      const { errors = [], data } = answer as { errors?: unknown[]; data: unknown }
      expect([bytes, errors.length > 0]).toEqual([false, true])
      expect(data).not.toEqual(expected.data)
      graph.subgraphs.thumbup.handle(serving(graphSchema('thumbup')))
      expect((await run(graph.engine)).answer).toEqual(expected)
    }
  })

  test('a recording belongs to its variables', async () => {
    const query = 'query ($n: Int!, $likes: Boolean!) { feed(first: $n) { id likeCount @include(if: $likes) } }'
    const graph = await openRemoteGraph()
    for (let time = 0; time < 4; time += 1)
      for (const variables of [1, 2, 3].flatMap((n) => [true, false].map((likes) => ({ n, likes }))))
        expect((await run(graph.engine, query, variables)).answer).toEqual(await ask(openGraph(), query, variables))
    expect((await run(graph.engine, query, { n: 3, likes: true })).bytes).toBe(true)
    expect((await run(graph.engine, query, { n: 'x', likes: true })).answer).toMatchObject({ errors: [{}] })
  })

  test('a difference in one call does not wait for another call under way', async () => {
    const graph = await openRemoteGraph({}, { dedupe: false })
    const fetch = (serviceName: SubgraphName, operation: string) => ({
      kind: 'Fetch' as const,
      serviceName,
      operationKind: 'query' as const,
      operation,
    })
    const branch = { kind: 'Sequence' as const, nodes: [fetch('catalog', '{ numbers }'), fetch('thumbup', '{ topScore }')] }
    const nodes = [branch, fetch('history', '{ progressCount }')]
    const plan = compilePlan({ kind: 'Parallel', nodes }, new Map(Object.entries(graph.transports)), () => new Set())
    const notes = makeNotes()
    for (let time = 0; time < 3; time += 1) await plan.step(makeRun({}, {}, {}, { notes }))
    graph.subgraphs.catalog.handle((_, response) => json(response, { data: { numbers: [4] } }))
    let answerLate = (): void => undefined
    graph.subgraphs.history.handle((_, response) => (answerLate = () => json(response, { data: { progressCount: 8 } })))
    const before = received(graph)
    const recording = { ...notes, json: Buffer.from('{}') }
    const { outcome, begun } = await runReplay(recording, (replay) => plan.step(makeRun({}, {}, {}, { replay })))
    expect([plan.replayable, outcome, begun.length]).toEqual([true, 'differs', 3])
    const again = makeRun({}, {}, {}, { notes: makeNotes(begun) })
    const pending = plan.step(again)
    while (graph.subgraphs.thumbup.received.length < 4) await new Promise((resolve) => setImmediate(resolve))
    answerLate()
    await pending
    expect(again.data).toEqual({ numbers: [4], topScore: 99, progressCount: 8 })
    expect(added(received(graph), before)).toEqual([1, 1, 1, 0])
  })

  test('mutations and operations on a subgraph of this process are not recorded', async () => {
    const graph = await openRemoteGraph()
    const likes = makeContext()
    const mixed = openGraph((name, transport) => (name === 'thumbup' ? transport : graph.transports[name]))
    for (let time = 0; time < 4; time += 1) {
      expect((await run(graph.engine, 'mutation { add(n: 1) { value } }')).bytes).toBe(false)
      likes.act = { 'Video.likeCount': () => time }
      const { bytes, answer } = await run(mixed, '{ feed(first: 1) { likeCount } }', undefined, likes)
      expect([bytes, answer]).toEqual([false, { data: { feed: [{ likeCount: time }] } }])
    }
  })

  test('a replay counts all its calls, including failed ones', async () => {
    const graph = await openRemoteGraph({}, { retries: 0 })
    const registry = new Registry()
    const observe = makeObserver(registry, undefined)
    const engine = openGraph((name) => observe(name, graph.transports[name]))
    for (let time = 0; time < 5; time += 1) await run(engine, '{ feed { cost } }')
    graph.subgraphs.history.handle((_, __, socket) => socket.destroy())
    await run(engine, '{ feed { cost } }')
    const text = await registry.metrics()
    expect(text).toContain('count{subgraph="history",kind="query",outcome="ok"} 5')
    expect(text).toContain('count{subgraph="history",kind="query",outcome="failed"} 1')
    expect(text).toContain('count{subgraph="catalog",kind="query",outcome="ok"} 6')
  })
})

const SHOP = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@authenticated"])
  type Query { user: User }
  type User { name: String mail: String @authenticated }`

describe('viewers', () => {
  test('a replay sends the viewer in every call, and each viewer gets only their own data', async () => {
    const schema = buildSubgraphSchema([{ typeDefs: parse(SHOP) }])
    expect(schema.getType('User')).toBeDefined()
    const subgraph = await startSubgraph(({ body, headers }, response) => {
      const who = headers['x-viewer'] === 'nobody' ? { name: 'Ida' } : { name: String(headers['x-viewer']), mail: 'ida@example.org' }
      json(response, { data: { user: body.includes('mail') ? who : { name: who.name } } })
    })
    const headers = (context: object) => ({ 'x-viewer': (context as RequestContext).viewer?.id ?? 'nobody' })
    const engine = makeEngine(
      composeSupergraph([{ name: 'shop', sdl: SHOP, url: subgraph.url }]),
      [{ name: 'shop', transport: connectTo(subgraph, { name: 'shop', headers }) }],
      { tokensMax: 100 },
    )
    const query = '{ user { name mail } }'
    for (let time = 0; time < 5; time += 1)
      for (const id of ['1', '1', '1', '2', undefined]) {
        const viewer = id === undefined ? undefined : { id, scopes: [], actor: undefined, expiresAt: undefined }
        const { answer } = await run(engine, query, undefined, { viewer })
        if (id !== undefined) expect(answer).toEqual({ data: { user: { name: id, mail: 'ida@example.org' } } })
        else expect(answer).toMatchObject({ data: { user: { name: 'Ida', mail: null } }, errors: [{ path: ['user', 'mail'] }] })
      }
    expect(subgraph.received.map((call) => call.headers['x-viewer'])).toEqual(
      Array.from({ length: 5 }, () => ['1', '1', '1', '2', 'nobody']).flat(),
    )
  })
})

describe('recordings', () => {
  test('recordings stay within the memory, the oldest are evicted first, and one of more than 1 MiB is not kept', () => {
    const replays = makeAnswerRecordings(makeClientMemory(16_777_216))
    const recording = (bytes: number) => [Object.assign(makeNotes(), { calls: ['x'.repeat(100)] }), Buffer.alloc(bytes)] as const
    for (let key = 0; key < 50; key += 1) replays.set(String(key), ...recording(900_000))
    expect(replays.weight()).toBeGreaterThan(15_000_000)
    expect(replays.weight()).toBeLessThanOrEqual(16_777_216)
    expect([replays.get('0'), replays.get('49')?.json.length]).toEqual([undefined, 900_000])
    replays.set('long', ...recording(1_100_000))
    expect(replays.get('long')).toBe(undefined)
    replays.clear()
    expect([replays.weight(), replays.get('49')]).toEqual([0, undefined])
  })
})
