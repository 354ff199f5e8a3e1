/** The right view of each key for each viewer: now, and at every instant before. The rules of the checker update it. */
import type { ProgressKey, ViewerId } from '../../../core/domain.ts'
import type { KeyModel, Shown, ViewerModel } from './shown.ts'

export type KeyModels = ReturnType<typeof makeKeyModels>

/** `retentionMs`: milliseconds after its last write from which a record may be gone. Undefined = never. */
export function makeKeyModels(now: () => number, retentionMs: number | undefined) {
  const viewers = new Map<ViewerId, ViewerModel>()
  let tick = 0

  function viewerOf(viewer: ViewerId): ViewerModel {
    let model = viewers.get(viewer)
    if (model === undefined) {
      model = { paused: false, clearedAt: {}, keys: new Map(), lastDay: {}, switchedAt: 0 }
      viewers.set(viewer, model)
    }
    return model
  }

  function keyOf(key: ProgressKey): KeyModel {
    const { keys } = viewerOf(key.viewer)
    const text = `${key.business}:${key.oid}`
    let model = keys.get(text)
    if (model === undefined) {
      model = {
        key: { viewer: key.viewer, business: key.business, oid: key.oid },
        voided: 0,
        shown: undefined,
        changes: [{ tick: -1, shown: undefined }],
        merges: 0,
        guesses: 0,
        doubtfulUntil: -1,
      }
      keys.set(text, model)
    }
    return model
  }

  /** True if this version is so old that its record may be gone. */
  function isPastRetention(version: number): boolean {
    return retentionMs !== undefined && version / 1024 < now() - retentionMs
  }

  function mayBeExpired(shown: Shown | undefined): boolean {
    return shown !== undefined && isPastRetention(shown.version)
  }

  function isDoubtful(model: KeyModel, since: number): boolean {
    return model.guesses > 0 || model.doubtfulUntil >= since
  }

  /** All views of the key between `since` and now. */
  function shownSince(model: KeyModel, since: number): (Shown | undefined)[] {
    const found: (Shown | undefined)[] = mayBeExpired(model.shown) ? [undefined] : []
    for (let index = model.changes.length - 1; index >= 0; index--) {
      const { tick: at, shown } = model.changes[index] as (typeof model.changes)[number]
      found.push(shown)
      if (mayBeExpired(shown)) found.push(undefined)
      if (at <= since) break
    }
    return found
  }

  return {
    viewers,
    viewerOf,
    keyOf,
    tick: () => tick,
    nextTick: () => ++tick,
    change(model: KeyModel, shown: Shown | undefined): void {
      model.shown = shown
      model.changes.push({ tick: ++tick, shown })
    },
    isPastRetention,
    mayBeExpired,
    isDoubtful,
    shownSince,
    voidedOf: (model: KeyModel): number => Math.max(model.voided, viewerOf(model.key.viewer).clearedAt[model.key.business] ?? 0),
    /** All entries that the viewer must see now. */
    entriesOf: (viewer: ViewerId) => [...viewerOf(viewer).keys.values()].filter((model) => model.shown !== undefined),
    hasChangedSince: (key: ProgressKey, since: number) => isDoubtful(keyOf(key), since) || shownSince(keyOf(key), since).length > 1,
  }
}
