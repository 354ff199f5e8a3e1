import { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { makeAnswerMetrics } from '../../../gateway/request/answer-metrics.ts'

const withCode = (code: string) => ({ extensions: { code } })

async function linesAfter(count: (metrics: ReturnType<typeof makeAnswerMetrics>) => void): Promise<string[]> {
  const registry = new Registry()
  count(makeAnswerMetrics(registry))
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

test('an operation with several errors of the server has failed once', async () => {
  const lines = await linesAfter((metrics) => {
    metrics.countErrors('query', [withCode('INTERNAL'), withCode('RECORD_STORE_UNAVAILABLE'), withCode('INTERNAL')])
  })
  expect(lines).toContain('tidemark_gateway_failed_total{kind="query"} 1')
  expect(lines).toContain('tidemark_gateway_errors_total{code="INTERNAL"} 2')
  expect(lines).toContain('tidemark_gateway_errors_total{code="RECORD_STORE_UNAVAILABLE"} 1')
})

test('mistakes of callers, refusals and codes of partners are counted as errors and not as failures', async () => {
  const lines = await linesAfter((metrics) => {
    for (const code of ['ID_INVALID', 'RATE_LIMITED', 'OUT_OF_STOCK']) metrics.countErrors('mutation', [withCode(code)])
    metrics.countErrors('mutation', [])
    metrics.countErrors('mutation', undefined)
  })
  expect(lines).toContain('tidemark_gateway_failed_total{kind="mutation"} 0')
  expect(lines.filter((line) => line.startsWith('tidemark_gateway_errors_total'))).toHaveLength(3)
})

test('codes that partners invent share one series after the first hundred', async () => {
  const lines = await linesAfter((metrics) => {
    for (let at = 0; at < 150; at++) metrics.countErrors('query', [withCode(`CODE_${at}`)])
  })
  expect(lines).toContain('tidemark_gateway_errors_total{code="other"} 50')
})

test('an answer that lacked two stores is counted for both, and is no failure', async () => {
  const lines = await linesAfter((metrics) => {
    metrics.countDegraded(new Set(['hotStore', 'recordStore']))
    metrics.countDegraded(new Set())
    metrics.countDegraded(undefined)
  })
  expect(lines).toContain('tidemark_gateway_degraded_total{store="hotStore"} 1')
  expect(lines).toContain('tidemark_gateway_degraded_total{store="recordStore"} 1')
  expect(lines).toContain('tidemark_gateway_failed_total{kind="query"} 0')
})
