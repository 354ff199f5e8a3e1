/**
 * Which stores an answer had to do without. One collector per request: whoever reads or writes adds a store's name when
 * he goes on without it, and the front tells the client in `extensions.degraded`. A leaf.
 *
 * A function that takes a collector answers as well as it can; called without one it rejects instead, so that nobody
 * gets half an answer who could not tell.
 */
import type { ViewerId } from '../domain.ts'
import { TidemarkError, isTidemarkError, type ErrorCode } from '../errors.ts'

export type StoreName = 'hotStore' | 'log' | 'recordStore'
/** Also what only a migration has: the store that viewers' plays come from. */
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

/** True if this error says that a store, which may answer every read, takes no more data. */
export function saysFull(error: unknown): boolean {
  return isTidemarkError(error) && error.code === 'STORE_FULL'
}

/** May the hot store, though it answers, lack what this process acknowledged to this viewer? To be asked before it is read. */
export type MayLack = (viewer: ViewerId) => boolean

/** Before a read: what it finds in the hot store may be older than what one of these viewers was told that he wrote. */
export function noteLack(viewers: Iterable<ViewerId>, mayLack: MayLack | undefined, degraded: Degraded | undefined): void {
  if (mayLack === undefined || degraded?.has('hotStore') === true) return
  for (const viewer of viewers) {
    if (!mayLack(viewer)) continue
    if (degraded === undefined) {
      throw new TidemarkError(
        UNAVAILABLE.hotStore,
        `what viewer "${viewer}" wrote while the hot store was down is not applied to it yet: try again`,
      )
    }
    degraded.add('hotStore')
    return
  }
}
