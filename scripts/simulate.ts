/**
 * Simulates deployments, one per seed, until one breaks a rule: `node scripts/simulate.ts [--seeds N] [--first S]
 * [--subgraph history]`. Prints seeds per second; a failure is told as a short history of events, and exits with 1.
 */
import { parseArgs } from 'node:util'
import { makeComplain, parsedOr, type Complain } from './arguments.ts'
import { simulate } from '../test/simulation/simulate.ts'

const USAGE = 'usage: npm run simulate -- [--seeds N] [--first S] [--subgraph history]'
const DIGITS = /^\d{1,9}$/

const complain: Complain = makeComplain(USAGE)
const { values } = parsedOr(complain, () =>
  parseArgs({
    options: {
      seeds: { type: 'string', default: '10000' },
      first: { type: 'string', default: '1' },
      subgraph: { type: 'string', default: 'history' },
      help: { type: 'boolean', default: false },
    },
  }),
)
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
if (values.subgraph !== 'history') complain(`subgraph "${values.subgraph}" has no simulation: use history`)
const [seeds, first] = [wholeNumber('seeds', values.seeds), wholeNumber('first', values.first)]
if (seeds === 0) complain('--seeds 0 simulates nothing: give at least 1')

const began = performance.now()
const report = await simulate({ first, seeds })
const seconds = (performance.now() - began) / 1000
const perSeed = Math.round(report.steps / report.seeds)
console.log(
  `${report.seeds} seeds in ${seconds.toFixed(1)} s: ${Math.round(report.seeds / seconds)} seeds a second, ${perSeed} events a seed`,
)
if (report.failure !== undefined) {
  const { seed, message, history } = report.failure
  console.log(`\nseed ${seed} fails: ${message}\n\n${history.join('\n')}\n\nagain: npm run simulate -- --first ${seed} --seeds 1`)
  process.exitCode = 1
}

function wholeNumber(name: string, text: string): number {
  if (DIGITS.test(text)) return Number(text)
  return complain(`--${name} ${text} is not a whole number: give digits, as in --${name} 1000`)
}
