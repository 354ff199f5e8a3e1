/**
 * The checker's rules for the stores. Plays leave staging only when they are in a filter. Viewers are marked as migrated only when all
 * promised plays are in filters. Filters are purged only after they have expired.
 */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH, decodeMark } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { FilterKey, FilterWrite } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import type { Fail } from '../violation.ts'
import type { Issue, SeenFacts } from './facts.ts'
import type { SeenHotObserver } from './model-hot.ts'
import { nameOf } from './model-legacy.ts'
import { isInFilter, type SeenRecordsObserver } from './model-records.ts'
import { keyText, nameOfMonth, textOf } from './universe.ts'

export function makeStoreRules(facts: SeenFacts, fail: Fail) {
  const { rules, now, landings, issues, isLiveFor, nextTick } = facts
  /** The plays that a filter must hold after quiet, by viewer and month. */
  const folded = new Map<string, Set<string>>()
  const writes = new Map<string, number>()
  /** Viewers and businesses that were ever marked as migrated. */
  const moved = new Set<string>()
  /** Plays removed from staging by a process that reports them as written back to the legacy store. */
  const back: Play[] = []

  const hotObserver: SeenHotObserver = {
    staged(plays) {
      const tick = nextTick()
      for (const { viewer, business, oid, playedAt } of plays) {
        const key = `${viewer} ${keyText(business, oid)}`
        const known = landings.get(key) ?? []
        known.push({ tick, at: now(), playedAt })
        landings.set(key, known)
      }
    },
    removed(viewer, plays, by) {
      nextTick()
      const { records, legacy } = facts.stores()
      const isBack = legacy !== undefined && plays.length > 0 ? by.hasWrittenBack() : undefined
      for (const { business, oid, playedAt } of plays) {
        const month = monthOf(playedAt)
        const key = `${month}:${viewer}`
        const own = folded.get(key) ?? new Set<string>()
        own.add(keyText(business, oid))
        folded.set(key, own)
        const isThere = isInFilter(records, viewer, month, business, oid)
        // An expired filter may be gone. No read needs it any more.
        if (!isThere && month > monthOf(now()) - 5)
          fail(`removal: ${keyText(business, oid)} of ${textOf(playedAt)} has left staging, but is in no filter`, viewer)
        if (isBack === undefined || legacy?.isOf(viewer, business) !== true) continue
        if (isBack) back.push({ viewer, business, oid, playedAt })
        if (isBack ? !legacy.hasPlay({ viewer, business, oid, playedAt }) : !legacy.wasDown)
          fail(`way back: ${keyText(business, oid)} of ${textOf(playedAt)} has left staging, but the legacy store does not have it`, viewer)
      }
    },
    issued(viewer, business, oids, issuedAt) {
      const tick = nextTick()
      const own = issues.get(`${viewer} ${business}`) ?? new Map<string, Issue>()
      for (const oid of oids) {
        const known = own.get(oid)
        if (known === undefined || known.issuedAt <= issuedAt) own.set(oid, { tick, issuedAt })
      }
      issues.set(`${viewer} ${business}`, own)
    },
  }

  const recordsObserver: SeenRecordsObserver = {
    written({ viewer, month, filter }: FilterWrite) {
      nextTick()
      if (month === MARK_MONTH) for (const business of decodeMark(filter).keys()) checkMarked(viewer, business)
      writes.set(`${month}:${viewer}`, (writes.get(`${month}:${viewer}`) ?? 0) + 1)
    },
    purged(keys: readonly FilterKey[]) {
      const newest = monthOf(now() + rules.skewMaxMs + rules.utcOffsetMinutes * 60_000) - 6
      for (const { viewer, month } of keys)
        if (month > newest) fail(`expiry: the filter of ${nameOfMonth(month)} was purged before its sixth month after`, viewer)
    },
  }

  /** The filters of a marked viewer have all promised plays. */
  function checkMarked(viewer: ViewerId, business: BusinessNumber): void {
    const { records, legacy } = facts.stores()
    moved.add(nameOf(viewer, business))
    for (const [oid, { playedAt }] of legacy?.promisesOf(viewer, business) ?? []) {
      if (!isLiveFor(playedAt)) continue
      const newest = monthOf(now() + rules.skewMaxMs + rules.futureMaxMs)
      const months = Array.from({ length: newest - monthOf(playedAt) + 1 }, (_, at) => monthOf(playedAt) + at)
      if (!months.some((month) => isInFilter(records, viewer, month, business, oid)))
        fail(`migrated: ${keyText(business, oid)} of ${textOf(playedAt)} is in no filter, but its viewer is marked as migrated`, viewer)
    }
  }

  return { hotObserver, recordsObserver, folded, writes, moved, back }
}
