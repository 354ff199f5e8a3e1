/**
 * What a subgraph tells whoever runs it. A store that is down is told when it goes and when it is back, not with every
 * step that fails in between because of it.
 */
import { saysDown, type AnyStoreName, type StoreName } from '../core/outage/degraded.ts'
import type { Clock } from '../core/clock.ts'
import type { Breaker } from '../core/outage/breaker.ts'
import type { Journal, Journals } from './journal.ts'

export type Notices = {
  /** A step in the background failed, and will be repeated or made up for. */
  failed(error: unknown): void
  storeDown(store: AnyStoreName, error: unknown): void
  storeBack(store: AnyStoreName, downMs: number): void
  /** Nothing waits in the journal any more: how many entries were applied, and since when. */
  replayed(entries: number, tookMs: number): void
  /** A message of the log cannot be decoded and was set aside; where it stood, and where it is. */
  parked(reason: string, where?: Record<string, string | number>): void
  /** Something stored was damaged, and was set aside and made anew: what it was, what came of it, and where it stood. */
  damaged(what: string, where?: Record<string, string | number>): void
  /** The same of a business that has stores of its own. */
  ofBusiness?(name: string): Notices
}

/** Of those who want no more than errors, everything that is wrong is one. */
export function noticesOf(report: Notices | ((error: unknown) => void)): Notices {
  if (typeof report !== 'function') return report
  return {
    failed: report,
    storeDown: (_, error) => report(error),
    storeBack() {},
    replayed() {},
    parked: (reason) => report(new Error(`a message of the log was set aside: ${reason}`)),
    damaged: (what) => report(new Error(what)),
  }
}

const STORES = ['hotStore', 'log', 'recordStore'] as const satisfies readonly StoreName[]
const ALL_STORES: readonly AnyStoreName[] = [...STORES, 'legacyStore']

export function makeOutageNotices(clock: Clock, notices: Notices) {
  const downSince = new Map<AnyStoreName, number>()

  function followOne(store: AnyStoreName, breaker: Pick<Breaker, 'isOpen' | 'onClose'>): void {
    breaker.onClose(() => {
      if (breaker.isOpen()) return
      const since = downSince.get(store)
      downSince.delete(store)
      if (since !== undefined) notices.storeBack(store, clock.now() - since)
    })
  }

  /** One that takes no writes, say: whatever its error says. */
  function openedOf(store: AnyStoreName, error: unknown): void {
    // Of a store in parts, others may be down already: it is one outage.
    if (downSince.has(store)) return
    downSince.set(store, clock.now())
    notices.storeDown(store, error)
  }

  return {
    /** What the breakers' `onOpen` calls. */
    opened(error: unknown): void {
      const store = ALL_STORES.find((name) => saysDown(error, name))
      if (store === undefined) notices.failed(error)
      else openedOf(store, error)
    },
    openedOf,
    /** A step failed: not told if it is because of a store that is known to be down. */
    failed(error: unknown): void {
      if (!ALL_STORES.some((name) => downSince.has(name) && saysDown(error, name))) notices.failed(error)
    },
    follow({ breakers }: { breakers: Record<StoreName, Pick<Breaker, 'isOpen' | 'onClose'>> }): void {
      for (const store of STORES) followOne(store, breakers[store])
    },
    followOne,
  }
}

/** The same journals; tells when what waited was applied. */
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
