/** The tables of the log: waiting flushes, undecodable messages, rewards, and their last numbers. */
import type { Bytes, Environment } from '../../../stores/lmdb/environment.ts'
import type { Stream } from '../../../core/log-consumer.ts'

export type LogTables = { flushes: Bytes; dead: Bytes; rewards: Bytes; counters: Bytes }

const NAMES = { history: 'log', marks: 'mark-log', plays: 'play-log', feed: 'feed-log' } as const satisfies Record<Stream, string>

export function openLogTables(environment: Environment, stream: Stream = 'history'): LogTables {
  const name = NAMES[stream]
  return {
    flushes: environment.table(name),
    dead: environment.table(`${name}-dead`),
    rewards: environment.table(`${name}-rewards`),
    counters: environment.table(`${name}-counters`),
  }
}
