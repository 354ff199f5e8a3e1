/**
 * Alerts in a drill: a real deployment under load, and a real Prometheus with the shipped rules. A fault is injected, and the drill waits for
 * the expected alerts. All ranges and waits of the rules are shortened by one factor, the speed, so that a drill of hours takes minutes.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rulesYaml } from '../../ops/rules.ts'
import { ensurePrometheus, makePrometheus, type Prometheus } from '../../scripts/servers/prometheus.ts'
import { freePorts } from '../deployment/ports.ts'
import type { Deployment } from '../deployment/deployment.ts'

export type DrillFault = {
  name: string
  /** The alerts that must fire. */
  alerts: readonly string[]
  inject(): Promise<void> | void
  repair(): Promise<void> | void
}

export type Fired = { fault: string; alert: string; seconds: number | undefined }
export type DrillResult = { fired: Fired[]; others: string[] }

export type Drill = {
  prometheus: Prometheus
  /** Alerts that fire at any time while it waits. */
  watch(ms: number): Promise<string[]>
  /** Injects the fault, waits for its alerts, repairs it, and waits until no alert of it fires. */
  run(fault: DrillFault, maxMs: number): Promise<DrillResult>
  stop(): Promise<void>
}

const LOOK_EVERY_MS = 250

export async function startDrill(
  deployment: Pick<Deployment, 'roles' | 'servers'>,
  { speed, everyMs, more = [] }: { speed: number; everyMs: number; more?: readonly string[] },
): Promise<Drill> {
  await ensurePrometheus()
  const [port] = (await freePorts(1)) as [number]
  const targets = [...deployment.roles.map(({ metricsUrl }) => new URL(metricsUrl).host), ...more]
  const prometheus = makePrometheus(join(deployment.servers.folder, 'prometheus'), port, { rules: rulesYaml({ speed }), targets, everyMs })
  await prometheus.start()

  async function firing(): Promise<Set<string>> {
    const alerts = await prometheus.alerts()
    return new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels['alertname'] ?? ''))
  }

  async function look(ms: number, seen: (names: Set<string>) => boolean): Promise<void> {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(LOOK_EVERY_MS)) if (seen(await firing())) return
  }

  return {
    prometheus,
    async watch(ms) {
      const all = new Set<string>()
      await look(ms, (names) => {
        for (const name of names) all.add(name)
        return false
      })
      return [...all]
    },
    async run({ name: fault, alerts, inject, repair }, maxMs) {
      const before = await firing()
      const all = new Set<string>()
      const at = new Map<string, number>()
      const begun = performance.now()
      await inject()
      try {
        await look(maxMs, (names) => {
          for (const name of names) all.add(name)
          for (const alert of alerts) if (names.has(alert) && !at.has(alert)) at.set(alert, (performance.now() - begun) / 1_000)
          return at.size === alerts.length
        })
      } finally {
        await repair()
      }
      await look(maxMs, (names) => alerts.every((alert) => !names.has(alert) || before.has(alert)))
      const fired = alerts.map((alert) => ({ fault, alert, seconds: before.has(alert) ? undefined : at.get(alert) }))
      return { fired, others: [...all].filter((name) => !alerts.includes(name) && !before.has(name)) }
    },
    stop: () => prometheus.stop(),
  }
}
