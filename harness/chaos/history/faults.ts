/**
 * Faults from a seed, which decides their targets, order and durations. The clock of the machine decides which calls they hit. Several
 * faults go on at once, each at another target. A killed server or role is restarted after a while, and a cut is repaired.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { Deployment } from '../../deployment/deployment.ts'
import type { OwnServerName } from '../../deployment/own-servers.ts'
import type { Role } from '../../deployment/role.ts'
import type { Cut } from '../../faults/tcp-proxy.ts'

export type FaultOptions = {
  kills: number
  cuts: number
  /** Faults at once. */
  atOnce: number
  /** Milliseconds between two faults of one strand, at most. */
  pauseMaxMs: number
  /** The longest time in milliseconds between a kill and the restart. The start itself takes extra time. */
  deadMaxMs: number
  /** Milliseconds that a cut lasts. */
  cutMinMs: number
  cutMaxMs: number
  /** Faults of other servers. */
  more?: readonly Fault[]
}

export type FaultFigures = {
  kills: Record<string, number>
  cuts: Record<string, number>
  /** Sentences about failed starts, which were repeated. */
  failedStarts: string[]
}

export type Faults = {
  /** Resolves when all faults are over and repaired. */
  run(progress: (text: string) => void): Promise<FaultFigures>
  /** Servers that were down or cut off at any time since then (performance.now()), or just before. */
  outSince(begun: number): Set<OwnServerName>
}

/** The time of a recovery: breakers check once a second, and clients reconnect with a delay. */
const RECOVERY_MS = 5_000
const STARTS_MAX = 5

export type Fault = { target: string; strike(): Promise<void> }

export function makeFaults(deployment: Deployment, random: Random, options: FaultOptions): Faults {
  const { servers } = deployment
  const figures: FaultFigures = { kills: {}, cuts: {}, failedStarts: [] }
  const outages: { server: OwnServerName; from: number; until: number }[] = []

  async function out(server: OwnServerName, work: () => Promise<void>): Promise<void> {
    const outage = { server, from: performance.now(), until: Infinity }
    outages.push(outage)
    try {
      await work()
    } finally {
      outage.until = performance.now() + RECOVERY_MS
    }
  }

  function killServer(name: OwnServerName): Fault {
    const deadMs = random() * options.deadMaxMs
    return {
      target: name,
      strike: () =>
        out(name, async () => {
          await servers[name].kill()
          await sleep(deadMs)
          await servers[name].start()
          count(figures.kills, name)
        }),
    }
  }

  function killRole(role: Role, kind: string): Fault {
    const deadMs = random() * options.deadMaxMs
    return {
      target: role.name,
      async strike() {
        await role.kill()
        await sleep(deadMs)
        await startAgain(role, figures.failedStarts)
        count(figures.kills, kind)
      },
    }
  }

  function cutLink(link: Deployment['links'][number]): Fault {
    const kind: Cut = random() < 0.5 ? 'broken' : 'silent'
    const cutMs = options.cutMinMs + random() * (options.cutMaxMs - options.cutMinMs)
    return {
      target: `the network to ${link.name}`,
      strike: () =>
        out(link.server, async () => {
          link.proxy.cut(kind)
          await sleep(cutMs)
          link.proxy.mend()
          count(figures.cuts, `${link.server}, ${kind}`)
        }),
    }
  }

  return {
    async run(progress) {
      const faults = planFaults(deployment, random, options, { killServer, killRole, cutLink })
      await strikeAll(faults, random, options, progress)
      return figures
    },
    outSince: (begun) => new Set(outages.filter(({ until }) => until >= begun).map(({ server }) => server)),
  }
}

type FaultKinds = {
  killServer(name: OwnServerName): Fault
  killRole(role: Role, kind: string): Fault
  cutLink(link: Deployment['links'][number]): Fault
}

/** Each kind in its share, so that short runs have some of each. */
function planFaults({ gateways, jobs, links }: Deployment, random: Random, options: FaultOptions, kinds: FaultKinds): Fault[] {
  const pick = <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T
  const killGateway = (): Fault => kinds.killRole(pick(gateways), 'gateway')
  const killJob = (): Fault => kinds.killRole(pick(jobs), 'job')
  const inTurn: (() => Fault)[] = [
    () => kinds.killServer('redis'),
    killGateway,
    () => kinds.killServer('mariadb'),
    killJob,
    () => kinds.killServer('kafka'),
    killGateway,
    () => kinds.killServer('redis'),
    killJob,
  ]
  const kills = Array.from({ length: options.kills }, (_, index) => (inTurn[index % inTurn.length] as () => Fault)())
  const cuts = Array.from({ length: options.cuts }, () => kinds.cutLink(pick(links)))
  const faults = [...kills, ...cuts, ...(options.more ?? [])]
  for (let last = faults.length - 1; last > 0; last--) {
    const other = randomBelow(random, last + 1)
    ;[faults[last], faults[other]] = [faults[other] as Fault, faults[last] as Fault]
  }
  return faults
}

/** Runs several faults at a time, each at another target. */
async function strikeAll(waiting: Fault[], random: Random, options: FaultOptions, progress: (text: string) => void): Promise<void> {
  const total = waiting.length
  const struck = new Set<string>()
  let done = 0
  async function strand(): Promise<void> {
    for (;;) {
      const next = waiting.findIndex(({ target }) => !struck.has(target))
      if (waiting.length === 0) return
      if (next < 0) {
        await sleep(20)
        continue
      }
      const [fault] = waiting.splice(next, 1) as [Fault]
      struck.add(fault.target)
      await sleep(random() * options.pauseMaxMs)
      await fault.strike()
      struck.delete(fault.target)
      progress(`${++done} of ${total} faults: ${fault.target}`)
    }
  }
  await Promise.all(Array.from({ length: options.atOnce }, strand))
}

/** As a supervisor of processes does. */
async function startAgain(role: Role, failedStarts: string[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await role.start()
      return
    } catch (error) {
      failedStarts.push(String(error))
      if (tries >= STARTS_MAX) throw error
    }
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}
