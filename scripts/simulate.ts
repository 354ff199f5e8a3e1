/**
 * Simulates deployments, one per seed, until one breaks a rule: `node scripts/simulate.ts [--seeds N] [--first S]
 * [--world history|thumbup|existence|feed]`. Without a world all run. Prints seeds per second; a failure is told as a short history of
 * events, and exits with 1.
 */
import { parseArgs } from 'node:util'
import { makeComplain, parsedOr, type Complain } from './arguments.ts'
import { simulate, WORLDS, type WorldName } from '../harness/simulation/simulate.ts'

const USAGE = 'usage: npm run simulate -- [--seeds N] [--first S] [--world history|thumbup|existence|feed]'
const DIGITS = /^\d{1,9}$/

const complain: Complain = makeComplain(USAGE)
const { values } = parsedOr(complain, () =>
  parseArgs({
    options: {
      seeds: { type: 'string', default: '10000' },
      first: { type: 'string', default: '1' },
      world: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }),
)
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const asked = WORLDS.filter((world) => values.world === undefined || values.world === world)
if (asked.length === 0) complain(`there is no world "${values.world}": use ${WORLDS.join(' or ')}, or leave --world out for all`)
const [seeds, first] = [wholeNumber('seeds', values.seeds), wholeNumber('first', values.first)]
if (seeds === 0) complain('--seeds 0 simulates nothing: give at least 1')
for (const world of asked) await run(world)

async function run(world: WorldName): Promise<void> {
  const began = performance.now()
  const report = await simulate(world, { first, seeds })
  const seconds = (performance.now() - began) / 1000
  const perSecond = Math.round(report.seeds / seconds)
  const perSeed = Math.round(report.steps / report.seeds)
  console.log(`${world}: ${report.seeds} seeds in ${seconds.toFixed(1)} s: ${perSecond} seeds a second, ${perSeed} events a seed`)
  if (report.failure === undefined) return
  const { seed, message, history } = report.failure
  const again = `again: npm run simulate -- --world ${world} --first ${seed} --seeds 1`
  console.log(`\nseed ${seed} of ${world} fails: ${message}\n\n${history.join('\n')}\n\n${again}`)
  process.exitCode = 1
}

function wholeNumber(name: string, text: string): number {
  if (DIGITS.test(text)) return Number(text)
  return complain(`--${name} ${text} is not a whole number: give digits, as in --${name} 1000`)
}
