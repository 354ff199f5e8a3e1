import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

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

test('npm start, npm run tidemark and the image bound the young generation alike, and NODE_OPTIONS overrides them', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const options = ['start', 'tidemark'].map(
    (name) => /NODE_OPTIONS="(--max-semi-space-size=\d+) \$NODE_OPTIONS"/.exec(scripts[name] ?? '')?.[1],
  )
  const image = /^ENV NODE_OPTIONS=(.*)$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1]
  expect(image).toBeDefined()
  expect(options).toEqual([image, image])
})
