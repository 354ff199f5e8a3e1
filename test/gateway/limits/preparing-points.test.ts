/** The points that a caller pays for preparing: the real engine behind the front, with real limits that record their calls. */
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../gateway/request/caller.ts'
import { makeFront } from '../../../gateway/request/front.ts'
import { systemClock } from '../../../core/clock.ts'
import { makePreparingLimit } from '../../../gateway/limits/preparing-limit.ts'
import { makeRateLimits } from '../../../gateway/limits/rate-limits.ts'
import { makeIdentify } from '../../../gateway/identity/identify.ts'
import { makeContext, openGraph } from '../engine-graph.ts'

const CALLER: Caller = { viewer: { id: '1', scopes: [] }, client: undefined, address: undefined }

function open(points: number, operationCostMax = Infinity) {
  const limits = makeRateLimits({ viewer: { points, perSeconds: 600 } }, undefined, { warn() {} })
  if (limits === undefined) throw new Error('nothing is limited')
  const spent: number[] = []
  const front = makeFront(openGraph(), 'production', {
    identify: makeIdentify({}, 'development'),
    makeContext: () => makeContext(),
    ready: async () => ({ ok: true, stores: {} }),
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    operationCostMax,
    limits: {
      ...limits,
      spend(caller, cost) {
        spent.push(cost)
        return limits.spend(caller, cost)
      },
    },
  })
  const ask = async (query: string, variables?: Record<string, unknown>) => {
    const request = { query, operationName: undefined, variables }
    const prepared = await front.preparation.prepare(request, CALLER)
    if ('errors' in prepared) return prepared.errors[0]?.extensions['code']
    const result = await front.operationRuns.execute(prepared, request, CALLER)
    return result.errors?.[0]?.extensions['code'] ?? 'answered'
  }
  /** Points that were spent since the last call. This front does not charge for running operations. */
  const look = () => spent.splice(0).reduce((sum, cost) => sum + cost, 0)
  return { ask, look }
}

const roots = (count: number, of: (index: number) => string) => Array.from({ length: count }, (_, index) => of(index)).join(' ')
const BIG = `{ ${roots(40, (index) => `v${index}: video(id: "1") { title score viewerProgress { subject { title likers { name likes } } } }`)} }`

describe('preparing', () => {
  it('costs points for each millisecond: a known operation costs nothing, and a new one costs each time', async () => {
    const { ask, look } = open(1_000_000)
    expect(await ask(BIG)).toBe('answered')
    expect(look()).toBeGreaterThan(10)
    expect(await ask(BIG)).toBe('answered')
    expect(look()).toBe(0)
    expect(await ask(`${BIG} # 1`)).toBe('answered')
    expect(look()).toBeGreaterThan(10)
  })

  it('costs points for an operation that is refused as too costly, each time that it comes', async () => {
    const { ask, look } = open(1_000_000, 10)
    expect(await ask(BIG)).toBe('OPERATION_TOO_COSTLY')
    look()
    for (let count = 0; count < 3; count++) {
      expect(await ask(BIG)).toBe('OPERATION_TOO_COSTLY')
      expect(look()).toBeGreaterThan(0)
    }
  })

  it('costs points for new values of conditions, and none for known ones', async () => {
    const { ask, look } = open(1_000_000)
    const query = `query ($a: Boolean!, $b: Boolean!) ${BIG.replace('{', '{ numbers @include(if: $a)').replace('v1:', 'kind @skip(if: $b) v1:')}`
    expect(await ask(query, { a: true, b: false })).toBe('answered')
    look()
    expect(await ask(query, { a: true, b: false })).toBe('answered')
    expect(look()).toBe(0)
    expect(await ask(query, { a: false, b: true })).toBe('answered')
    expect(look()).toBeGreaterThan(10)
    expect(await ask(query, { a: false, b: true })).toBe('answered')
    expect(look()).toBe(0)
  })

  it('is limited: a caller that keeps sending new operations is refused before they are read', async () => {
    const { ask } = open(200)
    const answers: unknown[] = []
    for (let round = 0; round < 40; round += 1) answers.push(await ask(`${BIG} # ${round}`))
    expect(answers[0]).toBe('answered')
    expect(answers.at(-1)).toBe('RATE_LIMITED')
  })
})

describe('a caller that has used up the limit of preparing', () => {
  const openWith = (points: number) => {
    const front = makeFront(openGraph(), 'production', {
      identify: makeIdentify({}, 'development'),
      makeContext: () => makeContext(),
      ready: async () => ({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry: new Registry(),
      preparing: makePreparingLimit({ points, perSeconds: 86_400 }, systemClock),
    })
    return async (query: string, variables: Record<string, unknown> = {}, caller = CALLER) => {
      const request = { query, operationName: undefined, variables }
      const prepared = await front.preparation.prepare(request, caller)
      if ('errors' in prepared) return prepared.errors[0]?.extensions['code']
      const result = await front.operationRuns.execute(prepared, request, caller)
      return result.errors?.[0]?.extensions['code'] ?? 'answered'
    }
  }

  it('gets no new operation and keeps the known ones, and other callers are not affected', async () => {
    const ask = openWith(1)
    expect(await ask('{ numbers }')).toBe('answered')
    expect(await ask('{ kind }')).toBe('RATE_LIMITED')
    expect(await ask(BIG)).toBe('RATE_LIMITED')
    expect(await ask('{ numbers }')).toBe('answered')
    expect(await ask('{ kind }', {}, { ...CALLER, viewer: { id: '2', scopes: [] } })).toBe('answered')
    expect(await ask('{ kind }')).toBe('answered')
  })

  it('gets no new combination of conditions of a known operation', async () => {
    const ask = openWith(1)
    const query = `query ($a: Boolean!) ${BIG.replace('{', '{ numbers @include(if: $a)')}`
    expect(await ask(query, { a: true })).toBe('answered')
    expect(await ask(query, { a: false })).toBe('RATE_LIMITED')
    expect(await ask(query, { a: true })).toBe('answered')
  })
})
