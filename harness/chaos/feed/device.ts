/** A lane of the feed's load: its calls with their times, and the viewers for whom only this lane writes. */
import type { ViewerId } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { Role } from '../../deployment/role.ts'
import type { Call } from '../calls.ts'
import { makeLane, type Lane } from '../lane.ts'

export type FeedWriterOptions = {
  seed: number
  /** Concurrent calls of lanes that write and read. */
  lanes: number
  /** Concurrent calls of lanes that only read, as any viewer. They go on while the others wait for a store. */
  readers: number
  users: readonly ViewerId[]
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  /** Called after every call. */
  onCall(call: Call): void
  /** The servers that were out of order since then, by performance.now(). */
  outSince(begun: number): ReadonlySet<string>
}

/** `begun`: of the first try. `answeredFrom`: of the try that was answered. `tries`: 1 or more. */
export type Answered<Data> = {
  data: Data
  lacks: string[]
  begun: number
  answeredFrom: number
  ended: number
  tries: number
  out: string[]
}

export type Device = {
  lane: Lane
  random: Random
  /** One of the lane's own viewers, or of all viewers if the lane only reads. */
  viewer(): ViewerId
  user(): ViewerId
  ask<Data>(operation: string, viewer: ViewerId, query: string, variables: object, scopes?: string): Promise<Answered<Data>>
}

export function makeDevice(gateways: readonly Role[], number: number, options: FeedWriterOptions): Device {
  const { users, lanes, seed } = options
  let last: Call | undefined
  let tries = 0
  const lane = makeLane(gateways, number, {
    seed,
    onCall(call) {
      last = call
      tries++
      options.onCall(call)
    },
  })
  const { random } = lane
  const own = number < lanes ? users.filter((_, at) => at % lanes === number) : users
  return {
    lane,
    random,
    viewer: () => own[randomBelow(random, own.length)] as ViewerId,
    user: () => users[randomBelow(random, users.length)] as ViewerId,
    async ask<Data>(operation: string, viewer: ViewerId, query: string, variables: object, scopes?: string): Promise<Answered<Data>> {
      tries = 0
      const begun = performance.now()
      const { data, degraded } = await lane.insist<Data>(operation, viewer, query, variables, scopes)
      const answeredFrom = last?.begun ?? begun
      const out = [...options.outSince(answeredFrom)]
      return { data, lacks: [...degraded], begun, answeredFrom, ended: performance.now(), tries, out }
    },
  }
}
