/** Prometheus from Debian's package, with a configuration of its own: the rules and targets of one test. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ensurePrograms, findProgram, run } from './packages.ts'
import { launch, lastOutput, runningPid, stopProcess } from './processes.ts'

export type PrometheusOptions = {
  /** The rules as YAML. */
  rules: string
  /** `host:port` of each process to scrape. */
  targets: readonly string[]
  /** Between two scrapes, and between two evaluations of the rules. */
  everyMs: number
}

export type FiringAlert = { labels: Readonly<Record<string, string>>; state: 'pending' | 'firing'; activeAt: string; value: string }
export type Range = { metric: Readonly<Record<string, string>>; values: readonly (readonly [unixSeconds: number, value: number])[] }
export type Sample = { metric: Readonly<Record<string, string>>; value: number }

export type Prometheus = {
  start(): Promise<void>
  /** Pending and firing alerts. */
  alerts(): Promise<FiringAlert[]>
  /** The result of an expression now. Rejects with the words of Prometheus. */
  query(expr: string): Promise<Sample[]>
  /** Its results over a time. `from` and `to` are Unix seconds, `step` seconds. */
  queryRange(expr: string, span: { from: number; to: number; step: number }): Promise<Range[]>
  stop(): Promise<void>
}

const STOP_MS = 5_000
const START_MS = 30_000

/** False if there is no Prometheus and CI does not require one. */
export async function prometheusIsHere(): Promise<boolean> {
  if (process.env['CI'] === 'true' && process.platform === 'linux') await ensurePrometheus()
  return findProgram('prometheus') !== undefined && findProgram('promtool') !== undefined
}

export function ensurePrometheus(): Promise<void> {
  return ensurePrograms('the check of the alert rules', ['prometheus', 'promtool'], ['prometheus'])
}

/** The output of promtool. Rejects with its last lines if it finds a mistake. */
export function promtool(args: readonly string[]): Promise<string> {
  return run(findProgram('promtool') as string, args, `promtool ${args.slice(0, 2).join(' ')} found mistakes`)
}

export function makePrometheus(folder: string, port: number, { rules, targets, everyMs }: PrometheusOptions): Prometheus {
  const origin = `http://127.0.0.1:${port}`

  async function ask<Data>(path: string): Promise<Data> {
    const response = await fetch(`${origin}/api/v1/${path}`, { signal: AbortSignal.timeout(10_000) })
    const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string }
    if (status !== 'success') throw new Error(`Prometheus refuses ${decodeURIComponent(path)}: ${error}`)
    return data
  }

  return {
    async start() {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true })
      const every = `${everyMs}ms`
      const config = {
        global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
        rule_files: ['rules.yaml'],
        scrape_configs: [{ job_name: 'tidemark', static_configs: [{ targets }] }],
      }
      writeFileSync(join(folder, 'prometheus.yaml'), stringify(config))
      writeFileSync(join(folder, 'rules.yaml'), rules)
      const args = [
        '--config.file=prometheus.yaml',
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ]
      launch({ program: findProgram('prometheus') as string, args, folder })
      const isReady = async () => (await fetch(`${origin}/-/ready`)).ok
      for (
        const end = Date.now() + START_MS;
        !(await isReady().catch(() => false));
        await new Promise((resolve) => setTimeout(resolve, 50))
      ) {
        if (runningPid(folder) === undefined || Date.now() > end)
          throw new Error(`prometheus on port ${port} does not answer: ${lastOutput(folder, 5)}`)
      }
    },
    alerts: async () => (await ask<{ alerts: FiringAlert[] }>('alerts')).alerts,
    async query(expr) {
      const { result } = await ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        `query?query=${encodeURIComponent(expr)}`,
      )
      return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }))
    },
    async queryRange(expr, { from, to, step }) {
      const { result } = await ask<{ result: { metric: Record<string, string>; values: [number, string][] }[] }>(
        `query_range?query=${encodeURIComponent(expr)}&start=${from}&end=${to}&step=${step}`,
      )
      return result.map(({ metric, values }) => ({ metric, values: values.map(([time, value]) => [time, Number(value)] as const) }))
    },
    stop: () => stopProcess(folder, STOP_MS),
  }
}
