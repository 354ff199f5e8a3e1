/** The calls of viewers to a site, and what they cost. */
import { cpuSeconds } from '../support/cpu.ts'
import { runLoad } from '../support/load.ts'

/** A site whose processes run. */
export type Service = {
  url: string
  pids: ReadonlyMap<string, number>
  /** Resolves when all writes are persisted. */
  settled(): Promise<void>
  /** How often the marks of an unknown viewer were loaded into the hot store. */
  fills(): Promise<number>
  stop(): Promise<void>
  /** Reads these viewers' newest entries from Redis without Tidemark. */
  readBare?(viewers: readonly string[]): Promise<void>
}
/** A running site, and the viewers of its calls: those from `from` to `to` - 1. */
export type Running = { service: Service; from: number; to: number }

/** Per call. `parts`: the microseconds of each process, as text. */
export type Cost = { cpuUs: number; p50Ms: number; parts: string }

const CONNECTIONS = 8
const STEP = 7_919
export const SUBJECTS = 5_000

const CALLS = {
  page: () => ({ query: '{ viewerHistory(first: 20) { edges { viewedAt node { id viewerProgress { position } } } } }', variables: {} }),
  mark: (id: string) => ({
    query: 'mutation ($input: SetMarkInput!) { setMark(input: $input) { outcome userErrors { code } } }',
    variables: { input: { business: 'video', id, mark: 'LIKE' } },
  }),
  report: (id: string) => ({
    query: 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome userErrors { code } } }',
    variables: { input: { business: 'video', id, position: 60_000, duration: 120_000 } },
  }),
}
export type CallName = keyof typeof CALLS
export const CALL_NAMES = Object.keys(CALLS) as CallName[]

/** Viewers at successive places are far apart in the stores. The step is prime, so a viewer comes again only after all others. */
export function viewerAt({ from, to }: Running, place: number): string {
  return String(from + ((place * STEP) % (to - from)))
}

/** `placeOf`: the place of the viewer of each call. Rejects if not all calls were answered. */
export async function costOf(site: Running, name: CallName, calls: number, placeOf: (call: number) => number): Promise<Cost> {
  const { url, pids, settled } = site.service
  const all = (): number[] => [...pids.values()].map(cpuSeconds)
  let next = 0
  const before = all()
  const { p50Ms, requests } = await runLoad({
    url,
    connections: CONNECTIONS,
    durationMs: 600_000,
    body: () => (next < calls ? JSON.stringify(CALLS[name](subjectOf(next))) : undefined),
    headers: () => ({ 'x-viewer-id': viewerAt(site, placeOf(next++)) }),
    check(answer) {
      if (/"errors"|"degraded"|"code"|"edges":\[\]/.test(answer)) throw new Error(`unexpected answer to a call: ${answer.slice(0, 300)}`)
    },
  })
  await settled()
  const after = all()
  if (requests !== calls) throw new Error(`${requests} of ${calls} calls were made in time: use a faster machine`)
  const partsUs = after.map((seconds, at) => ((seconds - (before[at] as number)) * 1_000_000) / calls)
  return {
    cpuUs: partsUs.reduce((sum, part) => sum + part, 0),
    p50Ms,
    parts: [...pids.keys()].map((process, at) => `${process} ${partsUs[at]?.toFixed(0)}`).join(', '),
  }
}

/** Marks of viewers that the hot store does not know. Rejects if it knew one of them. */
export async function costOfUnknown(site: Running, calls: number, placeOf: (call: number) => number): Promise<Cost> {
  const before = await site.service.fills()
  const cost = await costOf(site, 'mark', calls, placeOf)
  const fills = (await site.service.fills()) - before
  if (fills !== calls)
    throw new Error(`${calls} marks loaded the marks of ${fills} viewers: each must come from a viewer without an earlier mark`)
  return cost
}

/** A viewer who calls again gets another subject. */
function subjectOf(call: number): string {
  return String((call * STEP + Math.floor(call / SUBJECTS)) % SUBJECTS)
}

/** The CPU time of Redis per viewer, in microseconds. */
export async function bareCostOf(site: Running, viewers: number, placeOf: (read: number) => number): Promise<number> {
  const { pids, readBare } = site.service
  const redis = pids.get('redis') as number
  const before = cpuSeconds(redis)
  for (let read = 0; read < viewers; read += CONNECTIONS)
    await readBare?.(Array.from({ length: CONNECTIONS }, (_, place) => viewerAt(site, placeOf(read + place))))
  return ((cpuSeconds(redis) - before) * 1_000_000) / viewers
}
