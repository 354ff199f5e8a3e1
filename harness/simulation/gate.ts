/**
 * Between a port and its model store stands a gate: a port method hands over what it wants to happen, and the gate
 * decides when each part of it happens, when the answer arrives, and whether either does. In the contract suites
 * everything happens at once; in a world the scheduler decides.
 */
export type StoreName = 'hot' | 'cache' | 'log' | 'records' | 'events' | 'journal' | 'legacy'

export interface Gate {
  /**
   * Each part happens at one instant, in order, maybe with others in between; `answer` is what the caller gets in the
   * end. `args` are for the history of events only.
   */
  call<T>(store: StoreName, name: string, args: readonly unknown[], parts: readonly (() => void)[], answer: () => T): Promise<T>
}

/** Everything happens at once. */
export const openGate: Gate = {
  // oxlint-disable-next-line typescript/require-await -- what a part throws must reject
  async call(_store, _name, _args, parts, answer) {
    for (const part of parts) part()
    return answer()
  },
}

/** The common case: one instant. */
export function atOnce<T>(gate: Gate, store: StoreName, name: string, args: readonly unknown[], act: () => T): Promise<T> {
  let result: T
  return gate.call(store, name, args, [() => void (result = act())], () => result)
}
