/** A global setup of vitest: at its end a run names the adapters that were not tested, and the software to install. */
import { forgetNotTested, notTested } from '../../harness/deployment/services.ts'

export function setup(): void {
  forgetNotTested()
}

export function teardown(): void {
  for (const sentence of notTested()) process.stderr.write(`NOT TESTED  ${sentence}\n`)
}
