/** A graph that changes while it serves: over real sockets, with a real partner. */
import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { VIDEOS, startPartner } from '../../support/partner.ts'
import { ask, begin, countOf, endAll, ends, follow, moveTo, sse } from './served.ts'
import { until } from '../../../harness/until.ts'

const LONGER = VIDEOS.replace('title: String', 'title: String length: Int')
const RENAMED = VIDEOS.replace('title: String', 'name: String')
const GUARDED = VIDEOS.replace('title: String', 'title: String @guard').replace('"@key"', '"@key", "@authenticated", "@requiresScopes"')
const BROKEN = VIDEOS.replace('title: String', 'title: String position: Int')
afterEach(endAll)

describe('reasons for a reload', () => {
  test('a schema file that is written, or renamed over the old one, causes a reload', async () => {
    const { url, file, partner } = await begin('file')
    expect(await ask(url, '{ watched { id title position } }')).toEqual({
      data: { watched: [{ id: '1', title: 'title of 1', position: 7 }] },
    })
    partner.become(LONGER)
    writeFileSync(file, LONGER)
    await until('length is known', async () => (await ask(url, '{ watched { length } }')).errors === undefined)
    partner.become(RENAMED)
    writeFileSync(`${file}.new`, RENAMED)
    renameSync(`${file}.new`, file)
    await until('name is known', async () => (await ask(url, '{ watched { name } }')).errors === undefined)
    expect((await ask(url, '{ watched { title } }')).errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED')
  })

  test('a changed schema at a polled address causes a reload', async () => {
    const { url, partner, registry } = await begin('url', { pollMs: 50 })
    partner.become(LONGER)
    await until('length is known', async () => (await ask(url, '{ watched { length } }')).errors === undefined)
    await until('later polls find nothing new', async () => (await countOf(registry, 'unchanged')) > 1)
    expect(await countOf(registry, 'swapped')).toBe(1)
  })

  test('an operator causes a reload, and several requests at once share one further look', async () => {
    const { supergraph, partner, registry } = await begin('url')
    partner.become(LONGER)
    const calls = partner.calls()
    const results = await Promise.all(['a', 'b', 'c', 'd'].map((reason) => supergraph.reload(reason)))
    expect(results).toEqual(['swapped', 'unchanged', 'unchanged', 'unchanged'])
    expect(partner.calls() - calls).toBe(2)
    expect(await countOf(registry, 'unchanged')).toBe(1)
  })
})

describe('a graph that cannot serve', () => {
  test('the old graph still serves, one error is logged for repeated failures, and metrics count them', async () => {
    const { url, supergraph, partner, logged, registry } = await begin('url')
    expect(await registry.metrics()).toContain('tidemark_supergraph_reloads_total{result="failed"} 0')
    const { hash } = supergraph.current()
    partner.become(BROKEN)
    expect([await supergraph.reload('poll'), await supergraph.reload('poll')]).toEqual(['failed', 'failed'])
    expect(await ask(url, '{ watched { title } }')).toEqual({ data: { watched: [{ title: 'title of 1' }] } })
    const errors = logged.filter(({ level }) => level >= 50)
    expect(errors).toHaveLength(1)
    expect(errors[0]?.msg).toMatch(
      /the supergraph was not reloaded, and the old one still serves: the subgraphs history, videos do not compose/,
    )
    expect(await countOf(registry, 'failed')).toBe(2)
    expect(await registry.metrics()).toContain(`tidemark_supergraph_info{hash="${hash}"} 1`)
    partner.become(LONGER)
    expect(await supergraph.reload('poll')).toBe('swapped')
    const metrics = await registry.metrics()
    expect(metrics).toContain(`tidemark_supergraph_info{hash="${supergraph.current().hash}"} 1`)
    expect(metrics).not.toContain(hash)
  })

  test('a partner that is down during a reload changes nothing', async () => {
    const { url, supergraph, partner, logged } = await begin('url')
    partner.answer((_, response) => response.writeHead(500).end('<html>'))
    expect(await supergraph.reload('poll')).toBe('failed')
    expect(logged.at(-1)?.msg).toContain('answers with HTTP 500 but without JSON')
    partner.answer(undefined)
    expect(await ask(url, '{ watched { title } }')).toEqual({ data: { watched: [{ title: 'title of 1' }] } })
  })

  test('a check sees the new graph and refuses it, and without refusals the graph serves', async () => {
    const { supergraph, partner, logged } = await begin('url')
    const committed: string[] = []
    supergraph.addCheck((candidate) => {
      const prepared = candidate.prepare('query Feed { watched { title } }')
      const refusals = 'errors' in prepared ? prepared.errors.map(({ message }) => `Feed: ${message}`) : []
      return { refusals, commit: () => committed.push(supergraph.engine.schema === candidate.schema ? 'serves' : 'not yet') }
    })
    partner.become(RENAMED)
    expect(await supergraph.reload('x')).toBe('failed')
    expect(logged.at(-1)?.msg).toContain('Feed: Cannot query field "title" on type "Video".')
    expect([supergraph.engine.engines(), committed]).toEqual([1, []])
    partner.become(LONGER)
    const swaps: string[] = []
    supergraph.onSwap(() => swaps.push(supergraph.current().hash))
    expect(await supergraph.reload('x')).toBe('swapped')
    expect(swaps).toEqual([supergraph.current().hash])
    expect(committed).toEqual(['serves'])
  })
})

describe('connections', () => {
  test('connections of a refused graph are closed: ten moves of a partner that never served leave none open', async () => {
    const { url, supergraph, partner, file, closedRemotes } = await begin('file')
    supergraph.addCheck(() => ({ refusals: ['nobody wants it'] }))
    for (let round = 1; round <= 10; round += 1) {
      moveTo(`${partner.url}?move=${round}`, file)
      expect(await supergraph.reload('x')).toBe('failed')
      await until('its connections are closed', () => closedRemotes() === round)
    }
    expect(supergraph.engine.engines()).toBe(1)
    expect(await ask(url, '{ watched { title } }')).toEqual({ data: { watched: [{ title: 'title of 1' }] } })
  })

  test('connections of a replaced graph stay for lingerMs, for operations that were prepared on it', async () => {
    const { supergraph, partner, file, closedRemotes } = await begin('file', { lingerMs: 3_000 })
    const prepared = supergraph.engine.prepare('{ watched { title } }')
    if ('errors' in prepared) throw new Error(String(prepared.errors))
    const elsewhere = await startPartner(LONGER)
    ends.push(() => elsewhere.stop())
    moveTo(elsewhere.url, file)
    expect(await supergraph.reload('x')).toBe('swapped')
    await wait(100)
    const calls = partner.calls()
    expect(JSON.parse(JSON.stringify(await prepared.execute({}, {})))).toEqual({ data: { watched: [{ title: 'title of 1' }] } })
    expect(partner.calls()).toBe(calls + 1)
    expect(closedRemotes()).toBe(0)
    await until('the old engine is released', () => supergraph.engine.engines() === 1 && closedRemotes() === 1)
  })
})

describe('requests under way', () => {
  test('a request that waits in its first wave is answered by the old graph after its partner moved', async () => {
    const { url, supergraph, partner, file, openGate, waiting, closedRemotes } = await begin('file')
    const slow = ask(url, '{ slow { id title } }')
    await until('it waits', () => waiting() === 1)
    const elsewhere = await startPartner(RENAMED, { Video: { name: () => 'elsewhere' } })
    ends.push(() => elsewhere.stop())
    writeFileSync(file, RENAMED)
    moveTo(elsewhere.url, file)
    await supergraph.reload('x')
    expect(await ask(url, '{ watched { name } }')).toEqual({ data: { watched: [{ name: 'elsewhere' }] } })
    await wait(50)
    expect([supergraph.engine.engines(), closedRemotes()]).toEqual([2, 0])
    const calls = partner.calls()
    openGate()
    expect(await slow).toEqual({ data: { slow: { id: '9', title: 'title of 9' } } })
    expect(partner.calls()).toBe(calls + 1)
    await until('the old engine is released', () => supergraph.engine.engines() === 1 && closedRemotes() === 1)
  })

  test('an observer wraps the transports of our subgraphs and of partners, and those of a new graph', async () => {
    const seen: string[] = []
    const { url, supergraph, partner } = await begin('url', {}, (subgraph, transport) => ({
      ...transport,
      compile(operation) {
        seen.push(`${subgraph}: ${operation.text.includes('length') ? 'length' : 'title'}`)
        return transport.compile(operation)
      },
    }))
    await ask(url, '{ watched { title } }')
    partner.become(LONGER)
    await supergraph.reload('x')
    await ask(url, '{ watched { length } }')
    expect(seen).toEqual(['history: title', 'videos: title', 'history: title', 'videos: length'])
  })

  test('connections to a partner with an unchanged address are kept', async () => {
    const { url, supergraph, partner, closedRemotes } = await begin('url')
    partner.become(LONGER)
    await supergraph.reload('x')
    await until('the old engine is released', () => supergraph.engine.engines() === 1)
    expect(closedRemotes()).toBe(0)
    expect(await ask(url, '{ watched { title } }')).toEqual({ data: { watched: [{ title: 'title of 1' }] } })
  })
})

describe('subscriptions under way', () => {
  test('a subscription that the new graph allows continues, over WebSocket and SSE', async () => {
    const { url, supergraph, partner, ticks } = await begin('url')
    const socket = follow(url, 'subscription { ticks { id title } }')
    const events = await sse(url, 'subscription { ticks { id title } }')
    await until('both are open', () => ticks.open() === 2)
    partner.become(LONGER)
    expect(await supergraph.reload('x')).toBe('swapped')
    ticks.emit('5')
    const expected = { data: { ticks: { id: '5', title: 'title of 5' } } }
    expect(await socket.next()).toEqual({ done: false, value: expected })
    expect(await events.next()).toEqual(expected)
    expect(supergraph.engine.engines()).toBe(2)
    await socket.return?.()
    events.end()
    await until('nothing holds the old engine', () => supergraph.engine.engines() === 1)
    expect(ticks.open()).toBe(0)
  })

  test('a subscription that the new graph does not allow ends with the reason, and its source is closed', async () => {
    const { url, supergraph, partner, ticks, logged } = await begin('url')
    const socket = follow(url, 'subscription { ticks { id title } }')
    const kept = follow(url, 'subscription { ticks { id } }')
    const events = await sse(url, 'subscription { ticks { title } }')
    await until('all are open', () => ticks.open() === 3)
    partner.become(RENAMED)
    expect(await supergraph.reload('x')).toBe('swapped')
    const message = expect.stringContaining('no longer allows this subscription: Cannot query field "title" on type "Video"')
    const error = {
      errors: [expect.objectContaining({ message, extensions: expect.objectContaining({ code: 'GRAPHQL_VALIDATION_FAILED' }) })],
    }
    expect(await socket.next()).toEqual({ done: false, value: error })
    expect((await socket.next()).done).toBe(true)
    expect(await events.next()).toEqual(error)
    expect(await events.next()).toBe('complete')
    expect(ticks.open()).toBe(1)
    ticks.emit('6')
    expect(await kept.next()).toEqual({ done: false, value: { data: { ticks: { id: '6' } } } })
    expect(logged.find(({ msg }) => msg === 'the supergraph was reloaded')).toMatchObject({ subscriptionsEnded: 2, subscriptionsKept: 1 })
    await kept.return?.()
  })

  for (const [directive, code] of [
    ['@authenticated', 'UNAUTHENTICATED'],
    ['@requiresScopes(scopes: [["titles"]])', 'UNAUTHORIZED_FIELD_OR_TYPE'],
  ] as const) {
    test(`a subscription ends if the new graph denies its viewer more than before, by ${directive}, and continues for a viewer with the grant`, async () => {
      const { url, supergraph, partner, ticks } = await begin('url')
      const [denied, granted] =
        code === 'UNAUTHENTICATED' ? [{}, { viewerId: '1' }] : [{ viewerId: '1' }, { viewerId: '1', viewerScopes: 'titles' }]
      const query = 'subscription { ticks { id ...T } } fragment T on Video { title }'
      const socket = follow(url, query, denied)
      const other = follow(url, query, granted)
      const plain = follow(url, 'subscription { ticks { id } }', denied)
      const events = await sse(url, query, 'viewerId' in denied ? { 'x-viewer-id': '1' } : {})
      await until('all are open', () => ticks.open() === 4)
      partner.become(GUARDED.replace('@guard', directive))
      expect(await supergraph.reload('x')).toBe('swapped')
      const message = expect.stringContaining('The graph has changed and no longer allows this subscription')
      const error = { errors: [expect.objectContaining({ message, extensions: expect.objectContaining({ code }) })] }
      expect(await socket.next()).toEqual({ done: false, value: error })
      expect((await socket.next()).done).toBe(true)
      expect([await events.next(), await events.next()]).toEqual([error, 'complete'])
      expect(ticks.open()).toBe(2)
      ticks.emit('5')
      expect((await other.next()).value).toEqual({ data: { ticks: { id: '5', title: 'title of 5' } } })
      expect((await plain.next()).value).toEqual({ data: { ticks: { id: '5' } } })
      await Promise.all([other.return?.(), plain.return?.()])
    })
  }

  test('a subscription with a denied field continues if the new graph denies no further field', async () => {
    const { url, supergraph, partner, ticks } = await begin('url')
    partner.become(GUARDED.replace('@guard', '@authenticated'))
    await supergraph.reload('x')
    const socket = follow(url, 'subscription { ticks { id title } }')
    await until('it is open', () => ticks.open() === 1)
    partner.become(GUARDED.replace('@guard', '@authenticated length: Int'))
    expect(await supergraph.reload('x')).toBe('swapped')
    ticks.emit('5')
    expect((await socket.next()).value).toMatchObject({ data: { ticks: { id: '5', title: null } } })
    await socket.return?.()
  })
})

describe('clients that stay connected', () => {
  test('the next operation of an open socket uses the new graph', async () => {
    const { url, supergraph, partner } = await begin('url')
    const client = createClient({ url: `${url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket, lazy: false, retryAttempts: 0 })
    ends.push(() => client.dispose())
    expect((await client.iterate({ query: '{ watched { id } }' }).next()).done).toBe(false)
    partner.become(LONGER)
    await supergraph.reload('x')
    expect((await client.iterate({ query: '{ watched { length } }' }).next()).value).toEqual({ data: { watched: [{ length: null }] } })
  })

  test('500 requests during 10 reloads are all answered', async () => {
    const { url, supergraph, partner } = await begin('url')
    let asking = true
    let answered = 0
    const failures: unknown[] = []
    const askers = Array.from({ length: 8 }, async () => {
      while (asking) {
        const answer = await ask(url, '{ watched { title position } }')
        answered += 1
        if (answer.errors !== undefined || answer.data.watched[0].title !== 'title of 1') failures.push(answer)
      }
    })
    for (let round = 0; round < 10; round += 1) {
      partner.become(VIDEOS.replace('title: String', `title: String extra${round}: Int`))
      expect(await supergraph.reload('x')).toBe('swapped')
      await until('some were answered', () => answered > 50 * (round + 1))
    }
    asking = false
    await Promise.all(askers)
    expect(failures).toEqual([])
    expect(answered).toBeGreaterThan(500)
    await until('old engines are released', () => supergraph.engine.engines() === 1)
  })
})
