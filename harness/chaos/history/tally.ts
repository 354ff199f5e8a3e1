/**
 * The outcomes of calls. With one failed store no call may get an error. An error is therefore a fault of the service, unless two stores
 * were down during the call or just before it.
 */
import type { Call } from '../calls.ts'

export type Tally = {
  add(call: Call): void
  calls(): number
  answered(): number
  /** Calls without an answer because their process was killed. */
  excused(): number
  /** Errors while two or more stores were down, by code. */
  errorsOfTwo(): Record<string, number>
  /** Other errors and calls without an answer, by message. */
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
