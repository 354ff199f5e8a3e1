/**
 * The stores that an answer lacked. Each request has one collector. A read or write that continues without a store adds
 * its name, and the front reports it in `extensions.degraded`. The answer is then partial. A leaf.
 */
import type { ViewerId } from '../domain.ts'
import { TidemarkError, isTidemarkError, type ErrorCode } from '../errors.ts'

export type StoreName = 'hotStore' | 'log' | 'recordStore'
/** Includes a store that only a migration has: the source of the viewers' plays. */
export type AnyStoreName = StoreName | 'legacyStore'
export type Degraded = Set<AnyStoreName>

export const UNAVAILABLE = {
  hotStore: 'HOT_STORE_UNAVAILABLE',
  log: 'LOG_UNAVAILABLE',
  recordStore: 'RECORD_STORE_UNAVAILABLE',
  legacyStore: 'LEGACY_UNAVAILABLE',
} as const satisfies Record<AnyStoreName, ErrorCode>

/** True if this error says that the store does not answer; false for every other reason to fail. */
export function saysDown(error: unknown, store: AnyStoreName): boolean {
  return isTidemarkError(error) && error.code === UNAVAILABLE[store]
}

/** True if this error says that a store accepts no more data. Such a store may still answer every read. */
export function saysFull(error: unknown): boolean {
  return isTidemarkError(error) && error.code === 'STORE_FULL'
}

/**
 * True if the hot store, although it answers, may lack a write that this process acknowledged to this viewer. To be called before a read.
 */
export type MayLack = (viewer: ViewerId) => boolean

/** Call this before a read. Adds `hotStore` if the hot store may lack a write that was acknowledged to the viewer of one of these keys. */
export function noteLack(keys: readonly { viewer: ViewerId }[], mayLack: MayLack | undefined, degraded: Degraded): void {
  if (mayLack === undefined) return
  let last: ViewerId | undefined
  for (const { viewer } of keys) {
    // Nearly all pages have keys of one viewer only.
    if (viewer !== last && mayLack(viewer)) return void degraded.add('hotStore')
    last = viewer
  }
}

/** For a caller that cannot use a partial answer: rejects with the code of a store that the answer lacks. */
export async function complete<T>(read: (degraded: Degraded) => Promise<T>): Promise<T> {
  const degraded: Degraded = new Set()
  const answer = await read(degraded)
  for (const store of degraded)
    throw new TidemarkError(UNAVAILABLE[store], `the answer lacks data of the ${store}: try again once it answers`)
  return answer
}

/** Notes the store in the collector if the error says that it is down. Throws every other error again. */
export function noteOrThrow(error: unknown, store: StoreName, degraded: Degraded): void {
  if (!saysDown(error, store)) throw error
  degraded.add(store)
}
