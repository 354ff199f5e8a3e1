/** The port of one process to the model of the hot store of marks. The gate decides when calls take effect, and in which parts. */
import type { ViewerId } from '../../../core/domain.ts'
import type { MarkStore } from '../../../subgraphs/thumbup/stores/hot-store.ts'
import type { MarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import { atOnce, type Gate } from '../gate.ts'

/** Calls that touch several regions happen region by region. */
export function openModelMarkStore(state: MarkStoreState, gate: Gate): MarkStore {
  function perRegion<T extends { viewer: ViewerId }, R>(
    name: string,
    items: readonly T[],
    act: (items: readonly T[]) => readonly R[],
  ): Promise<R[]> {
    const results: R[] = []
    const byRegion = Map.groupBy(items.keys(), (place) => state.regionOf((items[place] as T).viewer))
    const parts = Array.from(byRegion.values(), (places) => () => {
      const done = act(places.map((place) => items[place] as T))
      places.forEach((place, index) => (results[place] = done[index] as R))
    })
    return gate.call('hot', name, [items], parts, () => results)
  }
  const once = <T>(name: string, args: readonly unknown[], act: () => T): Promise<T> => atOnce(gate, 'hot', name, args, act)

  return {
    putMarks: (writes, options) => perRegion('putMarks', writes, (some) => state.putMarks(some, options)),
    getMarkMany: (keys) => perRegion('getMarkMany', keys, (some) => some.map(state.getOne)),
    listLikes: (viewer, business, before, limit) =>
      once('listLikes', [viewer, business, before, limit], () => state.listLikes(viewer, business, before, limit)),
    beginReads: (owners) => perRegion('beginReads', owners, (some) => some.map(state.beginRead)),
    fillMarks: (viewer, business, rows, options) =>
      once('fillMarks', [viewer, business, rows, options], () => state.fill(viewer, business, rows, options)),
    readDirtyMarks: (keys) => perRegion('readDirtyMarks', keys, (some) => some.map(state.readDirtyMark)),
    clearDirtyMarks: (persisted, cap) =>
      perRegion(
        'clearDirtyMarks',
        persisted.map((each) => ({ ...each, viewer: each.key.viewer })),
        (some) => {
          state.clearDirtyMarks(some, cap)
          return []
        },
      ).then(() => undefined),
    // In the model a dirty mark is part of its entry.
    dropDirtyMarks: (keys) => once('dropDirtyMarks', [keys], () => undefined),
    listDirtyMarks: (regions, dirtyBefore, limit, walk) =>
      once('listDirtyMarks', [regions, dirtyBefore], () => state.listDirtyMarks(regions, dirtyBefore, limit, walk)),
    countDirtyMarks: () => once('countDirtyMarks', [], state.countDirtyMarks),
    purgeUndone: (regions, undoneBefore, limit) =>
      once('purgeUndone', [regions, undoneBefore], () => state.purgeUndone(regions, undoneBefore, limit)),
    forgetBusiness: (business, limit) => once('forgetBusiness', [business], () => state.forgetBusiness(business, limit)),
    countViewers: (business) => once('countViewers', [business], () => state.countViewers(business)),
    check: () => once('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}
