/**
 * Reports of a subgraph to its operators. An outage is reported when it begins and when it ends, not with each step that fails in between.
 */
import { saysDown, type AnyStoreName, type StoreName } from '../core/outage/degraded.ts'
import type { Clock } from '../core/clock.ts'
import type { Breaker } from '../core/outage/breaker.ts'
import type { Journal, Journals } from './journal.ts'

export type Notices = {
  /** A background step failed. It is repeated, or another step does its work. */
  failed(error: unknown): void
  storeDown(store: AnyStoreName, error: unknown): void
  storeBack(store: AnyStoreName, downMs: number): void
  /** The journal is empty again: the number of applied entries, and the time that took. */
  replayed(entries: number, tookMs: number): void
  /** A message of the log could not be decoded and was parked: its place in the log, and its new place. */
  parked(reason: string, where?: Record<string, string | number>): void
  /** Stored data was damaged; it was quarantined and rebuilt. The sentence says which data, and the result. */
  damaged(what: string, where?: Record<string, string | number>): void
  /** The reports of a tenant with its own stores. */
  ofBusiness?(name: string): Notices
}

/** Turns each report of trouble into an error, for callers that take only errors. */
export function noticesOf(report: Notices | ((error: unknown) => void)): Notices {
  if (typeof report !== 'function') return report
  return {
    failed: report,
    storeDown: (_, error) => report(error),
    storeBack() {},
    replayed() {},
    parked: (reason) => report(new Error(`a message of the log was parked: ${reason}`)),
    damaged: (what) => report(new Error(what)),
  }
}

const STORES = ['hotStore', 'log', 'recordStore'] as const satisfies readonly StoreName[]
const ALL_STORES: readonly AnyStoreName[] = [...STORES, 'legacyStore']

export function makeOutageNotices(clock: Clock, notices: Notices) {
  const downSince = new Map<AnyStoreName, number>()
  /** Of outages that have ended. */
  const downBefore = new Map<AnyStoreName, number>()

  function followOne(store: AnyStoreName, breaker: Pick<Breaker, 'isOpen' | 'onClose'>): void {
    breaker.onClose(() => {
      if (breaker.isOpen()) return
      const since = downSince.get(store)
      downSince.delete(store)
      if (since === undefined) return
      // A clock that was set back shortens no outage below 0.
      const lasted = Math.max(0, clock.now() - since)
      downBefore.set(store, (downBefore.get(store) ?? 0) + lasted)
      notices.storeBack(store, lasted)
    })
  }

  /** For errors that do not name the store, such as a store that refuses writes. */
  function openedOf(store: AnyStoreName, error: unknown): void {
    // Parts of a store that fail one after the other are one outage.
    if (downSince.has(store)) return
    downSince.set(store, clock.now())
    notices.storeDown(store, error)
  }

  return {
    /** For the breakers' `onOpen`. */
    opened(error: unknown): void {
      const store = ALL_STORES.find((name) => saysDown(error, name))
      if (store === undefined) notices.failed(error)
      else openedOf(store, error)
    },
    openedOf,
    /** When the outage of this store began, in milliseconds since 1970. Undefined if the store is not known to be down. */
    downSince: (store: AnyStoreName): number | undefined => downSince.get(store),
    /** Milliseconds of all outages of each store, including the current one. */
    downMs(): Record<StoreName, number> {
      const now = clock.now()
      const downOf = (store: StoreName) => (downBefore.get(store) ?? 0) + Math.max(0, now - (downSince.get(store) ?? now))
      return { hotStore: downOf('hotStore'), log: downOf('log'), recordStore: downOf('recordStore') }
    },
    /** A step failed. Not reported if the cause is a store that is known to be down. */
    failed(error: unknown): void {
      if (!ALL_STORES.some((name) => downSince.has(name) && saysDown(error, name))) notices.failed(error)
    },
    follow({ breakers }: { breakers: Record<StoreName, Pick<Breaker, 'isOpen' | 'onClose'>> }): void {
      for (const store of STORES) followOne(store, breakers[store])
    },
    followOne,
  }
}

/** The same journals; reports when all waiting entries have been applied. */
export function noticeReplays(clock: Clock, journals: Journals, notices: Notices): Journals {
  function noticed(journal: Journal): Journal {
    let applied = 0
    let began: number | undefined
    return {
      ...journal,
      leftUntil: journal.leftUntil,
      async list(after, limit) {
        const entries = await journal.list(after, limit)
        if (entries.length > 0) began ??= clock.now()
        return entries
      },
      async remove(numbers) {
        await journal.remove(numbers)
        applied += numbers.length
        if ((await journal.count()).waiting > 0) return
        notices.replayed(applied, clock.now() - (began ?? clock.now()))
        applied = 0
        began = undefined
      },
    }
  }
  return {
    own: noticed(journals.own),
    async adopt() {
      const left = await journals.adopt()
      return left === undefined ? undefined : noticed(left)
    },
    close: () => journals.close(),
  }
}
