/** Large bodies arrive together; a small request that arrives after them does not wait for all of them. */
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { makeFront } from '../../gateway/front.ts'
import { makeHttp } from '../../gateway/http.ts'
import { makeIdentify } from '../../gateway/viewer.ts'
import { makeContext, openGraph } from './engine-graph.ts'

it('each large body has a turn of the event loop of its own, and a small request is answered in between', async () => {
  const http = makeHttp(
    makeFront(openGraph(), 'development', {
      identify: makeIdentify({}, 'development'),
      makeContext: () => makeContext(),
      ready: async () => ({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry: new Registry(),
      operationCostMax: Infinity,
    }),
  )
  const answered: string[] = []
  const ask = async (name: string, bytes: number) => {
    const body = JSON.stringify({ query: '{ numbers }', extensions: { fill: 'x'.repeat(bytes) } })
    const { status } = await http({
      method: 'POST',
      url: '/graphql',
      headers: { 'content-type': 'application/json' },
      body,
      address: undefined,
    })
    answered.push(`${name} ${status}`)
  }
  await ask('first', 10)
  await Promise.all([...Array.from({ length: 5 }, () => ask('large', 100_000)), ask('small', 10)])
  expect(answered).toEqual(['first 200', 'small 200', ...Array.from({ length: 5 }, () => 'large 200')])
})
