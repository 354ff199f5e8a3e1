/**
 * How large is an idle Tidemark? `npm start` runs three times in an empty folder, on the embedded stores and in development. The figures are
 * the time to the first answer, then memory and CPU without requests. The peers are a bare HTTP server of Node and a bare Apollo Server, in
 * the same run. Memory is measured after 20 s, and CPU in the seconds from 40 to 60. The last figures are the bytes of the installed packages,
 * with and without the development tools.
 *
 * Times begin with the command, so they include the start of npm. The compile cache is empty at the first start, which is not counted.
 * Resident memory includes pages of files that processes share, above all Node's own program. Private memory does not include them.
 *
 *     npm run bench -- small [--quick] [--json]
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../../harness/deployment/ports.ts'
import { cpuSeconds } from '../support/cpu.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const QUERY = '{ subjects(business: "video", ids: ["42"]) { id likeCount viewerMark viewerSeen viewerProgress { position } } }'
const RESIDENT_MAX_MB = 150
const CORE_PERCENT_MAX = 0.5
const FIRST_ANSWER_MAX_MS = 1_000
const WITH_TOOLS_MAX_MB = 350
const WITHOUT_TOOLS_MAX_MB = 100

const NODE_PEER = `
  import { createServer } from 'node:http'
  createServer((request, response) => response.setHeader('content-type', 'application/json').end('{"data":{}}')).listen(+process.argv[1], '127.0.0.1')`
const APOLLO_PEER = `
  import { ApolloServer } from '@apollo/server'
  import { startStandaloneServer } from '@apollo/server/standalone'
  const server = new ApolloServer({ typeDefs: 'type Query { ok: Boolean }', resolvers: { Query: { ok: () => true } } })
  await startStandaloneServer(server, { listen: { port: +process.argv[1], host: '127.0.0.1' } })`

type Program = { name: string; start(port: number, folder: string): ChildProcess; path: string; query: string; starts: number }
type Figures = { answerMs: number; residentMb: number; privateMb: number; corePercent: number }

const eval_ = (code: string) => (port: number) => run(process.execPath, ['--input-type=module', '--eval', code, String(port)], {})

const PROGRAMS: readonly Program[] = [
  {
    name: 'npm start',
    path: '/graphql',
    query: QUERY,
    starts: 3,
    start: (port, folder) =>
      run('npm', ['start', '--', '--port', String(port), '--data', join(folder, 'data')], { NODE_COMPILE_CACHE: join(folder, 'cache') }),
  },
  { name: 'bare node:http', path: '/', query: '{ ok }', starts: 1, start: eval_(NODE_PEER) },
  { name: 'bare Apollo Server', path: '/', query: '{ ok }', starts: 1, start: eval_(APOLLO_PEER) },
]

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const measures: Measure[] = []
  for (const program of PROGRAMS) {
    const all = await figuresOf(program, quick, progress)
    const isOurs = program.starts > 1
    measures.push(
      measure(
        program,
        'first answer',
        all.map(({ answerMs }) => answerMs),
        'ms',
        isOurs ? FIRST_ANSWER_MAX_MS : undefined,
      ),
      measure(
        program,
        'resident memory',
        all.map(({ residentMb }) => residentMb),
        'MB',
        isOurs ? RESIDENT_MAX_MB : undefined,
      ),
      measure(
        program,
        'private memory',
        all.map(({ privateMb }) => privateMb),
        'MB',
        undefined,
      ),
      measure(
        program,
        'CPU at rest',
        all.map(({ corePercent }) => corePercent),
        '% of a core',
        isOurs ? CORE_PERCENT_MAX : undefined,
      ),
    )
  }
  if (quick) return measures
  return [
    ...measures,
    await installed(['ci'], 'with the tools of development', WITH_TOOLS_MAX_MB, progress),
    await installed(['ci', '--omit=dev'], 'without them', WITHOUT_TOOLS_MAX_MB, progress),
  ]
}

/** The largest value of all starts. */
function measure({ name }: Program, figure: string, values: readonly number[], unit: string, target: number | undefined): Measure {
  return { metric: `${name}: ${figure}`, value: Math.max(...values), unit, ...(target !== undefined && { target, atMost: true }) }
}

async function figuresOf(program: Program, quick: boolean, progress: BenchOptions['progress']): Promise<Figures[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-small-'))
  try {
    if (program.starts > 1)
      progress(
        `${program.name}: ${JSON.stringify(await figuresOfStart(program, folder, quick ? 1_000 : 10_000))} with an empty compile cache`,
      )
    const all: Figures[] = []
    for (let at = 0; at < program.starts; at++) {
      rmSync(join(folder, 'data'), { recursive: true, force: true })
      const figures = await figuresOfStart(program, folder, quick ? 5_000 : program.starts > 1 ? 20_000 : 5_000)
      progress(`${program.name}: ${JSON.stringify(figures)}`)
      all.push(figures)
    }
    return all
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function figuresOfStart({ start, path, query }: Program, folder: string, restMs: number): Promise<Figures> {
  const [port = 0] = await freePorts(1)
  const begun = performance.now()
  const child = start(port, folder)
  try {
    await untilAnswered(`http://127.0.0.1:${port}${path}`, query)
    const answerMs = performance.now() - begun
    const pid = lastChildOf(child.pid as number)
    // A start is followed by timers that run once, and by collections of their garbage. V8 collects once more after 25 to 40 seconds.
    await sleep(restMs)
    const { Rss: residentMb = 0, Pss_Anon: privateMb = 0 } = memoryOf(pid)
    await sleep(restMs)
    const before = cpuSeconds(pid)
    const restedAt = performance.now()
    await sleep(restMs)
    const corePercent = (100 * (cpuSeconds(pid) - before)) / ((performance.now() - restedAt) / 1_000)
    return { answerMs, residentMb, privateMb, corePercent }
  } finally {
    process.kill(lastChildOf(child.pid as number), 'SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
  }
}

async function untilAnswered(url: string, query: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-viewer-id': '1' }
  for (;;) {
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) }).catch(() => undefined)
    const text = await answer?.text()
    if (answer?.ok && text?.includes('"data"')) return
    if (answer !== undefined) throw new Error(`the server answered ${answer.status}: ${text}`)
    await sleep(5)
  }
}

/** npm starts a shell, and the shell becomes the server. */
function lastChildOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return children[0] === undefined || children[0] === '' ? pid : lastChildOf(Number(children[0]))
}

/** In MB, by the names of proc(5). */
function memoryOf(pid: number): Record<string, number> {
  const lines = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^(\w+): +(\d+) kB$/gm)
  return Object.fromEntries([...lines].map(([, name = '', kilobytes]) => [name, Number(kilobytes) / 1_024]))
}

async function installed(args: string[], which: string, target: number, progress: BenchOptions['progress']): Promise<Measure> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-small-'))
  try {
    for (const file of ['package.json', 'package-lock.json', 'scripts']) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
    progress(`npm ${args.join(' ')}`)
    execFileSync('npm', args, { cwd: folder, stdio: 'ignore' })
    const kilobytes = Number(execFileSync('du', ['-sk', 'node_modules'], { cwd: folder, encoding: 'utf8' }).split('\t')[0])
    return { metric: `installed packages ${which}`, value: kilobytes / 1_024, unit: 'MB', target, atMost: true }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The settings of the benchmark's own process are not passed on. */
function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv): ChildProcess {
  const { NODE_OPTIONS: _options, MALLOC_ARENA_MAX: _arenas, ...inherited } = process.env
  return spawn(command, args, { cwd: ROOT, stdio: 'ignore', env: { ...inherited, ...environment } })
}
