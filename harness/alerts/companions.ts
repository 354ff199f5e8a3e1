/**
 * Alerts that may fire together with those of a fault, each with the reason. Any other alert during a fault is a mistake of the rules or of the
 * product.
 */
import type { Companions } from './drill.ts'

export const WITHOUT_REDIS: Companions = {
  TidemarkStoreDown: 'all processes work without Redis',
  TidemarkStoreCallsFail: 'calls fail until the breaker opens, and its checks fail',
  TidemarkProcessDown: 'some metrics query Redis, and a scrape on a busy machine ends before the answer',
  TidemarkLogBehind: 'jobs cannot persist keys without their contents, which are in Redis',
  TidemarkConfigRefused: 'the live configuration is in Redis, so no process can read the newest version',
  TidemarkErrorBudgetBurn: 'posts and follows need the hot store',
  TidemarkLatencyBudgetBurn: 'operations wait for Redis until its breaker opens',
}

export const WITHOUT_KAFKA: Companions = {
  TidemarkStoreCallsFail: 'flushes fail, and the sweeper persists their keys later',
  TidemarkLogBehind: 'after the repair, jobs join their groups before they read the messages',
  TidemarkWritesNotPersisted: 'keys without a flush wait for the sweeper',
}

export const WITHOUT_MARIADB: Companions = {
  TidemarkLogBehind: 'jobs cannot write the rows of their messages',
  TidemarkWritesNotPersisted: 'changed keys stay dirty until their rows are written',
}

export const WITH_SLOW_REDIS: Companions = {
  TidemarkLogBehind: 'jobs read the contents of keys from Redis, which takes several late answers per message',
}

export const WITH_SLOW_MARIADB: Companions = {
  ...WITHOUT_MARIADB,
  TidemarkLatencyBudgetBurn: 'some operations read the record store',
}

export const WITH_FROZEN_MARIADB: Companions = {
  TidemarkStoreDown: 'calls reach their time limit, and the breaker opens',
  TidemarkStoreCallsFail: 'calls reach their time limit',
  TidemarkStoreSlow: 'calls take as long as their time limit',
  TidemarkProcessDown: 'some metrics query the store, and a scrape ends before the answer',
  TidemarkJobMissing: 'a job without a scrape has no metrics',
  TidemarkErrorBudgetBurn: 'some operations wait for the record store until their time limit',
  TidemarkLatencyBudgetBurn: 'some operations wait for the record store',
}

export const WITH_FULL_REDIS: Companions = {
  TidemarkErrorBudgetBurn: 'posts and follows need the hot store',
  TidemarkStoreCallsFail: 'refused writes are failed calls',
  TidemarkStoreDown: 'a full hot store takes no writes, so it counts as down',
  TidemarkLogBehind: 'a persist step ends with a write to Redis',
}

/** Redis and MariaDB. */
export const WITHOUT_BOTH: Companions = {
  ...WITHOUT_REDIS,
  ...WITHOUT_MARIADB,
  TidemarkLatencyBudgetBurn: 'reads wait first for one store and then for the other',
  TidemarkProcessDown: 'some metrics query the stores, and a scrape ends before the answer',
  TidemarkJobMissing: 'a job without a scrape has no metrics',
}

export const WITH_BUSY_PROCESS: Companions = {
  TidemarkStoreCallsFail: 'an answer waits in the stopped process until the call reaches its time limit',
  TidemarkStoreSlow: 'an answer waits in the stopped process',
  TidemarkStoreFindings: 'a process that is stopped while it asks a server for its time sees a wrong clock',
  TidemarkLatencyBudgetBurn: 'the gateway answers late',
  TidemarkErrorBudgetBurn: 'calls of stores that an operation needs reach their time limit',
}
