/** What preparing costs the one who asks for it: the real engine behind the front, with real limits whose calls are written down. */
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../gateway/caller.ts'
import { makeFront } from '../../gateway/front.ts'
import { makeRateLimits } from '../../gateway/rate-limits.ts'
import { makeIdentify } from '../../gateway/viewer.ts'
import { makeContext, openGraph } from './engine-graph.ts'

const CALLER: Caller = { viewer: { id: '1', scopes: [] }, client: undefined, address: undefined }

function open(points: number) {
  const limits = makeRateLimits({ viewer: { points, perSeconds: 600 } }, undefined, { warn() {} })
  if (limits === undefined) throw new Error('nothing is limited')
  const spent: number[] = []
  const front = makeFront(openGraph(), 'production', {
    identify: makeIdentify({}, 'development'),
    makeContext: () => makeContext(),
    ready: async () => ({ ok: true, stores: {} }),
    log: pino({ level: 'silent' }),
    registry: new Registry(),
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
    const prepared = front.prepare(request, CALLER)
    if ('errors' in prepared) return prepared.errors[0]?.extensions['code']
    const result = await front.execute(prepared, request, CALLER)
    return result.errors?.[0]?.extensions['code'] ?? 'answered'
  }
  /** Points spent since the last look, of a front that never asks what running costs. */
  const look = () => spent.splice(0).reduce((sum, cost) => sum + cost, 0)
  return { ask, look }
}

const roots = (count: number, of: (index: number) => string) => Array.from({ length: count }, (_, index) => of(index)).join(' ')
const BIG = `{ ${roots(40, (index) => `v${index}: video(id: "1") { title score viewerProgress { subject { title likers { name likes } } } }`)} }`

describe('preparing', () => {
  it('costs points for each millisecond, once: an operation that is known costs nothing, one that is new each time costs each time', async () => {
    const { ask, look } = open(1_000_000)
    expect(await ask(BIG)).toBe('answered')
    expect(look()).toBeGreaterThan(10)
    expect(await ask(BIG)).toBe('answered')
    expect(look()).toBe(0)
    expect(await ask(`${BIG} # 1`)).toBe('answered')
    expect(look()).toBeGreaterThan(10)
  })

  it('costs for values of conditions that are new, and not for those that are known', async () => {
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

  it('has its limit: who sends new operations on and on is refused before they are read', async () => {
    const { ask } = open(200)
    const answers: unknown[] = []
    for (let round = 0; round < 40; round += 1) answers.push(await ask(`${BIG} # ${round}`))
    expect(answers[0]).toBe('answered')
    expect(answers.at(-1)).toBe('RATE_LIMITED')
  })
})
