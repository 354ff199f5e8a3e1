/** The CPU time of other processes (Linux). */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

let ticks: number | undefined

export function cpuSeconds(pid: number): number {
  return secondsIn(`/proc/${pid}/stat`)
}

/** The CPU time of the first thread of a process: the event loop of Node, the commands of Redis. */
export function mainThreadSeconds(pid: number): number {
  return secondsIn(`/proc/${pid}/task/${pid}/stat`)
}

/** The CPU time that all processes of the machine have used. */
export function machineSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + (times.user + times.nice + times.sys + times.irq) / 1_000, 0)
}

/** proc(5): the 14th and 15th field of `stat`, in clock ticks. The second field may contain spaces and ends with a parenthesis. */
function secondsIn(path: string): number {
  ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const stat = readFileSync(path, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticks
}
