/** Rates and percentiles, from two states of the counters. */
import type { FigureName, State } from './answer.ts'

/** The values of the charts at one moment. Null: not known. */
export type Point = { at: number; values: Readonly<Record<string, number | null>> }

const COUNTERS = [
  'reports',
  'marks',
  'plays',
  'posts',
  'candidates',
  'flushes',
  'rows',
  'requests',
] as const satisfies readonly FigureName[]
const LEVELS = ['dirty', 'lag', 'journal'] as const satisfies readonly FigureName[]

/** Undefined if the counters began again, as after a restart of the process. */
export function pointOf(before: State, now: State): Point | undefined {
  const seconds = (now.at - before.at) / 1_000
  const isRestarted = COUNTERS.some((name) => (now.figures[name] ?? 0) < (before.figures[name] ?? 0))
  if (seconds <= 0 || isRestarted) return undefined
  const values: Record<string, number | null> = {}
  for (const name of COUNTERS) {
    const [from, to] = [before.figures[name], now.figures[name]]
    values[name] = from == null || to == null ? null : (to - from) / seconds
  }
  for (const name of LEVELS) values[name] = now.figures[name] ?? null
  values['p50'] = percentile(before, now, 0.5)
  values['p99'] = percentile(before, now, 0.99)
  return { at: now.at, values }
}

/** Milliseconds, interpolated within a bucket. Null without requests. */
function percentile(before: State, now: State, share: number): number | null {
  const earlier = new Map(before.latency.map(({ seconds, count }) => [seconds, count]))
  const all = (now.figures.requests ?? 0) - (before.figures.requests ?? 0)
  if (all <= 0) return null
  let [lower, below] = [0, 0]
  for (const { seconds, count } of now.latency) {
    const within = count - (earlier.get(seconds) ?? 0)
    if (within >= share * all) return 1_000 * (lower + ((seconds - lower) * (share * all - below)) / (within - below))
    lower = seconds
    below = within
  }
  return 1_000 * lower
}
