/**
 * More machines, on paper: the rate of calls that m machines hold, from the CPU time that a call takes on one.
 *
 *     rate(m) = the least of m · cores / c, and n(m) · b / c_part for each serial part
 *
 * - cores: those of one machine that may be busy. c: CPU seconds of a call in all processes.
 * - c_part: those in a part that cannot use a second core. n(m): how many of that part share the work on m machines.
 * - b: how busy a serial part may be.
 *
 * The formula has no network between machines, no replicas and no uneven regions.
 */

export type SerialPart = {
  name: string
  /** CPU seconds of one core per call. */
  perCall: number
  /** How many share the work on this many machines. */
  count(machines: number): number
}

export type Measured = {
  /** CPU seconds of a call in all processes. */
  perCall: number
  busyCores: number
  /** How busy a serial part may be, from 0 to 1. */
  busyMax: number
  parts: readonly SerialPart[]
}

/** `limit`: the part that is full first, or the cores. */
export function rateOfMachines(machines: number, { perCall, busyCores, busyMax, parts }: Measured): { calls: number; limit: string } {
  const cores = { calls: (machines * busyCores) / perCall, limit: 'the cores' }
  const limits = parts.map((part) => ({ calls: (part.count(machines) * busyMax) / part.perCall, limit: part.name }))
  return limits.reduce((least, each) => (each.calls < least.calls ? each : least), cores)
}
