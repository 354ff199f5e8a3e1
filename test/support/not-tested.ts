/** A global setup of vitest: the run ends by saying which adapters were not tested, and what to install. */
import { forgetNotTested, notTested } from '../../harness/deployment/services.ts'

export function setup(): void {
  forgetNotTested()
}

export function teardown(): void {
  for (const sentence of notTested()) process.stderr.write(`NOT TESTED  ${sentence}\n`)
}
