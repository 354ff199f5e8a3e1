/** A lane of calls, one after the other. It stays at one gateway and switches to the next one when a call is not answered. */
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom, type Random } from '../../core/random.ts'
import type { Role } from '../deployment/role.ts'
import { call, type Call, type CallEnd } from './calls.ts'

export type LaneOptions = {
  seed: number
  /** Called after every call. */
  onCall(call: Call): void
}

export type Answer<Data> = Extract<CallEnd<Data>, { kind: 'answered' }>

export type Lane = {
  number: number
  random: Random
  /** Repeats a call until it is answered. Rejects if no gateway answers although everything should be repaired. */
  insist<Data>(operation: string, viewer: string, query: string, variables: object, scopes?: string): Promise<Answer<Data>>
  /** Repeats a task until it succeeds, so it happens at least once. */
  repeat(task: () => Promise<unknown>): Promise<void>
  /** From now on everything should be repaired, and calls give up after 30 s. */
  giveUpSoon(): void
}

export type RunningLane = {
  ended: Promise<void>
  /** Resolves when the last call was answered. Rejects if no gateway answers in 30 s. */
  stop(): Promise<void>
}

const AGAIN_MS = 50
const GIVE_UP_MS = 30_000

export function makeLane(gateways: readonly Role[], number: number, { seed, onCall }: LaneOptions): Lane {
  let gateway = gateways[number % gateways.length] as Role
  let giveUpAt = Infinity
  return {
    number,
    random: seededRandom(seed * 1_000 + number),
    async insist<Data>(operation: string, viewer: string, query: string, variables: object, scopes?: string): Promise<Answer<Data>> {
      for (;;) {
        const made = await call<Data>(gateway, operation, viewer, query, variables, scopes)
        onCall(made)
        if (made.end.kind === 'answered') return made.end
        if (performance.now() > giveUpAt) throw new Error(`no gateway answers any more: ${JSON.stringify(made.end)}`)
        gateway = gateways[(gateways.indexOf(gateway) + 1) % gateways.length] as Role
        await sleep(AGAIN_MS)
      }
    },
    async repeat(task) {
      for (;;) {
        try {
          await task()
          return
        } catch (error) {
          if (performance.now() > giveUpAt) throw error
          await sleep(AGAIN_MS)
        }
      }
    },
    giveUpSoon: () => void (giveUpAt = performance.now() + GIVE_UP_MS),
  }
}

/** Acts again and again, with pauses, until it is stopped. */
export function runLane(lane: Lane, pauseMaxMs: number, act: () => Promise<void>): RunningLane {
  let running = true
  async function run(): Promise<void> {
    while (running) {
      await act()
      await sleep(lane.random() * pauseMaxMs)
    }
  }
  const ended = run()
  // If a lane fails before it is stopped, the stop fails.
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      running = false
      lane.giveUpSoon()
      await ended
    },
  }
}
