/**
 * Corrects counters that a recount found to differ. The hot store has the live totals, so a correction is an event there, and the job
 * persists it. A total that is not persisted yet is left as it is: a later recount shows whether it still differs.
 */
import type { Clock } from '../../../core/clock.ts'
import type { CounterSchemas } from '../model/counts.ts'
import type { CounterStores } from './guarded.ts'
import type { PostDrift } from './recount.ts'
import { makeCounterService } from './service.ts'

const AT_ONCE = 500

/** The number of counters that were corrected. The sweeper finds them, so no key is sent to the log. */
export async function repairPosts(
  clock: Clock,
  stores: CounterStores,
  schemas: CounterSchemas,
  drift: readonly PostDrift[],
): Promise<number> {
  const options = { aggregate: () => undefined, fillsReads: false }
  const { adjust } = makeCounterService(clock, stores, schemas, options, () => undefined)
  let repaired = 0
  for (let start = 0; start < drift.length; start += AT_ONCE) {
    const some = drift.slice(start, start + AT_ONCE)
    const live = await stores.hot.getMany(some.map(({ subject }) => subject))
    const events = some
      .filter(({ counter, counted }, at) => (live[at]?.[counter] ?? counted) === counted)
      // A repetition before the correction is persisted is the same event.
      .map(({ subject, counter, counted, stored, version }) => ({ id: `recount:${version}`, subject, counter, delta: stored - counted }))
    for (const result of events.length === 0 ? [] : await adjust(events)) {
      if (result instanceof Error) throw result
      if (result === 'counted') repaired++
    }
  }
  return repaired
}
