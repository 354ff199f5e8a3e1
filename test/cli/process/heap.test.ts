import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { collectAtRest } from '../../../cli/process/heap.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** Replaces a tenth of 40 MB of live objects again and again. Prints the maximum size of the heap in MB. */
const CHURN = `
  import { boundGarbage } from ${JSON.stringify(join(ROOT, 'cli', 'process', 'heap.ts'))}
  boundGarbage(Number(process.argv[1]))
  const living = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'x' + index }))
  let most = 0
  for (let round = 0; round < 120; round += 1) {
    for (let index = 0; index < living.length; index += 10) living[(index + round) % living.length] = { index, text: 'y' + index }
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, process.memoryUsage().heapUsed)
  }
  console.log(most / 1_048_576)`

function mostOf(percent: number): number {
  const args = ['--max-semi-space-size=1', '--input-type=module', '--eval', CHURN, String(percent)]
  return Number(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout)
}

test('the heap of a process with bounded garbage stays near the size of its live objects', () => {
  const [bounded, free] = [mostOf(20), mostOf(400)]
  expect(bounded).toBeGreaterThan(20)
  expect(bounded).toBeLessThan(free * 0.7)
})

/** The notes of V8 about allocation sites with long-lived objects. */
function notesOfPlaces(begin: string): string[] {
  const code = `
    import { makeAllYoung } from ${JSON.stringify(join(ROOT, 'cli', 'process', 'heap.ts'))}
    ${begin}
    const kept = []
    const make = () => ({ list: [1, 2, 3] })
    for (let index = 0; index < 1_000_000; index += 1) kept.push(make())`
  const { stdout, status } = spawnSync(process.execPath, ['--trace-pretenuring-statistics', '--input-type=module', '--eval', code], {
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  return stdout.split('\n').filter((line) => line.includes('AllocationSite'))
}

test('no allocation site allocates directly in the old generation', () => {
  expect(notesOfPlaces('')).not.toEqual([])
  expect(notesOfPlaces('makeAllYoung()')).toEqual([])
})

/** Makes garbage that survives in a full young generation, and rests. Prints the committed memory of the heap before and after, in MB. */
const REST = `
  import { getHeapStatistics } from 'node:v8'
  import { collectAtRest } from ${JSON.stringify(join(ROOT, 'cli', 'process', 'heap.ts'))}
  import { systemClock } from ${JSON.stringify(join(ROOT, 'core', 'clock.ts'))}
  let garbage = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'x' + index }))
  garbage = undefined
  const size = () => getHeapStatistics().total_physical_size / 1_048_576
  const before = size()
  collectAtRest(systemClock)
  setTimeout(() => console.log(JSON.stringify([before, size(), typeof gc])), 11_500)`

test('a process that comes to rest gives garbage back', () => {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', REST], { encoding: 'utf8' })
  const [before, after, type] = JSON.parse(stdout) as [number, number, string]
  expect(before).toBeGreaterThan(20)
  expect(after).toBeLessThan(before / 2)
  expect(type).toBe('undefined')
})

test('a process collects at rest, not under load, and again after its heap has grown', () => {
  const clock = makeSteppedClock()
  let collected = 0
  collectAtRest(clock, () => collected++)
  const begun = process.cpuUsage()
  while (process.cpuUsage(begun).user < 300_000);
  clock.advance(5_000)
  expect(collected).toBe(0)
  clock.advance(5_000)
  expect(collected).toBe(1)
  clock.advance(600_000)
  clock.advance(5_000)
  expect(collected).toBe(1)
  const kept = Array.from({ length: 3_000_000 }, (_, index) => ({ index }))
  clock.advance(5_000)
  clock.advance(5_000)
  expect(collected).toBe(2)
  expect(kept).toHaveLength(3_000_000)
})
