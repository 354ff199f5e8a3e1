/**
 * The rules after quiet: staging, the ring and the log are empty, and the filters hold exactly the plays, each in the filter of its month.
 */
import type { Play } from '../../../core/domain.ts'
import { MARK_MONTH, isListing } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { measureFilter } from '../../../subgraphs/feed-existence/filter/filter.ts'
import type { StagedPlay } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import type { SeenChecker } from './checker.ts'
import { nameOfMonth, textOf } from './universe.ts'
import type { SeenHotState } from './model-hot.ts'
import type { LegacyState } from './model-legacy.ts'
import { isInFilter, probeOf } from './model-records.ts'
import { BUSINESSES, OIDS, keyText } from './universe.ts'

export type SeenQuiet = {
  now: number
  hot: SeenHotState
  records: SeenRecordsState
  legacy: LegacyState | undefined
  /** Workers have no legacy store configured (any more), so listed viewers stay listed. */
  keepsListings: boolean
  lag: number
  /** Ids of the rewards that the log has. */
  rewarded: readonly string[]
  logged: readonly (Play & { loggedAt: number })[]
  monthsBefore: number
  futureMaxMs: number
  skewMaxMs: number
  purgeEveryMs: number
  /** Nothing ever failed, and no viewer was folded early, so the plays of an hour are one write. */
  isCalm: boolean
}

/**
 * The most extra writes of a viewer's filter of a month in a world without faults. The filter is written when the month is closed and when
 * its last play arrives. It is written a third time if the clock leaps by more than a lap within a round, because the late slot is then the
 * slot of the current hour.
 */
const CLOSING_WRITES = 3
const HOUR_MS = 3_600_000

export function checkSeenQuiet(checker: SeenChecker, quiet: SeenQuiet): void {
  const { now, hot, records, legacy, lag, logged } = quiet
  const { fail, landings, folded, damaged, writes } = checker
  const isLeft = (play: StagedPlay): boolean => !(quiet.keepsListings && isListing(play))
  for (const viewer of hot.state.viewers.keys()) {
    const play = hot.stagedOf(viewer).find(isLeft)
    if (play !== undefined) fail(`quiet: ${keyText(play.business, play.oid)} is still staged, and maybe more`, viewer)
  }
  for (const [place, ring] of hot.state.ring)
    for (const viewer of ring)
      if (!quiet.keepsListings || !hot.stagedOf(viewer).some(isListing)) fail(`quiet: place ${place} of the ring still has viewers`, viewer)
  if (lag > 0) fail(`quiet: ${lag} messages of the log are not committed`, undefined)
  for (const play of logged) checkLogged(play)
  const rewarded = new Set(quiet.rewarded)
  for (const id of hot.state.days) if (!rewarded.has(id)) fail(`rewards: ${id} was earned, and the log has never heard of it`, undefined)
  for (const id of rewarded) if (!hot.state.days.has(id)) fail(`rewards: ${id} is in the log, but was never earned`, undefined)
  if (hot.state.rewards.size > 0) fail(`rewards: ${hot.state.rewards.size} are still waiting`, undefined)
  const played = monthsPlayed()
  for (const { viewer, month, filter, expiresAt } of records.filters.values()) {
    if (filter === undefined || month === MARK_MONTH || probeOf(records, viewer, month) === null) continue
    const may = played.get(`${month}:${viewer}`) ?? new Map<string, Set<number>>()
    let held = 0
    for (const business of BUSINESSES)
      for (const oid of OIDS) {
        if (!isInFilter(records, viewer, month, business, oid)) continue
        held++
        const mayBeLater = damaged.has(`${month}:${viewer}`) && checker.newestMonthOf(viewer, keyText(business, oid)) > month
        if (!may.has(keyText(business, oid)) && !mayBeLater && legacy?.stoodIn(viewer, month, keyText(business, oid)) !== true)
          fail(`filters: ${keyText(business, oid)} is in the filter of ${nameOfMonth(month)}, but was not played then`, viewer)
      }
    const { records: counted } = measureFilter(filter)
    if (counted !== held) fail(`filters: the filter of ${nameOfMonth(month)} counts ${counted} records, but has ${held}`, viewer)
    if (expiresAt <= now - 2 * quiet.purgeEveryMs - quiet.skewMaxMs)
      fail(`expiry: the filter of ${nameOfMonth(month)} is still stored, but it expired at ${textOf(expiresAt)}`, viewer)
    if (quiet.isCalm) {
      const hours = new Set([...may.values()].flatMap((own) => [...own]))
      const count = writes.get(`${month}:${viewer}`) ?? 0
      if (count > hours.size + CLOSING_WRITES)
        fail(`writes: the filter of ${nameOfMonth(month)} was written ${count} times for plays of ${hours.size} hours`, viewer)
    }
  }
  for (const [text, keys] of folded) {
    const [month = '', viewer = ''] = text.split(':')
    // Expired filters are gone, as they should be.
    if (Number(month) <= monthOf(now) - 5) continue
    for (const key of keys) {
      const [business = '', oid = ''] = key.split(':')
      if (!isInFilter(records, viewer, Number(month), Number(business), oid))
        fail(`filters: ${key} of ${nameOfMonth(Number(month))} was folded, but is not in its filter any more`, viewer)
    }
  }
  for (const play of checker.back)
    if (legacy?.hasPlay(play) !== true)
      fail(`way back: ${keyText(play.business, play.oid)} of ${textOf(play.playedAt)} is not in the legacy store any more`, play.viewer)

  /** By viewer and month, then by subject: the hours in which it was staged. */
  function monthsPlayed(): Map<string, Map<string, Set<number>>> {
    const all = new Map<string, Map<string, Set<number>>>()
    for (const [key, known] of landings) {
      const [viewer = '', subject = ''] = key.split(' ')
      for (const { at, playedAt } of known) {
        const place = `${monthOf(playedAt)}:${viewer}`
        const own = all.get(place) ?? new Map<string, Set<number>>()
        all.set(place, own)
        const hours = own.get(subject) ?? new Set<number>()
        // On a slow clock it is still the hour before, and on a fast clock it is already the next hour.
        for (const other of [-quiet.skewMaxMs, 0, quiet.skewMaxMs]) hours.add(Math.floor((at + other) / HOUR_MS))
        own.set(subject, hours)
      }
    }
    return all
  }

  function checkLogged(play: Play & { loggedAt: number }): void {
    if (checker.hasLanded(play)) return
    const oldest = beginningOf(monthOf(now + quiet.skewMaxMs) - quiet.monthsBefore)
    const isTooOld = play.playedAt < oldest
    const isTooNew = play.playedAt > play.loggedAt + quiet.futureMaxMs - quiet.skewMaxMs
    if (!isTooOld && !isTooNew)
      fail(`log: ${keyText(play.business, play.oid)} of ${textOf(play.playedAt)} was in the log, but was never staged`, play.viewer)
  }
}
