/**
 * Other gateways in front of our subgraphs, and whether they answer as our gateway does. The four subgraphs run alone, beside the example partner's.
 * Each gateway gets the same operations (routers/operations.ts), and at the end 40 equal queries of two viewers at once. Every answer is
 * compared with the answer of our gateway in front of the same processes. A table on standard error shows the answers of each gateway. The
 * figures count equal answers, and have a target for the configurations that docs/gateway/your-router.md recommends.
 *
 *   npm run bench -- routers [--hive-router PATH]
 *
 * `@apollo/gateway` and Hive gateway are in the package bench/gateway/peers (npm ci there). Hive Router is left out without its binary.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { startService } from '../../harness/deployment/service.ts'
import { freePort } from './remote/process.ts'
import { configurations, requirePeers, type Configuration } from './routers/configurations.ts'
import { OPERATIONS, type Caller, type Operation } from './routers/operations.ts'
import { startSubgraphs, type Subgraphs } from './routers/subgraphs.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

type Answer = { readonly data: unknown; readonly codes: readonly string[]; readonly message: string | undefined }
type Run = { readonly answers: ReadonlyMap<string, Answer> } | { readonly refusal: string }

/** The callers that send equal queries to one gateway at once. Half of them have a history. */
const AT_ONCE = 40
const TOGETHER = 'at once'
const COMPARED = [...OPERATIONS.map(({ name }) => name), TOGETHER]

/** Subjects of the partner with the same author. */
const subjectOf = (index: number): string => String(1 + 5 * index)
const viewerOf = (index: number): string => String(7_000 + index)

export async function bench({ hiveRouter, progress }: BenchOptions): Promise<Measure[]> {
  requirePeers()
  const binary = hiveRouter ?? onPath('hive_router')
  if (binary === undefined) progress('routers: no hive_router on the PATH (give --hive-router PATH): left out')
  const subgraphs = await startSubgraphs()
  try {
    progress('routers: our gateway')
    const ours = await runOurs(subgraphs)
    const rows: { configuration: Configuration; run: Run }[] = []
    for (const [index, configuration] of configurations(binary).entries()) {
      progress(`routers: ${nameOf(configuration)}`)
      rows.push({ configuration, run: await runOne(configuration, subgraphs, index + 1) })
    }
    progress(tableOf(ours, rows))
    return rows.map(({ configuration, run }) => measureOf(ours, configuration, run))
  } finally {
    await subgraphs.stop()
  }
}

/** Our gateway, with all subgraphs at their addresses. */
async function runOurs(subgraphs: Subgraphs): Promise<ReadonlyMap<string, Answer>> {
  const folder = join(subgraphs.folder, 'ours')
  mkdirSync(folder)
  const { server, auth } = subgraphs.settings
  const service = await startService({ folder, settings: { server: { ...server, supergraph: subgraphs.supergraph.with }, auth } })
  try {
    return await askAll(service.url, 'token', subgraphs, 0)
  } finally {
    await service.stop()
  }
}

async function runOne(configuration: Configuration, subgraphs: Subgraphs, index: number): Promise<Run> {
  const port = await freePort()
  let gateway
  try {
    gateway = await configuration.start(subgraphs, port)
  } catch (error) {
    return { refusal: reasonOf((error as Error).message) }
  }
  try {
    await untilItPlans(gateway.url)
    return { answers: await askAll(gateway.url, configuration.identity, subgraphs, index) }
  } finally {
    await gateway.stop()
  }
}

/** Some gateways listen before they have read the supergraph. */
async function untilItPlans(url: string): Promise<void> {
  const until = performance.now() + 20_000
  for (;;) {
    const { data, message } = await ask(url, { name: 'ready', caller: 'anonymous', query: '{ __typename }' }, {}, '')
    if (data !== null) return
    if (performance.now() > until) throw new Error(`${url} does not answer { __typename }: ${message}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function askAll(
  url: string,
  identity: Configuration['identity'],
  subgraphs: Subgraphs,
  index: number,
): Promise<ReadonlyMap<string, Answer>> {
  const answers = new Map<string, Answer>()
  for (const operation of OPERATIONS) {
    const headers = await headersOf(identity, subgraphs, operation.caller, index)
    answers.set(operation.name, await ask(url, operation, headers, subjectOf(index)))
  }
  const history = OPERATIONS.find(({ name }) => name === 'history') as Operation
  const callers = Array.from({ length: AT_ONCE }, (_, caller) => (caller % 2 === 0 ? index : STRANGER))
  const headers = await Promise.all(callers.map((caller) => headersOf(identity, subgraphs, 'viewer', caller)))
  const together = await Promise.all(headers.map((each) => ask(url, history, each, subjectOf(index))))
  answers.set(TOGETHER, { data: together.map(({ data }) => data), codes: [], message: undefined })
  return answers
}

/** A viewer without a history. */
const STRANGER = 900

function headersOf(
  identity: Configuration['identity'],
  subgraphs: Subgraphs,
  caller: Caller,
  index: number,
): Promise<Record<string, string>> {
  return identity === 'token' ? tokenHeaders(subgraphs, caller, index) : Promise.resolve(sessionHeaders(caller, index))
}

async function tokenHeaders({ token }: Subgraphs, caller: Caller, index: number): Promise<Record<string, string>> {
  if (caller === 'anonymous') return {}
  return { authorization: `Bearer ${await token(viewerOf(index), caller === 'operator' ? 'operator' : '')}` }
}

function sessionHeaders(caller: Caller, index: number): Record<string, string> {
  if (caller === 'anonymous') return {}
  return { 'session-viewer': viewerOf(index), 'session-scopes': caller === 'operator' ? 'operator' : '' }
}

async function ask(url: string, { query }: Operation, headers: Record<string, string>, id: string): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, ...(query.includes('$id') && { variables: { id } }) }),
  })
  const text = await response.text()
  try {
    const { data, errors = [] } = JSON.parse(text) as { data?: unknown; errors?: { message: string; extensions?: { code?: string } }[] }
    return {
      // The subjects of two gateways differ in their ids only.
      data: JSON.parse(JSON.stringify(data ?? null).replaceAll(`"${id}"`, '"SUBJECT"')),
      codes: [...new Set(errors.map(({ extensions }) => extensions?.code ?? 'no code'))].sort(),
      message: errors[0]?.message,
    }
  } catch {
    return { data: null, codes: [`HTTP ${response.status}`], message: text.slice(0, 200) }
  }
}

function hasSameData(one: Answer | undefined, other: Answer | undefined): boolean {
  return JSON.stringify(sorted(one?.data)) === JSON.stringify(sorted(other?.data))
}

/** Gateways order the fields of an object differently. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  )
}

function measureOf(ours: ReadonlyMap<string, Answer>, configuration: Configuration, run: Run): Measure {
  const equal = 'answers' in run ? COMPARED.filter((name) => hasSameData(ours.get(name), run.answers.get(name))).length : 0
  const measure = { metric: `${nameOf(configuration)}: operations with our data`, value: equal, unit: `of ${COMPARED.length}` }
  return configuration.recommended ? { ...measure, target: COMPARED.length } : measure
}

function tableOf(ours: ReadonlyMap<string, Answer>, rows: readonly { configuration: Configuration; run: Run }[]): string {
  const own = OPERATIONS.map(({ name }) => `  ${name}: ${describe(ours.get(name))}`)
  const others = rows.flatMap(({ configuration, run }) => [
    `${nameOf(configuration)}:`,
    ...('answers' in run ? compare(ours, run.answers) : [`  does not start: ${run.refusal}`]),
  ])
  return ['', 'Our gateway:', ...own, ...others, ''].join('\n')
}

/** One line for all operations with our answer, and one for each other operation. */
function compare(ours: ReadonlyMap<string, Answer>, theirs: ReadonlyMap<string, Answer>): string[] {
  const isSame = (name: string) => hasSameData(ours.get(name), theirs.get(name)) && codesOf(ours, name) === codesOf(theirs, name)
  return [
    `  as ours: ${COMPARED.filter(isSame).join(', ')}`,
    ...COMPARED.filter((name) => !isSame(name)).map((name) => {
      if (hasSameData(ours.get(name), theirs.get(name)))
        return `  ${name}: our data, with ${codesOf(theirs, name)} in place of ${codesOf(ours, name)}`
      return `  ${name}: DIFFERS: ${describe(theirs.get(name))} ${theirs.get(name)?.message ?? ''}`
    }),
  ]
}

function codesOf(answers: ReadonlyMap<string, Answer>, name: string): string {
  return answers.get(name)?.codes.join(', ') || 'no error'
}

function describe(answer: Answer | undefined): string {
  return `${JSON.stringify(answer?.data)}${answer?.codes.length ? ` ${answer.codes.join(', ')}` : ''}`
}

function nameOf({ gateway, identity, directives }: Configuration): string {
  return `${gateway}, ${identity === 'token' ? 'forwarded token' : 'signed header'}, ${directives} authorization directives`
}

/** The sentence of an error in the output of a process that ended. */
function reasonOf(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  const first = lines.findIndex((line) => /(?:^|\s)[A-Za-z]*Error: /.test(line))
  return (first === -1 ? lines : lines.slice(first))
    .filter((line) => line !== '' && !line.startsWith('at '))
    .slice(0, 4)
    .join(' ')
    .slice(0, 600)
}

function onPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))
}
