/**
 * The calls in flight from processes to stores. A call may be held up before it takes effect, and may take effect in several parts. A store
 * that is down may refuse a call although it was done. The answer is lost if the waiting process dies.
 */
import { TidemarkError } from '../../core/errors.ts'
import { randomBelow, type Random } from '../../core/random.ts'
import type { Gate, StoreName } from './gate.ts'
import { describe, viewerIn, type History } from './history-of-events.ts'
import type { Life } from './life.ts'
import { CODES, type Outages } from './outages.ts'
import type { Timers } from './timers.ts'

export type CallOptions = {
  start: number
  /** The probability that a call is held up before it takes effect. */
  stallChance: number
  stallMaxMs: number
}

type Call = {
  life: Life
  askedAt: number
  store: StoreName
  name: string
  args: readonly unknown[]
  parts: readonly (() => void)[]
  next: number
  answer: () => unknown
  resolve(value: unknown): void
  reject(error: unknown): void
  state: 'asked' | 'answered' | 'lost'
}

/** Stores without a timeout for calls. */
const AWAITED: ReadonlySet<StoreName> = new Set(['hot', 'cache', 'events'])

export function makeCalls(random: Random, options: CallOptions, timers: Timers, outages: Outages, now: () => number, history?: History) {
  const { start, stallMaxMs } = options
  const { tell, tellAnswer } = makeTeller(history, now, start)
  let pending: Call[] = []
  let stalled = 0
  let { stallChance } = options

  function add(call: Call): void {
    // A journal is on a local disk, which is never slow.
    if (call.store !== 'journal' && random() < stallChance) {
      stalled++
      timers.wait(randomBelow(random, stallMaxMs), undefined, () => {
        stalled--
        pending.push(call)
      })
    } else pending.push(call)
  }

  /** One event of the call. True if more events follow. */
  function advance(call: Call): boolean {
    if (call.state !== 'asked') return deliver(call)
    if (outages.isDown(call.store)) return refuse(call)
    const inParts = call.parts.length > 1 && random() < 0.5
    const end = inParts ? call.next + 1 : call.parts.length
    while (call.next < end) call.parts[call.next++]?.()
    if (call.next < call.parts.length) {
      if (history !== undefined) tell(call, ` part ${call.next} of ${call.parts.length} ${describe(call.args, start)}`)
      return true
    }
    if (history !== undefined) tellAnswer(call)
    call.state = 'answered'
    return random() < 0.3 || deliver(call)
  }

  /** A store that is down refuses the call, which may have been done all the same. */
  function refuse(call: Call): boolean {
    const wasDone = random() < 0.3
    if (wasDone) complete(call)
    if (history !== undefined) tell(call, ` fails, ${wasDone ? 'but was done' : 'and was not done'}: ${describe(call.args, start)}`)
    call.state = 'lost'
    return deliver(call)
  }

  return {
    gateOf: (life: Life): Gate => ({
      call<T>(store: StoreName, name: string, args: readonly unknown[], parts: readonly (() => void)[], answer: () => T): Promise<T> {
        return new Promise<T>((resolve, reject) => {
          if (life.dead) return
          const call = { life, askedAt: now(), store, name, args, parts, next: 0, answer, reject, state: 'asked' as const }
          add({ ...call, resolve: (value) => resolve(value as T) })
        })
      },
    }),
    underWay: () => pending.length,
    /** Calls that are on their way to a store, also of processes that are dead. */
    stalled: () => stalled,
    /** From now on no call is held up. */
    calm: () => void (stallChance = 0),
    /** One event of a random call in flight. False if there is none. */
    advanceOne(): boolean {
      if (pending.length === 0) return false
      const index = randomBelow(random, pending.length)
      const call = pending[index] as Call
      pending[index] = pending[pending.length - 1] as Call
      pending.pop()
      if (advance(call)) pending.push(call)
      return true
    },
    /** Names of the process's calls, except those that it has given up. */
    namesOf: (life: Life, patienceMs: number) =>
      pending
        .filter((call) => call.life === life && (AWAITED.has(call.store) || call.askedAt > now() - patienceMs))
        .map((call) => call.name),
    /** A call of a dying process is done now, later or never. A call to its local disk is not done later. */
    orphan(life: Life): void {
      pending = pending.filter((call) => {
        if (call.life !== life) return true
        if (call.state !== 'asked' || random() >= 0.6) return false
        if (call.store !== 'journal') return true
        complete(call)
        return false
      })
    },
  }
}

function complete(call: Call): void {
  while (call.next < call.parts.length) call.parts[call.next++]?.()
}

function deliver(call: Call): false {
  if (call.life.dead) return false
  if (call.state === 'answered') call.resolve(call.answer())
  else call.reject(new TidemarkError(CODES[call.store], `the model's ${call.store} store is down: start it`))
  return false
}

function makeTeller(history: History | undefined, now: () => number, start: number) {
  function tell(call: Call, what: string): void {
    history?.note(now(), `${call.life.name}${call.life.dead ? ' (dead)' : ''}: ${call.store}.${call.name}${what}`, viewerIn(call.args))
  }
  function tellAnswer(call: Call): void {
    const answer = call.answer()
    const isNothing = answer === undefined || (Array.isArray(answer) && answer.length === 0)
    if (!isNothing || viewerIn(call.args) !== undefined) tell(call, ` ${describe(call.args, start)} → ${describe(answer, start)}`)
  }
  return { tell, tellAnswer }
}
