/** The checker's rules for answers: nothing seen comes back, nothing unseen is hidden, and reasons are true. */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { SeenReason } from '../../../loaders/feed-existence.ts'
import type { Unseen } from '../../../subgraphs/feed-existence/read/unseen.ts'
import type { Fail } from '../violation.ts'
import type { SeenFacts } from './facts.ts'
import type { Reading, Standing } from './standing.ts'
import { keyText, textOf } from './universe.ts'

export function makeAnswerRules(facts: SeenFacts, { standing, mustWait, stoodInLegacy }: Standing, fail: Fail) {
  const { landed, isLogged, issues } = facts

  function checkUnseen(
    reading: Reading,
    candidates: readonly string[],
    exclude: readonly string[],
    answer: Unseen,
    degraded: Degraded,
    reader: number,
  ): void {
    const { viewer, business } = reading
    const what = `unseen of business ${business}`
    const asked = [...new Set(candidates)].filter((id) => !exclude.includes(id))
    const shown = new Set(answer.ids)
    const inOrder = asked.filter((id) => shown.has(id))
    if (inOrder.join() !== answer.ids.join()) fail(`order: ${what} answers ${answer.ids.join()} for ${asked.join()}`, viewer)
    const dropped = answer.droppedIssued + answer.droppedStaged + answer.droppedFiltered
    if (dropped !== asked.length - answer.ids.length) fail(`dropped: ${what} counts ${dropped} of ${asked.length - shown.size}`, viewer)
    for (const oid of asked)
      if (shown.has(oid) && mustWait(reading, oid, reader)) fail(`waits: ${what} shows ${oid}, which its process logged`, viewer)
    if (isLess(viewer, business, degraded)) return
    for (const oid of asked) {
      const is = standing(reading, oid, reader)
      if (is === 'seen' && shown.has(oid)) fail(`comes back: ${what} shows ${oid}, ${knownOf(viewer, business, oid)}`, viewer)
      if (is === 'unseen' && !shown.has(oid)) fail(`hidden: ${what} hides ${oid}, ${knownOf(viewer, business, oid)}`, viewer)
    }
  }

  function checkReasons(
    reading: Reading,
    oids: readonly string[],
    reasons: readonly (SeenReason | null)[],
    degraded: Degraded,
    reader: number,
  ): void {
    const { viewer, business } = reading
    oids.forEach((oid, place) => {
      const reason = reasons[place]
      const is = standing(reading, oid, reader)
      const known = (): string => `viewerSeen is ${reason} for ${keyText(business, oid)}, ${knownOf(viewer, business, oid)}`
      const mayBePlayed =
        landed(viewer, business, oid).length > 0 || isLogged(viewer, business, oid) || stoodInLegacy(viewer, business, oid)
      if (reason === 'PLAYED' && !mayBePlayed) fail(`reason: ${known()}`, viewer)
      if (reason === null && mustWait(reading, oid, reader)) fail(`waits: ${known()}, and its process logged it`, viewer)
      if (reason === 'ISSUED' && issues.get(`${viewer} ${business}`)?.has(oid) !== true) fail(`reason: ${known()}`, viewer)
      if (isLess(viewer, business, degraded)) return
      if (is === 'seen' && reason === null) fail(`comes back: ${known()}`, viewer)
      if (is === 'unseen' && reason !== null) fail(`hidden: ${known()}`, viewer)
    })
  }

  /** True if an answer without these stores may be incomplete. A key without a sorted set promises nothing. */
  function isLess(viewer: ViewerId, business: BusinessNumber, degraded: Degraded): boolean {
    const isOther = facts.stores().legacy?.kindOf(viewer, business) === 'other'
    return [...degraded].some((store) => store !== 'legacyStore' || !isOther)
  }

  function knownOf(viewer: ViewerId, business: BusinessNumber, oid: string): string {
    const plays = landed(viewer, business, oid).map(({ at, playedAt }) => `of ${textOf(playedAt)} staged at ${textOf(at)}`)
    const issue = issues.get(`${viewer} ${business}`)?.get(oid)
    const promised = facts.stores().legacy?.promiseOf(viewer, business, oid)
    if (promised !== undefined) plays.push(`of ${textOf(promised.playedAt)} in the legacy store`)
    return `${plays.join(', ') || 'never played'}; ${issue === undefined ? 'never issued' : `issued at ${textOf(issue.issuedAt)}`}`
  }

  return { checkUnseen, checkReasons }
}
