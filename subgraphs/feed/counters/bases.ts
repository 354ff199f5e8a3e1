/** The bases of subjects: their totals in the record store. A counter or a subject that it does not have is 0. */
import type { Subject } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import type { CounterSchemas, CountRow, Counts } from '../model/counts.ts'
import type { CounterRecords } from '../stores/counter-records.ts'

export type Bases = ReturnType<typeof makeBases>

export function makeBases(records: Pick<CounterRecords, 'getTotalsMany'>, schemas: CounterSchemas) {
  function withAllNames(subject: Subject, counts: Counts = {}): Counts {
    const schema = schemas.get(subject.business)
    if (schema === undefined)
      throw new TidemarkError('BUSINESS_UNKNOWN', `business ${subject.business} has no counters: give it some in the configuration`)
    const known = schema.names.map((name) => [name, counts[name] ?? 0] as const)
    return Object.fromEntries(known)
  }

  return {
    /** In the order of `subjects`. */
    async of(subjects: readonly Subject[]): Promise<CountRow[]> {
      const totals = await records.getTotalsMany(subjects)
      return subjects.map((subject, at) => ({
        subject,
        counts: withAllNames(subject, totals[at]?.counts),
        version: totals[at]?.version ?? 0,
      }))
    },
  }
}
