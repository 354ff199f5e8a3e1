/** `tidemark plan`, run as by an operator. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIGURES } from '../../../cli/plan/figures.ts'
import { runCommand } from '../../../harness/deployment/command.ts'
import { newestResults, readRuns } from '../../../scripts/bench-runs.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-plan-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const plan = (...args: string[]) => runCommand(folder, ['plan', ...args])

async function planned(...args: string[]) {
  const { status, out, error } = await plan(...args, '--json')
  expect(error).toBe('')
  expect(status).toBe(0)
  return JSON.parse(out)
}

it.each(Object.entries(FIGURES))('%s is the figure of the newest run that has its metric', (_, { value, unit, run, metric }) => {
  const [found] = newestResults(readRuns(), run, [metric])
  expect(found).toMatchObject({ value, unit })
})

it('each example of the page prints what the page shows', async () => {
  const page = readFileSync(join(ROOT, 'docs', 'operating', 'plan.md'), 'utf8')
  const examples = [...page.matchAll(/^npm run --silent tidemark -- plan (.+)\n```\n```\n([\s\S]+?)\n```/gm)]
  expect(examples.length).toBeGreaterThanOrEqual(3)
  for (const [, args = '', printed] of examples) {
    const { out } = await plan(...args.split(' '))
    expect(out.split('\nAssumed:')[0]).toBe(printed?.split('\nAssumed:')[0])
  }
})

it('twice the demand takes about twice the resources', async () => {
  const of = (factor: number) => planned('--viewers', String(10_000_000 * factor), '--actives', String(5_000_000 * factor))
  const [one, two] = [await of(1), await of(2)]
  expect(two.redis.memoryGb / one.redis.memoryGb).toBeCloseTo(2, 1)
  expect(two.mysql.diskGb / one.mysql.diskGb).toBeCloseTo(2, 1)
  expect(two.gateways.processes / one.gateways.processes).toBeCloseTo(2, 0)
  expect(two.rates.reports).toBeCloseTo(one.rates.reports * 2)
})

it('the settings of the deployment count: a short timeline takes less of Redis, a longer window writes fewer rows', async () => {
  const args = ['--viewers', '1000000', '--records', '1000', '--writes', '1000']
  const usual = await planned(...args)
  writeFileSync(join(folder, 'small.yaml'), JSON.stringify({ history: { timelineCap: 100, flushAgeMaxMs: 120_000, flushKeysMax: 5_000 } }))
  const changed = await planned(...args, '--config', 'small.yaml')
  expect(changed.redis.memoryGb).toBeLessThan(usual.redis.memoryGb / 5)
  expect(changed.flow.rowsPerSecond).toBeLessThan(usual.flow.rowsPerSecond)
})

it('numbers may have a fraction or an exponent', async () => {
  const { demand, prices } = await planned('--viewers', '1e6', '--price-core', '.5', '--price-memory', '5.', '--price-disk', '1e-3')
  expect([demand.viewers, prices]).toEqual([1_000_000, { core: 0.5, memoryGb: 5, diskGb: 0.001 }])
})

it('rates of the busiest second replace the computed ones', async () => {
  const { rates } = await planned('--viewers', '1000', '--writes', '15000', '--reads', '300000')
  expect(rates).toMatchObject({ reports: 15_000, lookups: 300_000, watching: 225_000 })
})

it.each([
  { args: [], says: "required option '--viewers <number>' not specified" },
  { args: ['--viewers', 'many'], says: 'give a whole number from 1 to 1000000000000' },
  { args: ['--viewers', '10', '--actives', '11'], says: '--actives 11 exceeds --viewers 10' },
  { args: ['--viewers', '10', '--heartbeat', '61'], says: '--heartbeat 61 is longer than history.flushAgeMaxMs (60000 ms)' },
  { args: ['--viewers', '10', '--price-core', '-1'], says: 'give a number from 0 to 1000000' },
  { args: ['--viewers', '0x10'], says: 'give a whole number from 1 to 1000000000000' },
  { args: ['--viewers', '10', '--price-disk', ''], says: 'give a number from 0 to 1000000' },
  { args: ['--viewers', '10', '--likes', ''], says: 'give a whole number from 0 to 100000' },
])('refuses $args with a sentence', async ({ args, says }) => {
  const { status, error, out } = await plan(...args)
  expect(status).toBe(1)
  expect(error).toContain(says)
  expect(out).toBe('')
})
