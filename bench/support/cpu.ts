/** The CPU time of another process (Linux). */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

let ticks: number | undefined

/** proc(5): the 14th and 15th field of `stat`, in clock ticks. The second field may contain spaces and ends with a parenthesis. */
export function cpuSeconds(pid: number): number {
  ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticks
}
