/** The tables of the log: flushes that wait, messages that could not be decoded, rewards, and their last numbers. */
import type { Bytes, Environment } from './environment.ts'

export type LogTables = { flushes: Bytes; dead: Bytes; rewards: Bytes; counters: Bytes }

export function openLogTables(environment: Environment): LogTables {
  return {
    flushes: environment.table('log'),
    dead: environment.table('log-dead'),
    rewards: environment.table('log-rewards'),
    counters: environment.table('log-counters'),
  }
}
