/** The CPU time of the machine, by part of the site. Everything else that runs on the machine is one part. */
import { availableParallelism } from 'node:os'
import { cpuSeconds, machineSeconds, mainThreadSeconds } from '../support/cpu.ts'

export type Spent = {
  /** CPU seconds by part. */
  parts: Map<string, number>
  /** CPU seconds of the one thread that runs all commands or calls of a process. The mean, if the part has several processes. */
  threads: Map<string, number>
  others: number
  idle: number
  seconds: number
}

/** Parts whose first thread does nearly all of their work. */
const SERIAL = ['gateways', 'job history', 'job thumbup', 'job feed-existence', 'job feed', 'redis']

/** Returns a function that ends the measurement. */
export function watchCpu(parts: ReadonlyMap<string, readonly number[]>): () => Spent {
  const look = () => {
    const sum = (pids: readonly number[], seconds: (pid: number) => number): number => pids.reduce((all, pid) => all + seconds(pid), 0)
    return {
      all: machineSeconds(),
      at: performance.now() / 1_000,
      parts: Array.from(parts, ([name, pids]) => [name, sum(pids, cpuSeconds)] as const),
      threads: SERIAL.map((name) => {
        const pids = parts.get(name) ?? []
        return [name, sum(pids, mainThreadSeconds) / pids.length] as const
      }),
    }
  }
  const before = look()
  return () => {
    const after = look()
    const differences = (kind: 'parts' | 'threads'): Map<string, number> =>
      new Map(after[kind].map(([name, seconds], at) => [name, seconds - (before[kind][at]?.[1] ?? 0)]))
    const spent = differences('parts')
    const seconds = after.at - before.at
    const all = after.all - before.all
    const ofParts = [...spent.values()].reduce((sum, each) => sum + each, 0)
    return {
      parts: spent,
      threads: differences('threads'),
      others: Math.max(0, all - ofParts),
      idle: Math.max(0, seconds * availableParallelism() - all),
      seconds,
    }
  }
}
