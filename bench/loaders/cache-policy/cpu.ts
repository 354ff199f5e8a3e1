/** CPU time of this process in milliseconds. Other processes change it only slightly, unlike the wall-clock time. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
