/**
 * The rules after quiet. The record store alone has the last acknowledged mark of every key. The caches equal it, the events add up to it,
 * and nothing waits anywhere.
 */
import { countEventId, markEventId } from '../../../subgraphs/thumbup/persist/events.ts'
import { transitionOf } from '../../../subgraphs/thumbup/model/merge.ts'
import type { MarkKey } from '../../../core/domain.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { MarkEvent } from '../../../subgraphs/thumbup/stores/events.ts'
import type { MarkRecordsState } from '../../models/thumbup/record-rows.ts'
import type { MarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import type { MarkChecker } from './checker.ts'
import { subjectText, type CountCacheState } from './model-count-cache.ts'
import type { MarkEventsState } from './model-events.ts'
import { recount, rowOf } from './record-rules.ts'
import { askedText, isSame, markOf, nameOf, textOf, type KeyTruth } from './truth.ts'

export type QuietState = {
  hot: MarkStoreState
  cache: CountCacheState
  records: MarkRecordsState
  events: MarkEventsState
  left: readonly JournalEntry[]
  lag: number
  mayBeForgotten(key: MarkKey): boolean
}

export function checkMarksQuiet({ truths, fail }: MarkChecker, state: QuietState): void {
  const { hot, cache, records, events, left, lag, mayBeForgotten } = state
  if (left.length > 0) fail(`quiet: ${left.length} entries are still in a journal`, undefined)
  if (lag > 0) fail(`quiet: ${lag} messages are not committed`, undefined)
  if (records.outbox.size > 0) fail(`quiet: ${records.outbox.size} changes are still in the outbox`, undefined)
  for (const truth of truths.all()) checkKey(truth)
  checkCache()
  checkEvents()

  function checkKey({ key, now, asked, ackedAt }: KeyTruth): void {
    const row = rowOf(records, key)
    const what = `quiet: ${nameOf(key)} is stored as ${textOf(row)}`
    const isForgotten = row === undefined && mayBeForgotten(key)
    if (!isSame(row, now) && !isForgotten) fail(`${what}, not ${textOf(now)}`, key.viewer)
    if (!isForgotten && (row?.markedAt ?? 0) < ackedAt) fail(`${what}, but a mark of ${ackedAt} was acknowledged`, key.viewer)
    if (row !== undefined && !asked.has(askedText(row))) fail(`${what}, which was never sent`, key.viewer)
    const held = hot.heldOf(key)
    if (held === undefined) return
    if (held.dirtySince !== undefined) fail(`quiet: ${nameOf(key)} is still dirty`, key.viewer)
    if (!isSame(held.record, row) && !(isForgotten && held.record.mark === 'NONE'))
      fail(`${what}, but the hot store has ${textOf(held.record)}`, key.viewer)
    if (held.counted !== markOf(row)) fail(`${what}, but the hot store has ${held.counted} as the counted mark`, key.viewer)
  }

  function checkCache(): void {
    for (const [text, cached] of cache.counts) {
      const stored = records.counts.get(text)?.counts ?? { likes: 0, dislikes: 0, version: 0 }
      if (cached.likes !== stored.likes || cached.dislikes !== stored.dislikes || cached.version !== stored.version)
        fail(`quiet: the cache has ${JSON.stringify(cached)} of ${text}, the record store ${JSON.stringify(stored)}`, undefined)
    }
    for (const [text, cached] of cache.sums) {
      const stored = records.sums.get(text) ?? { likes: 0, version: 0 }
      if (cached.likes !== stored.likes || cached.version !== stored.version)
        fail(`quiet: the cache has ${cached.likes} likes of owner ${text}, the record store ${stored.likes}`, undefined)
    }
  }

  function checkEvents(): void {
    const distinct = new Map<string, MarkEvent>()
    for (const event of events.marks) {
      const before = distinct.get(event.id)
      if (before !== undefined && (before.old !== event.old || before.mark !== event.mark))
        fail(`events: ${event.id} is both ${before.old} to ${before.mark} and ${event.old} to ${event.mark}`, event.viewer)
      if (event.id !== markEventId(event, event.version)) fail(`events: ${event.id} is not the id of its mark`, event.viewer)
      distinct.set(event.id, event)
    }
    const sums = new Map<string, { likes: number; dislikes: number }>()
    for (const event of distinct.values()) {
      const sum = sums.get(subjectText(event)) ?? { likes: 0, dislikes: 0 }
      const { likes, dislikes } = transitionOf(event.old, event.mark)
      sums.set(subjectText(event), { likes: sum.likes + likes, dislikes: sum.dislikes + dislikes })
    }
    const told = new Set(events.counts.map(({ id }) => id))
    const rows = recount(records)
    for (const [text, { counts, ...subject }] of records.counts) {
      const { likes, dislikes } = sums.get(text) ?? { likes: 0, dislikes: 0 }
      const { likes: liked, dislikes: disliked } = rows.get(text) ?? { likes: 0, dislikes: 0 }
      if (likes !== liked || dislikes !== disliked)
        fail(`events: the transitions of ${text} add up to ${likes},${dislikes}, its rows to ${liked},${disliked}`, undefined)
      if (counts.version > 0 && !told.has(countEventId(subject, counts.version)))
        fail(`events: version ${counts.version} of ${text} has no event`, undefined)
    }
  }
}
