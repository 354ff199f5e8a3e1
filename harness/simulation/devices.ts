/** Devices that do one thing after the other. Each calls a process and waits for the answer, or until the process has died. */
import { randomBelow, type Random } from '../../core/random.ts'
import type { Viewer } from '../../core/viewer.ts'
import { describe, type History } from './history-of-events.ts'
import type { Life } from './life.ts'
import type { Scheduler } from './scheduler.ts'
import { Violation } from './violation.ts'

type Device<Process, Sent> = {
  viewer: Viewer
  name: string
  /** Undefined while the device does nothing. */
  process: Process | undefined
  /** The last input, which the device may send again. */
  sent: Sent[]
}

/** The relative frequency, the name in the history, and the action, which resolves to a text of the answer. */
export type Action<One, Process> = readonly [weight: number, name: string, act: (device: One, process: Process) => Promise<string>]

export type DeviceOptions<One> = {
  random: Random
  scheduler: Scheduler
  history: History | undefined
  /** The time that is 0 in the history. */
  start: number
  /** The beginning of the names of actions that send `sent`. */
  sending: string
  /** An action failed. `what` describes it, and it began at `since`. */
  refused(error: unknown, since: number, device: One, what: string, name: string): void
}

export function makeDevices<Sent, Process extends { life: Life }, One extends Device<Process, Sent>>(
  devices: readonly One[],
  actions: readonly Action<One, Process>[],
  { random, scheduler, history, start, sending, refused }: DeviceOptions<One>,
) {
  const pick = <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T
  const weight = actions.reduce((sum, [each]) => sum + each, 0)

  async function run(device: One, process: Process, [, name, act]: Action<One, Process>): Promise<void> {
    const since = scheduler.now()
    const [by, viewer] = [`device ${device.name}`, device.viewer.id]
    try {
      const begun = act(device, process)
      const what = history !== undefined && name.startsWith(sending) ? describe(device.sent, start) : ''
      history?.note(since, `${by} ${name} at ${process.life.name}: ${what}`, viewer)
      const answer = await begun
      history?.note(scheduler.now(), `${by} ${name}, answered: ${answer}`, viewer)
    } catch (error) {
      if (error instanceof Violation) throw error
      history?.note(scheduler.now(), `${by} ${name}, refused: ${String(error)}`, viewer)
      refused(error, since, device, `${by} ${name}`, name)
    }
    // If the process died meanwhile, the device may already use another one.
    if (device.process === process) device.process = undefined
  }

  return {
    /** An idle device begins an action. False if all are busy. */
    act(processes: readonly Process[]): boolean {
      const idle = devices.filter((device) => device.process === undefined)
      if (idle.length === 0 || processes.length === 0) return false
      const device = pick(idle)
      const process = pick(processes)
      let rest = randomBelow(random, weight)
      const action = actions.find(([each]) => (rest -= each) < 0) as Action<One, Process>
      device.process = process
      void run(device, process, action)
      return true
    },
    /** Devices that wait for this process get no answer. */
    lose(process: Process): void {
      for (const device of devices) if (device.process === process) device.process = undefined
    },
    /** Devices forget their last input, because the records that make a repetition harmless are gone. */
    forget(): void {
      for (const device of devices) device.sent = []
    },
    isBusyAt: (process: Process) => devices.some((device) => device.process === process),
    isBusy: () => devices.some((device) => device.process !== undefined),
  }
}
