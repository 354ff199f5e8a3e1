import type { Fail } from '../violation.ts'
/** The checker's rules for deletions and clearings, at the instant they reach the hot store: they cover every earlier view. */
import type { KeyModels } from './key-models.ts'
import type { HotObserver } from './model-timelines.ts'
import { nameOf } from './shown.ts'

export function makeRemovalRules({ viewerOf, keyOf, voidedOf, change, nextTick }: KeyModels, fail: Fail): Omit<HotObserver, 'put'> {
  return {
    deleted(key, { record }, now) {
      const model = keyOf(key)
      if (model.merges > 0) {
        // A merge deletes records that are older than a deletion in the record store.
        if (record.since <= voidedOf(model)) return
        model.guesses++
      } else if (record.since < Math.max(now, model.shown?.viewedAt ?? 0)) {
        fail(`line 3: deleting ${nameOf(key)} reaches ${record.since} only, but it was viewed at ${model.shown?.viewedAt}`, key.viewer)
      }
      model.voided = Math.max(model.voided, record.since)
      change(model, undefined)
    },
    cleared(viewer, business, clearedAt) {
      const model = viewerOf(viewer)
      model.clearedAt[business] = clearedAt
      for (const each of model.keys.values()) {
        if (each.key.business !== business) continue
        if (each.merges > 0) each.guesses++
        if (each.shown === undefined) continue
        if (each.merges === 0 && each.shown.viewedAt > clearedAt)
          fail(`line 3: clearing reaches ${clearedAt} only, but ${nameOf(each.key)} was viewed at ${each.shown.viewedAt}`, viewer)
        change(each, undefined)
      }
      nextTick()
    },
    paused(viewer, paused) {
      viewerOf(viewer).paused = paused
      viewerOf(viewer).switchedAt = nextTick()
    },
  }
}
