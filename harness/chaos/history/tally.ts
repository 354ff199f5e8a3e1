/**
 * How calls ended. With one store out of order nobody may get an error, so an error counts as the service's fault unless
 * two were out of order during the call, or a moment before it.
 */
import type { Call } from '../calls.ts'

export type Tally = {
  add(call: Call): void
  calls(): number
  answered(): number
  /** Calls whose process was killed under them. */
  excused(): number
  /** Errors while two stores or more were out of order, by code. */
  errorsOfTwo(): Record<string, number>
  /** The others, and calls without an answer, by what they said. */
  errors(): Record<string, number>
  errorCount(): number
  /** Answers that named this store in `extensions.degraded`. */
  degraded(store: string): number
  slowestMs(): number
}

export function makeTally(outSince: (begun: number) => ReadonlySet<string>): Tally {
  const errorsOfTwo: Record<string, number> = {}
  const errors: Record<string, number> = {}
  const degraded: Record<string, number> = {}
  let calls = 0
  let answered = 0
  let excused = 0
  let errorCount = 0
  let slowestMs = 0

  function fail({ operation, begun }: Call, code: string): void {
    const out = outSince(begun)
    const name = `${operation}: ${code}`
    if (out.size > 1) errorsOfTwo[name] = (errorsOfTwo[name] ?? 0) + 1
    else {
      const where = `${name} (${[...out].join('') || 'all stores there'})`
      errors[where] = (errors[where] ?? 0) + 1
      errorCount++
    }
  }

  return {
    add(call) {
      calls++
      const { end } = call
      if (end.kind === 'answered') {
        answered++
        slowestMs = Math.max(slowestMs, call.ms)
        for (const store of end.degraded) degraded[store] = (degraded[store] ?? 0) + 1
      } else if (end.kind === 'error') fail(call, `${end.code} ${end.sentence}`)
      else if (end.excused) excused++
      else fail(call, `no answer, ${end.reason}`)
    },
    calls: () => calls,
    answered: () => answered,
    excused: () => excused,
    errorsOfTwo: () => errorsOfTwo,
    errors: () => errors,
    errorCount: () => errorCount,
    degraded: (store) => degraded[store] ?? 0,
    slowestMs: () => slowestMs,
  }
}
