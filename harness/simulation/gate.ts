/**
 * A gate stands between a port and its model store. A port method hands over its parts. The gate decides if and when each part happens and
 * the answer arrives. In the contract suites everything happens at once. In a world the scheduler decides.
 */
export type StoreName = 'hot' | 'cache' | 'log' | 'records' | 'events' | 'journal' | 'legacy'

export interface Gate {
  /**
   * Each part happens at one instant, in order, maybe with other calls in between. `answer` computes the result for the caller. `args` are
   * for the history of events only.
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
