/** CPU time of this process in milliseconds: others on the machine make a clock say anything, this only a little more. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
