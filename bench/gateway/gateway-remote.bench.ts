/**
 * How much does a gateway with remote subgraphs cost? The workload is that of the public graphql-gateways-benchmark (one query,
 * 7 calls of 4 subgraphs in 4 waves, an answer of 87 KB, 50 connections). The figure is CPU of the gateway's process per request.
 *
 *   npm run bench -- gateway-remote [--quick] [--hive-router PATH]
 *
 * The headline is `changing`: every request makes all its calls, and the subgraphs never repeat an answer, so no work on one answer can
 * be reused for another. `apart` is the same with answers that repeat. Without `apart`, identical calls in flight are shared, which is
 * cheap if 50 clients send the same query. The floor is the least work in JavaScript (bench/gateway/remote/floor.ts).
 *
 * Ours and the floor have `NODE_OPTIONS` and `MALLOC_ARENA_MAX` of `npm start`. Hive Router runs if its binary is
 * there (`--hive-router`, or `hive_router` on the PATH). The gateways of bench/gateway/peers run after `npm ci` there. The figures are
 * from a second start, with a warm compile cache: see "Memory" in docs/operating/deploy.md.
 *
 * All processes share the machine, so requests per second are not reliable. The gateways are loaded in turn, in rounds. The
 * median of CPU per request counts, which waiting does not change.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { SHIPPED_ENVIRONMENT, SHIPPED_OPTIONS } from '../../harness/deployment/role.ts'
import { runLoad } from '../support/load.ts'
import { QUERY, remoteSupergraph } from './remote/graph.ts'
import { freePort, startProcess } from './remote/process.ts'
import type { Command, Measured } from './remote/process.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const CONNECTIONS = 50
const BODY = JSON.stringify({ query: QUERY })
const NODE_GATEWAY = join(import.meta.dirname, 'remote', 'gateway.ts')
const OTHERS = join(import.meta.dirname, 'peers')
/** The most CPU of ours in the headline, relative to the floor and to Hive Router. */
const FLOOR_RATIO_MAX = 1.25
const ROUTER_RATIO_MAX = 1.6
const MEMORY_MAX_MB = 200

const ROUTERS = ['hive-router-apart-changing', 'hive-router-apart', 'hive-router']
const OWN = ['floor-apart-changing', 'ours-apart-changing', 'floor-apart', 'ours-apart', 'floor', 'ours']

/** `changing`: over subgraphs that never repeat an answer. */
type Peer = { readonly kind: string; readonly changing?: boolean; command(supergraph: string, port: number, folder: string): Command }
type Round = { cpuMs: number; perSecond: number; p95Ms: number; calls: number }

export async function bench({ quick, hiveRouter, progress }: BenchOptions): Promise<Measure[]> {
  const [rounds, durationMs] = quick ? [2, 1_500] : [5, 4_000]
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-remote-'))
  const running: Measured[] = []
  try {
    const port = await freePort()
    const subgraphs = await startProcess(
      { file: process.execPath, args: [join(import.meta.dirname, 'remote', 'subgraphs.ts'), String(port)] },
      port,
    )
    running.push(subgraphs)
    const supergraph = join(folder, 'supergraph.graphql')
    writeFileSync(supergraph, remoteSupergraph(`http://127.0.0.1:${port}`))
    const changingSupergraph = join(folder, 'changing.graphql')
    writeFileSync(changingSupergraph, remoteSupergraph(`http://127.0.0.1:${port}/changing`))
    const callsSoFar = async () => Number(await (await fetch(`http://127.0.0.1:${port}/calls`)).text())
    const gateways = new Map<string, Measured>()
    const all = peers(hiveRouter, folder, progress)
    for (const { kind, command } of all.filter((each) => each.kind === 'floor' || each.kind === 'ours')) {
      progress(`gateway-remote: starting ${kind} for the first time`)
      const own = await freePort()
      await (await startProcess(command(supergraph, own, folder), own)).stop()
    }
    for (const { kind, command, changing = false } of all) {
      const own = await freePort()
      const gateway = await startProcess(command(changing ? changingSupergraph : supergraph, own, folder), own)
      running.push(gateway)
      gateways.set(kind, gateway)
    }
    await expectSameAnswers(gateways)
    progress('gateway-remote: warming up')
    for (const gateway of gateways.values()) await load(gateway, callsSoFar, quick ? 1_500 : 3_000)
    const measured = new Map([...gateways.keys()].map((kind) => [kind, [] as Round[]]))
    for (let round = 0; round < rounds; round += 1) {
      progress(`gateway-remote: round ${round + 1} of ${rounds}`)
      for (const [kind, gateway] of gateways) measured.get(kind)?.push(await load(gateway, callsSoFar, durationMs))
    }
    return measuresOf(measured, gateways)
  } finally {
    await Promise.all(running.map((each) => each.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

function peers(hiveRouter: string | undefined, folder: string, progress: (text: string) => void): Peer[] {
  // As in the start script: Node keeps its compiled code, so a restarted process does not compile TypeScript again.
  const env = { ...SHIPPED_ENVIRONMENT, NODE_OPTIONS: SHIPPED_OPTIONS.join(' '), NODE_COMPILE_CACHE: join(folder, 'compiled') }
  const own = OWN.map((kind): Peer => {
    const changing = kind.endsWith('-changing')
    return { kind, changing, command: (supergraph, port) => ({ ...node(NODE_GATEWAY, kind, supergraph, port), env }) }
  })
  const router = hiveRouter ?? onPath('hive_router')
  if (router === undefined) progress('gateway-remote: no hive_router on the PATH (give --hive-router PATH): left out')
  const routers = router === undefined ? [] : ROUTERS.map((kind) => routerPeer(router, kind))
  const serve = join(OTHERS, 'serve.mjs')
  const isThere = existsSync(serve) && existsSync(join(OTHERS, 'node_modules'))
  if (!isThere)
    progress('gateway-remote: bench/gateway/peers is not installed (npm ci there): Hive gateway and @apollo/gateway are left out')
  const others = isThere ? ['hive-native', 'hive-js', 'apollo'] : []
  return [
    ...own,
    ...routers,
    ...others.map((kind): Peer => ({ kind, command: (supergraph, port) => ({ ...node(serve, kind, supergraph, port), cwd: OTHERS }) })),
  ]
}

function node(script: string, kind: string, supergraph: string, port: number): Command {
  return { file: process.execPath, args: [script, kind, supergraph, String(port)] }
}

function routerPeer(file: string, kind: string): Peer {
  const dedupe = !kind.includes('-apart')
  return {
    kind,
    changing: kind.endsWith('-changing'),
    command(supergraph, port, folder) {
      const config = join(folder, `${kind}.yaml`)
      const lines = [
        `supergraph: { source: file, path: ${supergraph} }`,
        `http: { host: 127.0.0.1, port: ${port} }`,
        'log: { level: error }',
        `traffic_shaping: { all: { dedupe_enabled: ${dedupe} } }`,
      ]
      writeFileSync(config, `${lines.join('\n')}\n`)
      return { file, args: [], env: { ROUTER_CONFIG_FILE_PATH: config } }
    },
  }
}

function onPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))
}

/** Wrong answers would make the comparison invalid. */
async function expectSameAnswers(gateways: ReadonlyMap<string, Measured>): Promise<void> {
  let expected: string | undefined
  for (const [kind, { url }] of gateways) {
    const answer = await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: BODY })).json()
    const text = JSON.stringify(sorted(answer))
    expected ??= text
    if (text !== expected) throw new Error(`the answer of ${kind} differs from the floor's: ${text.slice(0, 200)}`)
  }
}

/** JSON does not define the order of keys, and not all gateways keep it. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}

async function load(gateway: Measured, callsSoFar: () => Promise<number>, durationMs: number): Promise<Round> {
  const [cpuBefore, callsBefore] = [gateway.cpuMs(), await callsSoFar()]
  const { requests, perSecond, p95Ms } = await runLoad({ url: gateway.url, connections: CONNECTIONS, durationMs, body: () => BODY })
  return { cpuMs: (gateway.cpuMs() - cpuBefore) / requests, calls: ((await callsSoFar()) - callsBefore) / requests, perSecond, p95Ms }
}

function measuresOf(measured: ReadonlyMap<string, readonly Round[]>, gateways: ReadonlyMap<string, Measured>): Measure[] {
  const middle = (kind: string, of: (round: Round) => number): number | undefined => {
    const values = (measured.get(kind) ?? []).map(of).sort((a, b) => a - b)
    return values[Math.floor(values.length / 2)]
  }
  const cpu = (kind: string) => middle(kind, ({ cpuMs }) => cpuMs)
  const ratio = (other: string, target: number): Measure[] => {
    const [ours, theirs] = [cpu('ours-apart-changing'), cpu(other)]
    if (ours === undefined || theirs === undefined) return []
    return [{ metric: `ours-apart-changing: CPU of ${other}`, value: ours / theirs, unit: 'times', target, atMost: true }]
  }
  const headline = [...ratio('floor-apart-changing', FLOOR_RATIO_MAX), ...ratio('hive-router-apart-changing', ROUTER_RATIO_MAX)]
  const all = [...measured.keys()].flatMap((kind): Measure[] => {
    return [
      { metric: `${kind}: CPU`, value: cpu(kind) ?? NaN, unit: 'ms per request' },
      { metric: `${kind}: requests`, value: middle(kind, ({ perSecond }) => perSecond) ?? NaN, unit: 'per second' },
      { metric: `${kind}: p95`, value: middle(kind, ({ p95Ms }) => p95Ms) ?? NaN, unit: 'ms' },
      { metric: `${kind}: calls`, value: middle(kind, ({ calls }) => calls) ?? NaN, unit: 'per request' },
      {
        metric: `${kind}: peak memory`,
        value: gateways.get(kind)?.peakMb() ?? NaN,
        unit: 'MB',
        ...(kind.startsWith('ours') ? { target: MEMORY_MAX_MB, atMost: true } : {}),
      },
    ]
  })
  return [...headline, ...all]
}
