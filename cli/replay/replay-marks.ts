/**
 * `tidemark replay FILE --marks` sends recorded interactions through the API as marks, by the rules of `marks-of-rows.ts`, and registers
 * the owners of the subjects. With --verify, every state, count, list and owner's sum is then compared with a recount of the file, and the
 * counts with the stored rows.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { callApi } from '../../conformance/api-client.ts'
import { describeSending, credentialsOf, sendInBatches, stopIfHopeless, type Outcome } from './batch-sender.ts'
import { readInteractions } from './interactions.ts'
import { marksOf, registrationsOf, type WireMark, type WireRegistration } from './marks-of-rows.ts'
import { runWithProgressBar } from './progress-bar.ts'
import { verifyMarks } from './replay-marks-verify.ts'
import { figuresOf, metricsOfJob, withAddresses } from './replay.ts'
import type { ReplayOptions } from './options.ts'

const MARK = `mutation Replay($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) {
  results { outcome userErrors { code message path } } } }`
const REGISTER = `mutation Register($subjects: [RegisterSubjectInput!]!) { registerSubjects(input: { subjects: $subjects }) {
  results { userErrors { code message path } } } }`

const DIRTY = 'tidemark_dirty_marks'

type Results<T> = { results: T[] }

export async function replayMarks(file: string, given: ReplayOptions, print: (line: string) => void): Promise<boolean> {
  const options = withAddresses(given)
  if (options.verifyOnly) return verify(file, options, print)
  if (options.wait) await metricsOfJob(options.job ?? options.url, DIRTY)
  const before = await figuresOf(options)
  const [early, ...late] = registrationsOf(await subjectsOf(file), options.business)
  await register(early, options)
  const report = await runWithProgressBar(`Replaying ${file} as marks`, (progress) => {
    let fraction = 0
    const marks = readMarks(file, options.business, (read) => {
      fraction = read
    })
    const credentials = credentialsOf(options, 'marks:write-any')
    return sendInBatches(
      marks,
      options,
      (text) => progress(`${text}, ${Math.floor(100 * fraction)}% of the file`),
      async (marks) => (await callApi<{ setMarkBatch: Results<Outcome> }>(options.url, MARK, { marks }, credentials)).setMarkBatch.results,
    )
  })
  print(describeSending('marks', report).join('\n'))
  for (const round of late) await register(round, options)
  if (options.wait) await runWithProgressBar('Waiting until everything is counted', () => waitUntilCounted(options.job ?? options.url))
  print(describeCounting(before, await figuresOf(options)))
  const failed = (report.outcomes['REJECTED'] ?? 0) > 0
  if (!options.verify) return !failed
  return (await verify(file, options, print)) && !failed
}

async function verify(file: string, options: ReplayOptions, print: (line: string) => void): Promise<boolean> {
  const verified = await runWithProgressBar('Comparing every state, count, list and sum with the file', (progress) =>
    verifyMarks(readMarks(file, options.business), options, progress),
  )
  for (const sentence of verified.sentences) print(sentence)
  return verified.ok
}

export async function* readMarks(file: string, business: string, onRead?: (fraction: number) => void): AsyncGenerator<WireMark> {
  for await (const row of readInteractions(file, onRead)) yield* marksOf(row, business)
}

async function subjectsOf(file: string): Promise<string[]> {
  const oids = new Set<string>()
  for await (const { oid } of readInteractions(file)) oids.add(oid)
  return [...oids]
}

async function register(registrations: readonly WireRegistration[], options: ReplayOptions): Promise<void> {
  const credentials = credentialsOf(options, 'subjects:register')
  for (let start = 0; start < registrations.length; start += options.batch) {
    const subjects = registrations.slice(start, start + options.batch)
    type Registered = { registerSubjects: Results<Pick<Outcome, 'userErrors'>> }
    const { registerSubjects } = await callApi<Registered>(options.url, REGISTER, { subjects }, credentials)
    stopIfHopeless(registerSubjects.results)
  }
}

/** Resolves when all marks are persisted, all flushes are read, and all events are sent. */
async function waitUntilCounted(url: string): Promise<void> {
  for (;;) {
    const metrics = await metricsOfJob(url, DIRTY)
    const waiting = [DIRTY, 'tidemark_marks_log_lag_messages', 'tidemark_marks_outbox']
    if (waiting.every((name) => metrics.get(name) === 0)) return
    await wait(500)
  }
}

function describeCounting(before: Map<string, number>, after: Map<string, number>): string {
  const grew = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  const marks = grew('tidemark_marks_total')
  const rows = grew('tidemark_marks_persisted_rows_total')
  const updates = grew('tidemark_count_updates_total')
  const windows = grew('tidemark_mark_windows_total')
  return `counting        ${marks} marks : ${rows} rows : ${updates} count updates, in ${windows} windows`
}
