/** The topics of outgoing events, with everything ever appended. A world has no consumers, which have their own tests. */
import type { CountEvent, MarkEvent, MarkEvents } from '../../../subgraphs/thumbup/stores/events.ts'
import { atOnce, type Gate } from '../gate.ts'

export type MarkEventsState = { marks: MarkEvent[]; counts: CountEvent[] }

export function makeMarkEventsState(): MarkEventsState {
  return { marks: [], counts: [] }
}

/** The port of one process. The two topics are written one after the other. */
export function openModelMarkEvents(state: MarkEventsState, gate: Gate): MarkEvents {
  const nobody = (): Promise<never> => Promise.reject(new Error('the model of events has no consumers'))
  return {
    appendEvents: (marks, counts) =>
      gate.call(
        'events',
        'appendEvents',
        [marks, counts],
        [() => void state.marks.push(...marks), () => void state.counts.push(...counts)],
        () => undefined,
      ),
    consumeCounts: nobody,
    consumeMarks: nobody,
    check: () => atOnce(gate, 'events', 'check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}
