/**
 * How soon does every process run a new version of the live configuration, and does a change fail a call? Four processes of each shape are
 * under load. An operator adds a business with `tidemark config set`, changes it, changes windows and sizes, and disables it. A version that
 * is not valid comes from the command, which must refuse it, and from the store, where each process must refuse it.
 *
 * The time runs from the moment that the version has in the history to the first look at which every process reports it by its metrics. The
 * graph has a new business when each process answers a query with its type.
 *
 *     npm run bench -- live [--quick] [--json] [--only embedded|distributed]
 */
import { ask } from '../../harness/deployment/service.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { startLoad, type Answer, type Load } from './load.ts'
import { startDistributed, startEmbedded, type Shape } from './shapes.ts'
import { runningVersions, watchVersions } from './versions.ts'

const SHAPES = { embedded: startEmbedded, distributed: startDistributed }
const BUSINESSES = [
  { number: 20, name: 'podcast', entity: 'Podcast' },
  { number: 21, name: 'radio', entity: 'Radio' },
  { number: 22, name: 'course', entity: 'Course' },
]
const TARGET_MS = 2_000

type Document = { businesses?: readonly object[]; [section: string]: unknown }
type Repetition = { reportedMs: Record<string, number>; graphMs: number; applied: number; mistakes: string[] }

export async function bench({ quick, only, progress }: BenchOptions): Promise<Measure[]> {
  const measures: Measure[] = []
  for (const [name, start] of Object.entries(SHAPES)) {
    if (only !== undefined && only !== name) continue
    progress(`${name}: starting four processes`)
    const shape = await start()
    const load = startLoad(shape.apis)
    const repetitions: Repetition[] = []
    try {
      await load.answered()
      for (let at = 0; at < (quick ? 1 : BUSINESSES.length); at++) {
        const repetition = await repeat(shape, load, at)
        progress(`${name}: ${JSON.stringify(repetition)}`)
        repetitions.push(repetition)
      }
    } finally {
      await load.stop()
      await shape.remove()
    }
    measures.push(...measuresOf(name, repetitions, load, progress))
  }
  return measures
}

/** The businesses of earlier repetitions stay, disabled. */
async function repeat(shape: Shape, load: Load, at: number): Promise<Repetition> {
  const earlier = BUSINESSES.slice(0, at).map((business) => ({ ...business, enabled: false }))
  const own = BUSINESSES[at] as (typeof BUSINESSES)[number]
  const reportedMs: Record<string, number> = {}
  async function step(text: string, changed: object, before: Answer, after: Answer, more: object = {}): Promise<void> {
    load.expect(before, after)
    reportedMs[text] = await change(shape, { ...more, businesses: [...earlier, { ...own, ...changed }] })
    load.expect(after)
  }

  load.use(own.name)
  await load.answered()
  await step('added', {}, 'BUSINESS_UNKNOWN', 'ACCEPTED')
  const graphMs = (await untilInGraph(shape, own)) - (await newest(shape)).at
  await load.answered()
  await step('changed', { finishedPercent: 50, history: { reportsPerSecondMax: 100_000 } }, 'ACCEPTED', 'ACCEPTED')
  await load.answered()
  const settings = { history: { flushAgeMaxMs: 20_000 + at }, existence: { cacheBytesMax: 100_000_000 + at } }
  await step('windows and sizes', {}, 'ACCEPTED', 'ACCEPTED', settings)
  await load.answered()
  const { applied, mistakes } = await refuse(shape, load, { ...settings, businesses: [...earlier, own] })
  await step('disabled', { enabled: false }, 'ACCEPTED', 'BUSINESS_DISABLED')
  await load.answered()
  return { reportedMs, graphMs, applied, mistakes }
}

async function newest(shape: Shape): Promise<{ version: number; at: number }> {
  const [first] = await shape.withSource((source) => source.history())
  return { version: first?.version ?? 0, at: first?.at ?? 0 }
}

/** `tidemark config set`. Milliseconds until every process reports the version. */
async function change(shape: Shape, document: Document): Promise<number> {
  const before = await newest(shape)
  const watch = watchVersions(shape)
  try {
    const { status, out, error } = await shape.config('set', shape.write('live.json', document), '--expect', String(before.version))
    if (status !== 0) throw new Error(`config set ended with status ${status}: ${out}${error}`)
    const { version, at } = await newest(shape)
    return await watch.reached(version, at)
  } finally {
    await watch.stop()
  }
}

/** The time at which each process had the type in its graph. */
async function untilInGraph({ apis, serving }: Shape, { name, entity }: (typeof BUSINESSES)[number]): Promise<number> {
  const query = `{ subjects(business: "${name}", ids: ["1"]) { __typename ... on ${entity} { viewerProgress { position } } } }`
  const hasType = async (url: string) => (await ask(url, '7', query, {}, { connection: 'close' })).errors === undefined
  const looks = Array.from({ length: 4 * serving }, (_, at) => apis[at % apis.length] as string)
  for (;;) {
    const at = Date.now()
    if ((await Promise.all(looks.map(hasType))).every(Boolean)) return at
  }
}

/** Two versions that are not valid: one given to the command, and one that another program stored. */
async function refuse(shape: Shape, load: Load, good: Document): Promise<Pick<Repetition, 'applied' | 'mistakes'>> {
  const mistakes: string[] = []
  const before = await newest(shape)
  const bad = { ...good, history: { flushAgeMaxMs: 400_000, sweepAfterMs: 1_000 } }
  const ended = await shape.config('set', shape.write('bad.json', bad), '--expect', String(before.version))
  if (ended.status !== 1 || !ended.error.includes('history.sweepAfterMs (1000) must exceed')) mistakes.push(`config set: ${ended.error}`)
  if ((await newest(shape)).version !== before.version) mistakes.push('config set stored a version that is not valid')
  const stored = await shape.withSource((source) => source.change(bad, before.version))
  let applied = 0
  for (const end = Date.now() + TARGET_MS; Date.now() < end;) {
    const running = await runningVersions(shape)
    applied = Math.max(applied, running.filter(({ version }) => version !== before.version).length)
  }
  if (!(await runningVersions(shape)).every(({ isRefusing }) => isRefusing)) mistakes.push('a process does not report its refusal')
  await load.answered()
  // The way back of an operator.
  const back = await shape.config('rollback', String(before.version))
  if (back.status !== 0) mistakes.push(`config rollback over version ${stored.version}: ${back.error}`)
  return { applied, mistakes }
}

function measuresOf(name: string, repetitions: readonly Repetition[], load: Load, progress: (text: string) => void): Measure[] {
  const { calls, changing, slowestMs, wrong } = load.figures()
  for (const sentence of [...wrong, ...repetitions.flatMap(({ mistakes }) => mistakes)].slice(0, 20)) progress(sentence)
  const most = (values: readonly number[]) => Math.max(...values)
  const steps = Object.keys(repetitions[0]?.reportedMs ?? {})
  const atMost = true
  return [
    { metric: `${name}: calls`, value: calls, unit: '' },
    { metric: `${name}: of these to the business that changes`, value: changing, unit: '' },
    { metric: `${name}: slowest call`, value: slowestMs, unit: 'ms' },
    { metric: `${name}: calls that failed, or had another answer than stated`, value: wrong.length, unit: '', target: 0, atMost },
    ...steps.map((step) => ({
      ...{ metric: `${name}: ${step}: until every process reports it, at most`, unit: 'ms', target: TARGET_MS, atMost },
      value: most(repetitions.map(({ reportedMs }) => reportedMs[step] as number)),
    })),
    {
      ...{ metric: `${name}: until every graph has the new type, at most`, unit: 'ms', target: TARGET_MS, atMost },
      value: most(repetitions.map(({ graphMs }) => graphMs)),
    },
    {
      metric: `${name}: processes that applied a bad version`,
      value: most(repetitions.map(({ applied }) => applied)),
      unit: '',
      target: 0,
      atMost,
    },
    {
      metric: `${name}: bad versions with another answer than stated`,
      value: repetitions.flatMap(({ mistakes }) => mistakes).length,
      unit: '',
      target: 0,
      atMost,
    },
  ]
}
