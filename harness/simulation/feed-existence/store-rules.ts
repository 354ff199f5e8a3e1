/**
 * The checker's rules for what happens in the stores: plays leave staging only when they are in a filter, viewers are marked
 * as migrated only when all that was promised of them is, and filters are purged only when they have expired.
 */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH, decodeMark } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { FilterKey, FilterWrite } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import type { Fail, Issue, SeenFacts } from './facts.ts'
import type { SeenHotObserver } from './model-hot.ts'
import { nameOf } from './model-legacy.ts'
import { isInFilter, type SeenRecordsObserver } from './model-records.ts'
import { keyText, nameOfMonth, textOf } from './universe.ts'

export function makeStoreRules(facts: SeenFacts, fail: Fail) {
  const { rules, now, landings, issues, isLiveFor, nextTick } = facts
  /** By viewer and month: what must be in that filter after quiet. */
  const folded = new Map<string, Set<string>>()
  const writes = new Map<string, number>()
  /** By viewer and business: who was marked as migrated once. */
  const moved = new Set<string>()
  /** Plays that have left staging by a process that says that the legacy store has them. */
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
        // A filter may have come to its end: nobody asks for it any more.
        if (!isThere && month > monthOf(now()) - 5)
          fail(`removal: ${keyText(business, oid)} of ${textOf(playedAt)} has left staging, and is in no filter`, viewer)
        if (isBack === undefined || legacy?.isOf(viewer, business) !== true) continue
        if (isBack) back.push({ viewer, business, oid, playedAt })
        if (isBack ? !legacy.hasPlay({ viewer, business, oid, playedAt }) : !legacy.wasDown)
          fail(`way back: ${keyText(business, oid)} of ${textOf(playedAt)} has left staging, and the legacy store does not have it`, viewer)
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

  /** Whoever is marked now has in his filters what was promised of him. */
  function checkMarked(viewer: ViewerId, business: BusinessNumber): void {
    const { records, legacy } = facts.stores()
    moved.add(nameOf(viewer, business))
    for (const [oid, { playedAt }] of legacy?.promisesOf(viewer, business) ?? []) {
      if (!isLiveFor(playedAt)) continue
      const newest = monthOf(now() + rules.skewMaxMs + rules.futureMaxMs)
      const months = Array.from({ length: newest - monthOf(playedAt) + 1 }, (_, at) => monthOf(playedAt) + at)
      if (!months.some((month) => isInFilter(records, viewer, month, business, oid)))
        fail(`migrated: ${keyText(business, oid)} of ${textOf(playedAt)} is in no filter, and its viewer is marked as migrated`, viewer)
    }
  }

  return { hotObserver, recordsObserver, folded, writes, moved, back }
}
