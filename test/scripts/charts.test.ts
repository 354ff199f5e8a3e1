/** Recorded runs, and the charts that are drawn from them. */
import { describe, expect, test } from 'vitest'
import { middleOf, newestResults, type RecordedResult, type Run } from '../../scripts/bench-runs.ts'
import { barsOf } from '../../scripts/charts/bars.ts'
import { plantedRepository } from './planted.ts'

const result = (metric: string, value: RecordedResult['value']): RecordedResult => ({ metric, value, unit: 'ms', target: null, ok: true })
const run = (...results: RecordedResult[]): Run => ({ name: 'page', command: '', date: '', versions: {}, conditions: '', results })

describe('newest results', () => {
  test('a later run counts, but only if it has all of the metrics', () => {
    const runs = [run(result('p50', 1), result('p99', 2)), run(result('p50', 3), result('p99', 4)), run(result('p50', 5))]
    expect(newestResults(runs, 'page', ['p99', 'p50'])).toEqual([result('p99', 4), result('p50', 3)])
    expect(newestResults(runs, 'page', ['p50'])).toEqual([result('p50', 5)])
  })

  test('a metric that no run has is an error with its name', () => {
    expect(() => newestResults([run(result('p50', 1))], 'page', ['p90'])).toThrow('no run of page with all of: p90')
  })

  test('several values count by their median', () => {
    expect(middleOf(result('p50', [9, 1, 10]))).toBe(9)
    expect(middleOf(result('p50', [1, 4]))).toBe(2.5)
    expect(() => middleOf(result('p50', 'does not start'))).toThrow('p50 has no figure: does not start')
  })
})

test('a bar is as long as its share of the longest, and its words have the same figures', () => {
  const bars = [
    { label: 'ours', value: 5, kind: 'ours' },
    { label: 'a < b', value: 20, kind: 'other' },
  ] as const
  const { svg, words } = barsOf('Cost', [{ heading: 'CPU, ms', bars }])
  const [ours = 0, other = 0] = [...svg.matchAll(/width="([\d.]+)" height="18"/g)].map(([, width]) => Number(width))
  expect(ours / other).toBeCloseTo(0.25)
  expect(svg).toContain('a &lt; b')
  expect(words).toBe('Cost. CPU, ms: ours 5; a < b 20.')
})

describe('the script', () => {
  const { plant, script } = plantedRepository()

  test('writes the charts and their words, and --check then names a file that was changed', () => {
    plant('bench/RESULTS.md', '![](charts/gateway.svg)\n')
    expect(script('charts')).toEqual({ status: 0, findings: [], printed: [] })
    expect(script('charts', '--check')).toEqual({ status: 0, findings: [], printed: [] })
    plant('bench/RESULTS.md', '![old words](charts/gateway.svg)\n')
    plant('bench/charts/growth.svg', '<svg/>')
    expect(script('charts', '--check')).toEqual({
      status: 1,
      findings: ['bench/RESULTS.md', 'bench/charts/growth.svg'].map(
        (path) => `${path} no longer fits bench/runs.jsonl: run "npm run charts" and commit the result`,
      ),
      printed: [],
    })
  })
})
