/**
 * A node on Memcached, with its text protocol (protocol.txt of Memcached). docs/decisions/0076-memcached-client.md compares it with libraries.
 *
 * Reads are `gets`, one command for all keys. Quiet writes are `set`, `add` and `cas` with `noreply`, to which Memcached never answers, not
 * even with an error. The meta commands would answer errors of quiet writes, and the client could not tell these lines from other answers.
 *
 * A value is stored as 8 bytes of its version (double, big-endian) and its bytes. A stored value that is shorter is a miss. Its flags are the
 * time of its end, in whole seconds since 1970.
 */
import type { Clock } from '../../core/clock.ts'
import type { Held, NodeClient } from '../node-client.ts'
import type { Stamped } from '../tiered-cache.ts'
import { makeConnection } from './connection.ts'
import { wireKeyOf } from './wire-key.ts'

export type MemcachedOptions = {
  /** Begins each key, so that deployments can share nodes. At most 40 characters of ASCII without blanks. Default none. */
  prefix?: string
}

const STAMP_BYTES = 8
/** Beyond 30 days, Memcached takes the time for a date. */
const TTL_SECONDS_MAX = 30 * 86_400
/** Quiet writes are dropped while more bytes wait: the node is too slow for them. */
const WAITING_BYTES_MAX = 8 * 2 ** 20

/** `address`: `host:port`, IPv6 in brackets. Connects at the first request. */
export function makeMemcachedClient(clock: Clock, address: string, { prefix = '' }: MemcachedOptions = {}): NodeClient {
  const connection = makeConnection(clock, address)
  const wire = (key: string): string => prefix + wireKeyOf(key)
  const unexpected = (line: string): Error => new Error(`${address} answered "${line.slice(0, 60)}"`)

  /** The command, the stamp, the value, and the end of the line. */
  function storageOf(
    command: string,
    key: string,
    { value, version }: Stamped,
    endsAt: number,
    state?: number,
    last = '',
  ): (string | Buffer)[] {
    const seconds = Math.min(TTL_SECONDS_MAX, Math.max(1, Math.ceil((endsAt - clock.now()) / 1_000)))
    const stamp = Buffer.allocUnsafe(STAMP_BYTES)
    stamp.writeDoubleBE(version)
    const unique = state === undefined ? '' : ` ${state}`
    const line = `${command} ${wire(key)} ${Math.floor(endsAt / 1_000)} ${seconds} ${STAMP_BYTES + value.length}${unique}${last}\r\n`
    return [line, stamp, value, '\r\n']
  }

  /** Sends a command with an answer of one line. `answerOf` gives undefined for a line that is no answer to it. */
  function ask<T>(parts: (string | Buffer)[], answerOf: (line: string) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const onLine = (line: string): boolean => {
        const answer = answerOf(line)
        if (answer === undefined) throw unexpected(line)
        resolve(answer)
        return true
      }
      connection.send(parts, { onLine, reject })
    })
  }

  function getMany(keys: readonly string[]): Promise<(Held | undefined)[]> {
    if (keys.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      const texts = keys.map(wire)
      const answers = Array.from<Held | undefined>({ length: keys.length })
      let next = 0
      const now = clock.now()
      connection.send([`gets ${texts.join(' ')}\r\n`], {
        // Values come in the order of the keys, without the misses.
        onValue(bytes, keyFrom, keyTo, from, to, flags, state) {
          while (next < texts.length && !isText(bytes, keyFrom, keyTo, texts[next] as string)) next++
          if (next === texts.length) throw new Error(`${address} sent the value of another key`)
          const endsAt = flags * 1_000
          if (to - from >= STAMP_BYTES && endsAt > now)
            answers[next] = { value: bytes.subarray(from + STAMP_BYTES, to), version: bytes.readDoubleBE(from), endsAt, state }
          next++
        },
        onLine(line) {
          if (line !== 'END') throw unexpected(line)
          resolve(answers)
          return true
        },
        reject,
      })
    })
  }

  function writeQuietly(command: string, key: string, stamped: Stamped, endsAt: number, state?: number): void {
    if (connection.waitingBytes() <= WAITING_BYTES_MAX) connection.send(storageOf(command, key, stamped, endsAt, state, ' noreply'))
  }

  return {
    getMany,
    set: (key, stamped, endsAt) => ask(storageOf('set', key, stamped, endsAt), isStored),
    cas: (key, stamped, state, endsAt) => ask(storageOf('cas', key, stamped, endsAt, state), isStored),
    setQuietly: (key, stamped, endsAt) => writeQuietly('set', key, stamped, endsAt),
    fillQuietly: (key, stamped, state, endsAt) => writeQuietly(state === undefined ? 'add' : 'cas', key, stamped, endsAt, state),
    connection: connection.ended,
    answers: connection.answers,
    async check() {
      await ask(['version\r\n'], (line) => line.startsWith('VERSION ') || undefined)
    },
    reset: connection.reset,
    stop: connection.stop,
  }
}

/** SERVER_ERROR: the value is too large, or the node has no memory for it. */
function isStored(line: string): boolean | undefined {
  if (line === 'STORED') return true
  return line === 'EXISTS' || line === 'NOT_FOUND' || line.startsWith('SERVER_ERROR ') ? false : undefined
}

function isText(bytes: Buffer, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false
  return true
}
