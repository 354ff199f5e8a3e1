/**
 * The log as documented in the port: partitions of messages, and a consumer group with committed offsets and an assignment. A member learns
 * of a new assignment only with its next fetch, so two members may work on one partition for a while. The next owner reads uncommitted
 * messages again.
 */
import { sleep, type Clock } from '../../core/clock.ts'
import type { RewardEvent } from '../../core/domain.ts'
import { partitionOf } from '../../core/regions.ts'
import type { ConsumerHooks, FlushMessage, Log } from '../../writeback/log.ts'
import { atOnce, type Gate } from './gate.ts'
import type { LogConsumer } from '../../core/log-consumer.ts'

export type LogFaults = {
  /** Commits fetched messages before they are persisted. */
  commitsFirst?: boolean
}

export type LogOptions = {
  regions: number
  partitions: number
  /** Messages a fetch returns at most. */
  batchMax: number
  /** Milliseconds before a refused call is repeated. */
  retryMs: number
  /** Batches of several partitions are persisted in parallel. */
  sideBySide?: boolean
  faults: LogFaults
}

/** Bytes that are no flush message. */
export const UNREADABLE = 'unreadable'
type Kept = FlushMessage | typeof UNREADABLE

export type LogObserver = { appended(message: FlushMessage): void; committed(messages: readonly FlushMessage[]): void }

/** `first` is the offset of the oldest kept message. Committed messages are removed. */
type Partition = { first: number; messages: Kept[]; owner: Member | undefined }
export type Member = {
  /** Partitions of which a batch is being persisted. */
  busy: Set<number>
  positions: Map<number, number>
  owned: number[]
  wake: (() => void) | undefined
  stopped: boolean
  expelled: boolean
}

export type LogState = ReturnType<typeof makeLogState>

export function makeLogState(options: LogOptions, observer?: LogObserver) {
  const partitions = Array.from({ length: options.partitions }, (): Partition => ({ first: 0, messages: [], owner: undefined }))
  const members = new Set<Member>()
  const rewards: RewardEvent[] = []

  function append(message: FlushMessage): void {
    keep(message.region, message)
    observer?.appended(message)
  }

  function keep(region: number, message: Kept): void {
    const partition = partitions[partitionOf(region, options.partitions)] as Partition
    partition.messages.push(message)
    partition.owner?.wake?.()
  }

  /** Each partition goes to one member, beginning with the one at `start`. */
  function assign(start: number): void {
    const all = [...members]
    partitions.forEach((partition, index) => {
      partition.owner = all[(start + index) % all.length]
    })
    for (const member of all) member.wake?.()
  }

  function fetch(member: Member): { partition: number; messages: Kept[]; end: number } | undefined {
    learn(member)
    for (const number of member.owned) {
      if (member.busy.has(number)) continue
      const partition = partitions[number] as Partition
      const from = Math.max(member.positions.get(number) ?? 0, partition.first)
      const messages = partition.messages.slice(from - partition.first, from - partition.first + options.batchMax)
      if (messages.length > 0) return { partition: number, messages, end: from + messages.length }
    }
    return undefined
  }

  function learn(member: Member): void {
    const owned = partitions.flatMap((partition, number) => (partition.owner === member ? [number] : []))
    for (const number of owned) if (!member.owned.includes(number)) member.positions.delete(number)
    member.owned = owned
  }

  function commit(number: number, end: number): void {
    const partition = partitions[number] as Partition
    const gone = partition.messages.splice(0, Math.max(0, end - partition.first))
    partition.first += gone.length
    if (gone.length > 0) observer?.committed(gone.filter((message) => message !== UNREADABLE))
  }

  /** Uncommitted messages are lost, as by a retention that is too short. */
  function lose(): void {
    for (const partition of partitions) {
      partition.first += partition.messages.length
      partition.messages = []
    }
  }

  return {
    options,
    members,
    rewards,
    append,
    appendUnreadable: (region: number) => keep(region, UNREADABLE),
    assign,
    fetch,
    commit,
    lose,
    join(member: Member): void {
      // A join that arrives after its process died is a session that has expired.
      if (member.expelled) return
      members.add(member)
      assign(0)
    },
    leave(member: Member): void {
      member.expelled = true
      if (members.delete(member)) assign(0)
    },
    isWaitingFor: (member: Member): boolean =>
      partitions.some((partition, number) => {
        const isOwned = member.owned.includes(number)
        if (isOwned && member.busy.has(number)) return false
        if ((partition.owner === member) !== isOwned) return true
        return isOwned && (member.positions.get(number) ?? 0) < partition.first + partition.messages.length && partition.messages.length > 0
      }),
    /** The kept messages of a partition before this offset. */
    before: (number: number, end: number): FlushMessage[] => {
      const { first, messages } = partitions[number] as Partition
      return messages.slice(0, Math.max(0, end - first)).filter((message) => message !== UNREADABLE)
    },
    end: () => partitions.map(({ first, messages }) => first + messages.length),
    isCommitted: (end: readonly number[]) => partitions.every(({ first }, number) => first >= (end[number] ?? 0)),
    lag: () => partitions.reduce((sum, partition) => sum + partition.messages.length, 0),
    regionsOf: (owned: readonly number[]) =>
      Array.from({ length: options.regions }, (_, region) => region).filter((region) =>
        owned.includes(partitionOf(region, options.partitions)),
      ),
  }
}

/** The port of one process. `onJoined` reports the member, so that a world can expel it when it kills the process. */
export function openModelLog(state: LogState, gate: Gate, clock: Clock, onJoined?: (member: Member) => void): Log {
  const once: LogCall = (name, args, act) => atOnce(gate, 'log', name, args, act)

  return {
    appendFlushes: (messages) =>
      gate.call(
        'log',
        'appendFlushes',
        [messages],
        messages.map((message) => () => state.append(message)),
        () => undefined,
      ),
    appendRewards: (events) => once('appendRewards', [events], () => void state.rewards.push(...events)),
    async consumeFlushes(hooks): Promise<LogConsumer> {
      const member: Member = { busy: new Set(), positions: new Map(), owned: [], wake: undefined, stopped: false, expelled: false }
      onJoined?.(member)
      try {
        await once('join', [], () => state.join(member))
      } catch (error) {
        // A process that does not know that it has joined sends no heartbeat.
        state.leave(member)
        throw error
      }
      const consuming = consume(state, once, clock, member, hooks)
      return {
        ownedRegions: () => state.regionsOf(member.owned),
        async stop() {
          member.stopped = true
          member.wake?.()
          await consuming
          await once('leave', [], () => state.leave(member))
        },
      }
    },
    lag: () => once('lag', [], state.lag),
    check: () => once('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

/** A call to the log that happens at one instant. */
type LogCall = <T>(name: string, args: readonly unknown[], act: () => T) => Promise<T>

type Batch = NonNullable<ReturnType<LogState['fetch']>>

/** Reads, persists and commits until the member is stopped. */
async function consume(state: LogState, once: LogCall, clock: Clock, member: Member, hooks: ConsumerHooks): Promise<void> {
  if (state.options.sideBySide === true) return consumeSideBySide(state, once, clock, member, hooks)
  while (!member.stopped) {
    try {
      await consumeBatch(state, once, member, hooks)
    } catch {
      // Uncommitted messages come again.
      member.positions.clear()
      if (!member.stopped) await sleep(clock, state.options.retryMs)
    }
  }
}

/** Persists one batch at a time per partition. */
async function consumeSideBySide(state: LogState, once: LogCall, clock: Clock, member: Member, hooks: ConsumerHooks): Promise<void> {
  const { retryMs } = state.options
  const underWay = new Set<Promise<void>>()
  while (!member.stopped) {
    const batch = await once('fetch', [], () => state.fetch(member)).catch(() => null)
    if (batch === null) await sleep(clock, retryMs)
    else if (batch === undefined) await somethingToDo(state, member)
    else {
      const { partition } = batch
      member.busy.add(partition)
      const work = persistBatch(state, once, member, hooks, batch)
        .catch(() => {
          // Uncommitted messages come again.
          member.positions.delete(partition)
          return member.stopped ? undefined : sleep(clock, retryMs)
        })
        .then(() => {
          member.busy.delete(partition)
          underWay.delete(work)
          member.wake?.()
        })
      underWay.add(work)
    }
  }
  await Promise.all(underWay)
}

async function consumeBatch(state: LogState, once: LogCall, member: Member, hooks: ConsumerHooks): Promise<void> {
  const batch = await once('fetch', [], () => state.fetch(member))
  if (batch === undefined) {
    await somethingToDo(state, member)
    return
  }
  await persistBatch(state, once, member, hooks, batch)
}

async function persistBatch(state: LogState, once: LogCall, member: Member, hooks: ConsumerHooks, batch: Batch): Promise<void> {
  const { commitsFirst } = state.options.faults
  const commit = () => once('commit', [batch.partition, batch.end], () => state.commit(batch.partition, batch.end))
  if (commitsFirst) await commit()
  const messages = batch.messages.filter((message) => message !== UNREADABLE)
  if (messages.length > 0) await hooks.persist({ partition: batch.partition, messages, nextOffset: batch.end })
  for (const message of batch.messages) if (message === UNREADABLE) hooks.parked?.('a message of the model is unreadable')
  member.positions.set(batch.partition, batch.end)
  if (!commitsFirst) await commit()
}

function somethingToDo(state: LogState, member: Member): Promise<void> {
  if (member.stopped || state.isWaitingFor(member)) return Promise.resolve()
  return new Promise((resolve) => {
    member.wake = () => {
      member.wake = undefined
      resolve()
    }
  })
}
