/**
 * Simulates deployments, one per seed, until one breaks a rule: `node scripts/simulate.ts [--seeds N] [--first S]
 * [--subgraph history]`. Prints seeds per second; a failure is told as a short history of events, and exits with 1.
 */
import { parseArgs } from 'node:util'
import { simulate } from '../test/simulation/simulate.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    first: { type: 'string', default: '1' },
    subgraph: { type: 'string', default: 'history' },
  },
})

if (values.subgraph !== 'history') {
  console.error(`subgraph "${values.subgraph}" has no simulation: use history`)
  process.exit(2)
}

const began = performance.now()
const report = await simulate({ first: wholeNumber('first', values.first), seeds: wholeNumber('seeds', values.seeds) })
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
  if (/^\d{1,9}$/.test(text)) return Number(text)
  console.error(`--${name} ${text} is not a whole number: give digits, as in --${name} 1000`)
  process.exit(2)
}
