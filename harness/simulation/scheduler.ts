/**
 * One seeded scheduler decides what happens next: which store call takes effect, in how many parts, when its answer
 * arrives and whether it does; which timer fires and how late; when a process dies and what becomes of its calls.
 *
 * There is no real time and no real waiting. Each step does one thing, and the code under test then runs as far as it can
 * before the next step: steps are run by `setImmediate`, and Node empties the queue of microtasks between any two
 * immediates. That is exact (no count of awaits to guess), deterministic, and, with many immediates queued at once, costs
 * less than a microsecond.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import { TidemarkError, type ErrorCode } from '../../core/errors.ts'
import { randomBelow, type Random } from '../../core/random.ts'
import type { Gate, StoreName } from './gate.ts'
import { describe, viewerIn, type History } from './history-of-events.ts'

/** A process from its start to its death. */
export type Life = { name: string; dead: boolean; skewMs: number }

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

type Waiting = { due: number; life: Life | undefined; run: () => void }

export type SchedulerOptions = {
  start: number
  /** Chance that a call is held up for a while before it takes effect. */
  stallChance: number
  stallMaxMs: number
}

const CODES: Record<StoreName, ErrorCode> = {
  hot: 'HOT_STORE_UNAVAILABLE',
  cache: 'HOT_STORE_UNAVAILABLE',
  log: 'LOG_UNAVAILABLE',
  records: 'RECORD_STORE_UNAVAILABLE',
  events: 'LOG_UNAVAILABLE',
  journal: 'HOT_STORE_UNAVAILABLE',
  legacy: 'LEGACY_UNAVAILABLE',
}

/** Those whose calls nobody gives up. */
const AWAITED: ReadonlySet<StoreName> = new Set(['hot', 'cache', 'events'])

export type Scheduler = ReturnType<typeof makeScheduler>

export function makeScheduler(random: Random, options: SchedulerOptions, history: History | undefined) {
  const { start } = options
  const down: Record<StoreName, boolean> = {
    hot: false,
    cache: false,
    log: false,
    records: false,
    events: false,
    journal: false,
    legacy: false,
  }
  const lastDown: Record<StoreName, number> = { hot: -1, cache: -1, log: -1, records: -1, events: -1, journal: -1, legacy: -1 }
  let pending: Call[] = []
  let waiting: Waiting[] = []
  let now = start
  let steps = 0
  let stalled = 0
  let { stallChance } = options

  function wait(delayMs: number, life: Life | undefined, run: () => void): Waiting {
    const entry = { due: now + delayMs, life, run }
    let place = waiting.length
    while (place > 0 && (waiting[place - 1] as Waiting).due > entry.due) place--
    waiting.splice(place, 0, entry)
    return entry
  }

  function clockOf(life: Life): Clock {
    return {
      now: () => now + life.skewMs,
      after(delayMs, task): Timer {
        if (life.dead) return { cancel: () => undefined }
        // Clocks show whole milliseconds.
        const entry = wait(Math.ceil(delayMs), life, task)
        return { cancel: () => void (waiting = waiting.filter((each) => each !== entry)) }
      },
    }
  }

  function gateOf(life: Life): Gate {
    return {
      call<T>(store: StoreName, name: string, args: readonly unknown[], parts: readonly (() => void)[], answer: () => T): Promise<T> {
        return new Promise<T>((resolve, reject) => {
          if (life.dead) return
          const call: Call = {
            life,
            askedAt: now,
            store,
            name,
            args,
            parts,
            next: 0,
            answer,
            resolve: (value) => resolve(value as T),
            reject,
            state: 'asked',
          }
          // A journal is on a disk of the process's own, which is never far.
          if (store !== 'journal' && random() < stallChance) {
            stalled++
            wait(randomBelow(random, options.stallMaxMs), undefined, () => {
              stalled--
              pending.push(call)
            })
          } else pending.push(call)
        })
      },
    }
  }

  function tell(call: Call, what: string): void {
    history?.note(now, `${call.life.name}${call.life.dead ? ' (dead)' : ''}: ${call.store}.${call.name}${what}`, viewerIn(call.args))
  }

  function tellAnswer(call: Call): void {
    const answer = call.answer()
    const isNothing = answer === undefined || (Array.isArray(answer) && answer.length === 0)
    if (!isNothing || viewerIn(call.args) !== undefined) tell(call, ` ${describe(call.args, start)} → ${describe(answer, start)}`)
  }

  /** One thing happens to the call; true if something is left to happen. */
  function advance(call: Call): boolean {
    if (call.state !== 'asked') return deliver(call)
    if (down[call.store]) return refuse(call)
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

  /** A store that is down refuses; what it was just doing may have been done all the same. */
  function refuse(call: Call): boolean {
    const wasDone = random() < 0.3
    if (wasDone) while (call.next < call.parts.length) call.parts[call.next++]?.()
    if (history !== undefined) tell(call, ` fails, ${wasDone ? 'but was done' : 'and was not done'}: ${describe(call.args, start)}`)
    call.state = 'lost'
    return deliver(call)
  }

  function deliver(call: Call): false {
    if (call.life.dead) return false
    if (call.state === 'answered') call.resolve(call.answer())
    else call.reject(new TidemarkError(CODES[call.store], `the model's ${call.store} store is down: start it`))
    return false
  }

  /** A step among the calls under way; false if there is none. */
  function advanceOne(): boolean {
    if (pending.length === 0) return false
    const index = randomBelow(random, pending.length)
    const call = pending[index] as Call
    pending[index] = pending[pending.length - 1] as Call
    pending.pop()
    if (advance(call)) pending.push(call)
    return true
  }

  function fireDue(): boolean {
    const first = waiting[0]
    if (first === undefined || first.due > now) return false
    waiting.shift()
    first.run()
    return true
  }

  /** Everything in its memory is gone. A call under way is done, or never is, or is done later, but not on its own disk. */
  function kill(life: Life): void {
    life.dead = true
    waiting = waiting.filter((each) => each.life !== life)
    pending = pending.filter((call) => {
      if (call.life !== life) return true
      if (call.state !== 'asked' || random() >= 0.6) return false
      if (call.store !== 'journal') return true
      while (call.next < call.parts.length) call.parts[call.next++]?.()
      return false
    })
  }

  function setDown(store: StoreName, isDown: boolean): void {
    if (down[store]) lastDown[store] = now
    down[store] = isDown
    history?.note(now, `--- ${store} store is ${isDown ? 'down' : 'up'}`)
  }

  return {
    now: () => now,
    steps: () => steps,
    /** Milliseconds pass, and a step is counted. */
    pass(ms: number): void {
      now += ms
      steps++
    },
    underWay: () => pending.length,
    /** Calls that are on their way to a store, also of processes that are dead. */
    stalled: () => stalled,
    nextDue: () => waiting[0]?.due,
    isDown: (store: StoreName) => down[store],
    /** Was it down at any time since then? */
    wasDownSince: (code: ErrorCode, since: number) =>
      (Object.keys(CODES) as StoreName[]).some((store) => CODES[store] === code && (down[store] || lastDown[store] >= since)),
    /** What the process has under way or planned, but for calls that it has given up; empty if nothing. */
    left: (life: Life, patienceMs: number) =>
      [
        ...pending
          .filter((call) => call.life === life && (AWAITED.has(call.store) || call.askedAt > now - patienceMs))
          .map((call) => call.name),
        ...waiting.filter((each) => each.life === life).map(() => 'a timer'),
      ].join(', '),
    /** From now on nothing is held up. */
    calm: () => void (stallChance = 0),
    wait,
    clockOf,
    gateOf,
    advanceOne,
    fireDue,
    kill,
    setDown,
  }
}

const BATCH = 64

/**
 * Runs `step` until it returns false; microtasks run out between any two steps. Rejects with what a step throws. What the code
 * under test plans by `setImmediate` itself has its turn after `batch` steps at most.
 */
export function runSteps(step: () => boolean, batch: number = BATCH): Promise<void> {
  return new Promise((resolve, reject) => {
    let ended = false
    let left = 0
    const run = (): void => {
      if (ended) return
      try {
        ended = !step()
      } catch (error) {
        ended = true
        reject(error)
        return
      }
      if (ended) resolve()
      else if (--left === 0) plan()
    }
    const plan = (): void => {
      left = batch
      for (let i = 0; i < batch; i++) setImmediate(run)
    }
    plan()
  })
}
