/**
 * Alerts in a drill: a real deployment under load, and a real Prometheus with the shipped rules. A fault is injected, and the drill waits for
 * the expected alerts. All ranges and waits of the rules are shortened by one factor, the speed, so that a drill of hours takes minutes.
 *
 * Any other alert is a mistake of the rules or of the product, unless the fault lists it as a companion. An alert that is pending when a fault
 * begins belongs to an earlier fault. After a repair the drill therefore waits until no alert is pending, and counts the late ones as well.
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
  /** Alerts that may fire too, each with the reason. */
  companions?: Companions
  inject(): Promise<void> | void
  repair(): Promise<void> | void
}

export type Companions = Readonly<Record<`Tidemark${string}`, string>>

export type Fired = { fault: string; alert: string; seconds: number | undefined }
/** `others`: alerts besides the expected ones. `unexpected`: those of `others` that are not companions of the fault. */
export type DrillResult = { fired: Fired[]; others: string[]; unexpected: string[] }

export type Drill = {
  prometheus: Prometheus
  /** Alerts that fire at any time while it waits. */
  watch(ms: number): Promise<string[]>
  /** Waits until earlier alerts of the fault have ended, injects the fault, waits for its alerts, repairs it, and waits for late alerts. */
  run(fault: DrillFault, maxMs: number): Promise<DrillResult>
  stop(): Promise<void>
}

/** `seen`: all alerts that fired. `before`: those that were firing or pending when the fault began. */
export function furtherAlerts(
  { alerts, companions = {} }: Pick<DrillFault, 'alerts' | 'companions'>,
  seen: ReadonlySet<string>,
  before: ReadonlySet<string>,
): Pick<DrillResult, 'others' | 'unexpected'> {
  const others = [...seen].filter((name) => !alerts.includes(name) && !before.has(name))
  return { others, unexpected: others.filter((name) => !Object.hasOwn(companions, name)) }
}

const LOOK_EVERY_MS = 250
const QUIET_MAX_MS = 300_000
/** At the speed of production. An alert waits for ten minutes at most before it fires. */
const SETTLE_MINUTES = 11

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

  /** If a fault or its repair makes a condition true, its alert is pending after two evaluations at the latest. */
  async function settle(saw: (names: Set<string>) => void): Promise<void> {
    await sleep(2 * everyMs)
    const end = performance.now() + (SETTLE_MINUTES * 60_000) / speed
    while ((await firing(['pending'])).size > 0 && performance.now() < end) {
      saw(await firing())
      await sleep(LOOK_EVERY_MS)
    }
    saw(await firing())
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
    async run({ name: fault, alerts, companions = {}, inject, repair }, maxMs) {
      await quiet(alerts)
      const before = await firing(['pending', 'firing'])
      const all = new Set<string>()
      const note = (names: Set<string>): void => names.forEach((name) => all.add(name))
      const at = new Map<string, number>()
      const begun = performance.now()
      await inject()
      try {
        await look(maxMs, (names) => {
          note(names)
          for (const alert of alerts) if (names.has(alert) && !at.has(alert)) at.set(alert, (performance.now() - begun) / 1_000)
          return at.size === alerts.length
        })
      } finally {
        await repair()
      }
      await settle(note)
      const fired = alerts.map((alert) => ({ fault, alert, seconds: at.get(alert) }))
      return { fired, ...furtherAlerts({ alerts, companions }, all, before) }
    },
    stop: () => prometheus.stop(),
  }
}
