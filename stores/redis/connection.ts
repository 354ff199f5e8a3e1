/**
 * Commands to one Redis or to a Cluster, with bounded waits: each command is answered or rejected within `retryMaxMs` plus one
 * `commandTimeoutMs`, whatever happens to servers and network.
 *
 * Commands of one turn of the event loop are sent together, in one write per node, and are repeated one by one. ioredis follows MOVED and
 * ASK. Other transient errors (`failures.ts`) are retried here, with a growing delay. A command may therefore be executed twice. Every
 * script and command of the adapters allows that (each `put.ts` describes the commands that must not count twice). Nothing waits in a queue
 * for a lost connection: a command that cannot be sent fails at once and is retried here, so that no forgotten command is executed minutes
 * later.
 */
import { Cluster } from 'ioredis'
import type { Redis } from 'ioredis'
import { saysDown, saysFull } from '../../core/outage/degraded.ts'
import { TidemarkError } from '../../core/errors.ts'
import { bareAddress } from '../../config/store-addresses.ts'
import { accountOf, makeClient } from './clients.ts'
import type { RedisConnectionOptions } from './clients.ts'
import { makeCork } from './cork.ts'
import { mayHaveRun, toTidemarkError } from './failures.ts'
import { makeRetries } from './retries.ts'
import type { Script } from './scripts.ts'
import { TextCommand } from './wire/text-command.ts'
import { makeTopology } from './topology.ts'

export type Argument = string | Buffer | number
export type Command = {
  name: string
  args: Argument[]
  script?: Script
  /** Set by the connection: an answer was lost, and the command was sent again. */
  repeated?: true
}
/** `keys`: their commands failed, because a Cluster does not serve these keys now, or because their node is full. */
export type OutageOf = (error: unknown, keys: readonly string[]) => unknown
export type Connection = ReturnType<typeof connect>

export function scriptCommand(script: Script, keys: readonly string[], args: readonly Argument[]): Command {
  return { name: 'evalsha', args: [script.hash, keys.length, ...keys, ...args], script }
}

function keyOf({ script, args }: Command): string {
  return String(args[script === undefined ? 0 : 2] ?? '')
}

type Failure<U> = { error: unknown; unit: U }

/** A node does not answer or is full, and others may do better. */
function isOfNode(error: unknown): boolean {
  return saysDown(error, 'hotStore') || saysFull(error)
}

/** An unexpected failure, else those of full nodes, else those of nodes that do not answer. */
function gravestOf<U>(failures: readonly Failure<U>[]): readonly Failure<U>[] {
  const unexpected = failures.find(({ error }) => !isOfNode(error))
  if (unexpected !== undefined) return [unexpected]
  const full = failures.filter(({ error }) => saysFull(error))
  return full.length > 0 ? full : failures
}

/** `outageOf` makes the error of a call in which only some keys of a Cluster failed. By default the first failure is thrown. */
export function connect(options: RedisConnectionOptions, outageOf?: OutageOf) {
  const retryMaxMs = options.retryMaxMs ?? 5_000
  const address = options.urls.map(bareAddress).join(',')
  const client = makeClient(options)
  const account = accountOf(options)
  const topology = makeTopology(client)
  const retries = makeRetries(client, topology, (error, lastComplaint) => toTidemarkError(error, address, account, lastComplaint))
  const holdWrites = makeCork(client)

  function raw({ name, args }: Command): Promise<unknown> {
    return client.sendCommand(new TextCommand(name, args)) as Promise<unknown>
  }

  function run(command: Command, deadline: number): Promise<unknown> {
    const attempt = (scriptIsMissing: boolean): Promise<unknown> =>
      raw(
        scriptIsMissing && command.script !== undefined ? { name: 'eval', args: [command.script.text, ...command.args.slice(1)] } : command,
      ).catch((error: unknown) => {
        if (mayHaveRun(error)) command.repeated = true
        throw error
      })
    return attempt(false).catch((error: unknown) => retries.repeat(attempt, error, deadline))
  }

  /** If one command fails, all are sent again, so that no answer is older than that of its predecessor. */
  function runInOrder(unit: readonly Command[], deadline: number): Promise<unknown[]> {
    const attempt = async (): Promise<unknown[]> => {
      const results = await Promise.allSettled(unit.map(raw))
      return results.map((result) => {
        if (result.status === 'rejected') throw result.reason
        return result.value
      })
    }
    return attempt().catch((error: unknown) => retries.repeat(attempt, error, deadline))
  }

  /** Starts all units at once, in one write per node; rejects once all have ended. `keyOf` returns the key that a failure affects. */
  async function settle<U, T>(units: readonly U[], start: (unit: U, deadline: number) => Promise<T>, keyOf: (unit: U) => string) {
    if (retries.isClosed())
      throw new TidemarkError('HOT_STORE_UNAVAILABLE', `the connection to Redis at ${address} is closed: open the store again`)
    const deadline = Date.now() + retryMaxMs
    holdWrites()
    const failures: Failure<U>[] = []
    const answers = units.map((unit) =>
      start(unit, deadline).catch((error: unknown) => {
        failures.push({ error, unit })
      }),
    )
    const settled = await Promise.all(answers)
    if (failures.length === 0) return settled as T[]
    const gravest = gravestOf(failures)
    const error = gravest[0]?.error
    if (!isOfNode(error) || outageOf === undefined || !(client instanceof Cluster)) throw error
    throw outageOf(
      error,
      gravest.map(({ unit }) => keyOf(unit)),
    )
  }

  return {
    address,
    client,
    isCluster: client instanceof Cluster,

    /** Answers in the order of the commands; bulk strings as Buffers. Rejects once all have ended, with the first failure. */
    send: (commands: readonly Command[]): Promise<unknown[]> => settle(commands, run, keyOf),

    /**
     * The same for units of plain commands with keys of one region each. One connection executes a unit in order, also in repetitions.
     * Commands of other calls may come in between.
     */
    sendInOrder: (units: readonly (readonly Command[])[]): Promise<unknown[][]> =>
      settle(units, runInOrder, ([first]) => (first === undefined ? '' : keyOf(first))),

    /** Runs `task` until it succeeds, within the same bounds; for tasks that are not plain commands. */
    insist: <T>(task: () => Promise<T>): Promise<T> => retries.insist(task, Date.now() + retryMaxMs),

    /** The nodes that hold keys. Waits until a Cluster has reported them. */
    async masters(): Promise<Redis[]> {
      if (!(client instanceof Cluster)) return [client]
      await this.send([{ name: 'ping', args: [] }])
      return client.nodes('master')
    },

    ownerOf: topology.ownerOf,

    /** Reads the slot owners of a Cluster. Listeners of `onTopology` are notified, as after every refresh of ioredis. */
    refreshTopology: topology.refresh,
    onTopology(listener: () => void): void {
      client.on('refresh', listener)
    },

    close(): void {
      topology.close()
      retries.close()
      client.disconnect()
    },
  }
}
