/** Reads the state of a Memcached node for `tidemark doctor`, over a connection of its own. */
import type { Clock } from '../../core/clock.ts'
import { makeConnection, type Connection } from './connection.ts'

/** From `version`, `stats` and `stats settings` of Memcached (protocol.txt). Sums since its start. */
export type NodeFacts = {
  version: string
  /** The fastest of some answers, in ms. */
  answerMs: number
  bytes: number
  bytesMax: number
  itemBytesMax: number
  /** False: `--disable-evictions`. A full node then refuses values. */
  evicts: boolean
  evictions: number
  /** Values that a full node refused. */
  refused: number
  connections: number
  connectionsMax: number
}

/** `down`: no answer. `rubbish`: an answer that Memcached does not give. */
export type NodeState = { kind: 'up'; facts: NodeFacts } | { kind: 'down' | 'rubbish'; reason: string }

const ANSWER_MAX_MS = 2_000
const ROUNDS = 3

/** `address`: `host:port`, IPv6 in brackets. Never rejects for a failure of the node. */
export async function examineNode(clock: Clock, address: string): Promise<NodeState> {
  const connection = makeConnection(clock, address)
  const late = clock.after(ANSWER_MAX_MS, () => connection.reset(new NoAnswer(`${address} does not answer within ${ANSWER_MAX_MS} ms`)))
  try {
    return { kind: 'up', facts: await readFacts(clock, connection, address) }
  } catch (error) {
    const { message } = error as Error
    // Errors of the network have a code of the system, such as ECONNREFUSED. Those of the protocol have none.
    const isDown = error instanceof NoAnswer || 'code' in (error as object) || message.endsWith('closed the connection')
    if (isDown && connection.hasReceived() && connection.answers() === 0)
      return { kind: 'rubbish', reason: `${address} sent bytes that are no answer` }
    return { kind: isDown ? 'down' : 'rubbish', reason: message }
  } finally {
    late.cancel()
    await connection.stop()
  }
}

class NoAnswer extends Error {}

async function readFacts(clock: Clock, connection: Connection, address: string): Promise<NodeFacts> {
  let answerMs = Infinity
  // The first answer includes the time to connect.
  for (let round = 0; round < ROUNDS; round++) {
    const begun = clock.now()
    await ask(connection, address, 'version', (line) => line.startsWith('VERSION '))
    answerMs = Math.min(answerMs, clock.now() - begun)
  }
  const stats = statsOf(await ask(connection, address, 'stats', isEnd, isStat))
  const settings = statsOf(await ask(connection, address, 'stats settings', isEnd, isStat))
  const number = (from: ReadonlyMap<string, string>, name: string): number => Number(from.get(name) ?? 0)
  return {
    version: stats.get('version') ?? '',
    answerMs,
    bytes: number(stats, 'bytes'),
    bytesMax: number(stats, 'limit_maxbytes'),
    itemBytesMax: number(settings, 'item_size_max'),
    evicts: settings.get('evictions') !== 'off',
    evictions: number(stats, 'evictions'),
    refused: number(stats, 'store_no_memory'),
    connections: number(stats, 'curr_connections'),
    connectionsMax: number(stats, 'max_connections'),
  }
}

const isEnd = (line: string): boolean => line === 'END'
const isStat = (line: string): boolean => line.startsWith('STAT ')

/** STAT name value */
function statsOf(lines: readonly string[]): Map<string, string> {
  return new Map(lines.slice(0, -1).map((line) => line.split(' ', 3).slice(1) as [string, string]))
}

/** The lines of the answer, the last one included. */
function ask(
  connection: Connection,
  address: string,
  command: string,
  isLast: (line: string) => boolean,
  isPart: (line: string) => boolean = () => false,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const lines: string[] = []
    const onLine = (line: string): boolean => {
      if (!isLast(line) && !isPart(line)) throw new Error(`${address} answered ${command} with "${line.slice(0, 60)}"`)
      lines.push(line)
      if (isLast(line)) resolve(lines)
      return isLast(line)
    }
    connection.send([`${command}\r\n`], { onLine, reject })
  })
}
