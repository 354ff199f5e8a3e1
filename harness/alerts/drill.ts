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
  /** Waits until no alert of the fault is left from before, injects it, waits for its alerts, and repairs it. */
  run(fault: DrillFault, maxMs: number): Promise<DrillResult>
  stop(): Promise<void>
}

const LOOK_EVERY_MS = 250
const QUIET_MAX_MS = 300_000

export async function startDrill(
  deployment: Pick<Deployment, 'roles' | 'servers'>,
  { speed, everyMs, more = [] }: { speed: number; everyMs: number; more?: readonly string[] },
): Promise<Drill> {
  await ensurePrometheus()
  const [port] = (await freePorts(1)) as [number]
  const targets = [...deployment.roles.map(({ metricsUrl }) => new URL(metricsUrl).host), ...more]
  const prometheus = makePrometheus(join(deployment.servers.folder, 'prometheus'), port, { rules: rulesYaml({ speed }), targets, everyMs })
  await prometheus.start()

  async function firing(states = ['firing']): Promise<Set<string>> {
    const alerts = await prometheus.alerts()
    return new Set(alerts.filter(({ state }) => states.includes(state)).map(({ labels }) => labels['alertname'] ?? ''))
  }

  async function look(ms: number, seen: (names: Set<string>) => boolean): Promise<void> {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(LOOK_EVERY_MS)) if (seen(await firing())) return
  }

  /** An alert that still fires for an earlier fault says nothing about the next one. */
  async function quiet(alerts: readonly string[]): Promise<void> {
    const waiting = async () => {
      const names = await firing(['pending', 'firing'])
      return alerts.filter((alert) => names.has(alert))
    }
    for (const end = performance.now() + QUIET_MAX_MS; (await waiting()).length > 0; await sleep(LOOK_EVERY_MS))
      if (performance.now() > end) throw new Error(`these alerts do not end without their fault: ${(await waiting()).join(', ')}`)
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
      await quiet(alerts)
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
      const fired = alerts.map((alert) => ({ fault, alert, seconds: at.get(alert) }))
      return { fired, others: [...all].filter((name) => !alerts.includes(name) && !before.has(name)) }
    },
    stop: () => prometheus.stop(),
  }
}
