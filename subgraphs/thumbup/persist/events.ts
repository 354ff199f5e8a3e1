/** Turns the changes of a transaction into outgoing events. Their ids stay the same when the changes are published again. */
import type { MarkKey, Subject } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { CountEvent, MarkEvent } from '../stores/events.ts'
import type { MarkChanges } from '../stores/record-store.ts'

export function markEventId(key: MarkKey, version: number): string {
  return `${keyText(key)}@${version}`
}

export function countEventId({ business, oid }: Subject, version: number): string {
  return `${business}:${oid}@${version}`
}

export function eventsOf(changes: MarkChanges): { marks: MarkEvent[]; counts: CountEvent[] } {
  return {
    marks: changes.transitions.map(({ key, old, record }) => ({ id: markEventId(key, record.version), ...key, old, ...record })),
    counts: changes.counts.map(({ business, oid, counts }) => ({
      id: countEventId({ business, oid }, counts.version),
      business,
      oid,
      counts,
    })),
  }
}
