/** The port of one process to the model of the hot store. */
import type { ViewerId } from '../../../core/domain.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { atOnce, type Gate } from '../gate.ts'
import type { HotState } from './model-hot-state.ts'

/** Calls that touch several regions happen region by region. */
export function openModelHotStore(state: HotState, gate: Gate): HotStore {
  function perRegion<T extends { viewer: ViewerId }, R>(
    name: string,
    items: readonly T[],
    act: (item: T) => R,
    afterwards: (items: readonly T[]) => void = () => undefined,
  ): Promise<R[]> {
    const results: R[] = []
    const byRegion = new Map<number, { item: T; index: number }[]>()
    items.forEach((item, index) => {
      const region = state.regionOf(item.viewer)
      const some = byRegion.get(region) ?? []
      if (some.length === 0) byRegion.set(region, some)
      some.push({ item, index })
    })
    const parts = [...byRegion.values()].map((some) => () => {
      for (const { item, index } of some) results[index] = act(item)
      afterwards(some.map(({ item }) => item))
    })
    return gate.call('hot', name, [items], parts, () => results)
  }
  const once = <T>(name: string, args: readonly unknown[], act: () => T): Promise<T> => atOnce(gate, 'hot', name, args, act)

  return {
    putProgress: (writes, options) =>
      perRegion(
        'putProgress',
        writes,
        (write) => state.put(write, options),
        (some) => state.trimAll(some, options.timelineCap),
      ),
    deleteProgress: (keys, now) => perRegion('deleteProgress', keys, (key) => state.remove(key, now)),
    clearProgress: (viewer, business, now) => once('clearProgress', [viewer, business], () => state.clear(viewer, business, now)),
    setPaused: (viewer, paused, now) => once('setPaused', [viewer, paused], () => state.setPaused(viewer, paused, now)),
    getSettings: (viewer) => once('getSettings', [viewer], () => state.settingsOf(viewer)),
    getProgressMany: (keys) => perRegion('getProgressMany', keys, state.lookUp),
    listTimeline: (viewer, businesses, before, limit) =>
      once('listTimeline', [viewer, businesses, before, limit], () => state.list(viewer, businesses, before, limit)),
    listChanges: (viewer, businesses, since) =>
      once('listChanges', [viewer, businesses, since], () => state.listChanges(viewer, businesses, since)),
    readDirtyProgress: (keys) => perRegion('readDirtyProgress', keys, (key) => ({ key, record: state.recordOf(key) })),
    readDirtySettings: (viewers) => once('readDirtySettings', [viewers], () => viewers.map(state.settingsOf)),
    clearDirty: (marks, timelineCap) =>
      perRegion(
        'clearDirty',
        marks.map(({ key, version }) => ({ ...key, version })),
        ({ version, ...key }) => state.clearMark(key, version, timelineCap),
      ).then(() => undefined),
    fillProgress: (rows, { timelineCap }) =>
      perRegion(
        'fillProgress',
        rows.map(({ key, record }) => ({ ...key, record })),
        ({ record, ...key }) => state.fillRow({ key, record }),
        (some) => state.trimAll(some, timelineCap),
      ).then(() => undefined),
    fillSettings: (rows) => perRegion('fillSettings', rows, state.fillSettings).then(() => undefined),
    dropDirty: (keys) => perRegion('dropDirty', keys, state.dropMark).then(() => undefined),
    listDirty: (regions, dirtyBefore, limit, walk) =>
      once('listDirty', [regions, dirtyBefore], () => state.listDirty(regions, dirtyBefore, limit, walk)),
    countDirty: () => once('countDirty', [], state.countDirty),
    listPendingRewards: (regions, claimedBefore, limit) =>
      once('listPendingRewards', [regions], () => state.listRewards(regions, claimedBefore, limit)),
    confirmRewards: (rewards) => perRegion('confirmRewards', rewards, state.confirm).then(() => undefined),
    purgeExpired: (writtenBefore, limit) => once('purgeExpired', [writtenBefore], () => state.purge(writtenBefore, limit)),
    followProgress: (viewer, listener) => once('followProgress', [viewer], () => state.follow(viewer, listener)),
    check: () => once('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}
