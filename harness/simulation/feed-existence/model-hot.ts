/**
 * One process's port to the model of the seen store (`harness/models/feed-existence/hot-store-model.ts`). The gate decides
 * when its calls take effect, and in which parts. Calls that touch several viewers happen viewer by viewer. The model has no
 * clock: this port makes it forget the count of a viewer's folds once the port allows that.
 */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { isListing } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import {
  FOLDS_KEPT_MS,
  type HotSeen,
  type RingShape,
  type SeenStore,
  type StagedPlay,
  type PlayWrite,
  type StagedCount,
} from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeSeenState, makeSeenStoreModel } from '../../models/feed-existence/hot-store-model.ts'
import type { Gate } from '../gate.ts'

export type SeenHotFaults = {
  /** Plays leave staging when they are read for a fold. */
  removesOnRead?: boolean
  /** Removes the play of a subject even if its time has changed. */
  removesByKey?: boolean
  /** A folded viewer leaves the ring although plays are still staged in the slot. */
  dropsRing?: boolean
  /** Readers do not see that a viewer was folded. */
  hidesFolds?: boolean
  /** The count of folds is forgotten as soon as nothing is staged, and restarts. */
  restartsFolds?: boolean
  /** Stages by the hour of `playedAt`. */
  stagesByPlayedAt?: boolean
  /** A play of a listed viewer is written only to the legacy store, where the migration will read it. */
  skipsListed?: boolean
}

export type SeenHotObserver = {
  staged(plays: readonly Play[]): void
  /** These have left staging. */
  removed(viewer: ViewerId, plays: readonly StagedPlay[], by: Remover): void
  issued(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], issuedAt: number): void
}

/**
 * The process that removes plays. `hasWrittenBack`: whether it reports that the legacy store has them. Undefined: it does not write there.
 */
export type Remover = { hasWrittenBack(): boolean | undefined }

export type SeenHotState = ReturnType<typeof makeSeenHotState>

export function makeSeenHotState(
  regions: number,
  faults: SeenHotFaults,
  observer: SeenHotObserver,
  now: () => number,
  putLegacy: (play: Play) => void = () => undefined,
) {
  const state = makeSeenState()
  /** The time of the viewer's last staging or fold. */
  const touchedAt = new Map<ViewerId, number>()
  return {
    ...{ regions, faults, observer, state, now, putLegacy, touchedAt },
    stagedOf: (viewer: ViewerId): StagedPlay[] => [...(state.viewers.get(viewer)?.staged.values() ?? [])],
    countStaged: () => [...state.viewers.values()].reduce((sum, { staged }) => sum + staged.size, 0),
    countRing: () => [...state.ring.values()].reduce((sum, ring) => sum + ring.size, 0),
    /** Forgets expired counts of folds, for the viewers that `isGone` selects. */
    forgetFolds(isGone: () => boolean): void {
      for (const [viewer, { staged }] of state.viewers) {
        if (staged.size > 0) continue
        const isOld = now() - (touchedAt.get(viewer) ?? 0) >= FOLDS_KEPT_MS
        if ((isOld || faults.restartsFolds === true) && isGone()) state.viewers.delete(viewer)
      }
    },
  }
}

const NEVER_BACK: Remover = { hasWrittenBack: () => undefined }

export function openSimulatedSeenStore(hot: SeenHotState, shape: RingShape, gate: Gate, remover: Remover = NEVER_BACK): SeenStore {
  const { faults, observer } = hot
  const model = makeSeenStoreModel(hot.regions, shape, hot.state)
  const { stage, remove } = makeStaging(hot, shape, model, remover)
  /** The model completes each call before it returns, so each part is one instant. */
  function inParts<R>(name: string, args: readonly unknown[], parts: readonly (() => Promise<R>)[]): Promise<R[]> {
    const results: Promise<R>[] = []
    const run = parts.map((part, place) => () => void (results[place] = part()))
    return gate.call<unknown>('hot', name, args, run, () => Promise.all(results)) as Promise<R[]>
  }
  const once = async <R>(name: string, args: readonly unknown[], act: () => Promise<R>): Promise<R> =>
    (await inParts(name, args, [act]))[0] as R

  async function getSeen(viewer: ViewerId, business: BusinessNumber): Promise<HotSeen> {
    const seen = await model.getSeen(viewer, business)
    return faults.hidesFolds === true ? { ...seen, folds: 1 } : seen
  }

  return {
    putIssued: (viewer, business, oids, options) =>
      once('putIssued', [{ viewer }, business, oids, options.now], () => {
        observer.issued(viewer, business, oids, options.now)
        return model.putIssued(viewer, business, oids, options)
      }),
    purgeIssued: (servedBefore, limit) => once('purgeIssued', [servedBefore], () => model.purgeIssued(servedBefore, limit)),
    async stagePlays(plays, { now, slot }) {
      const some = [...Map.groupBy(plays, ({ viewer }) => viewer).values()]
      const staged = await inParts(
        'stagePlays',
        [plays, slot],
        some.map((own) => () => stage(own, now, slot)),
      )
      return staged.map((own) => {
        const firsts = own.flatMap((each) => each.firsts ?? [])
        const count = { viewer: own[0]?.viewer ?? '', staged: Math.max(...own.map((each) => each.staged)) }
        return firsts.length > 0 ? { ...count, firsts } : count
      })
    },
    getSeen: (viewer, business) => once('getSeen', [{ viewer }, business], () => getSeen(viewer, business)),
    getSeenMany: (of) =>
      inParts(
        'getSeenMany',
        [of],
        of.map(
          ({ viewer, business }) =>
            () =>
              getSeen(viewer, business),
        ),
      ),
    filledShards: (slot, shards) => once('filledShards', [slot, shards], () => model.filledShards(slot, shards)),
    listRing: (slot, shard, limit) => once('listRing', [slot, shard], () => model.listRing(slot, shard, limit)),
    async readStaged(slot, viewers) {
      const read = await inParts(
        'readStaged',
        [slot, viewers.map((viewer) => ({ viewer }))],
        viewers.map((viewer) => async () => {
          const [plays = []] = await model.readStaged(slot, [viewer])
          return plays
        }),
      )
      if (faults.removesOnRead === true) viewers.forEach((viewer, place) => void remove(slot, viewer, read[place] ?? []))
      return read
    },
    async removeStaged(slot, folded) {
      const parts = folded.map(
        ({ viewer, plays }) =>
          () =>
            remove(slot, viewer, plays),
      )
      if (parts.length > 0) await inParts('removeStaged', [slot, folded], parts)
    },
    countRing: () => once('countRing', [], () => model.countRing()),
    getRingLayouts: () => once('getRingLayouts', [], () => model.getRingLayouts()),
    putRingLayout: (layout) => once('putRingLayout', [layout], () => model.putRingLayout(layout)),
    listPendingRewards: (regions, before, limit) =>
      once('listPendingRewards', [regions], () => model.listPendingRewards(regions, before, limit)),
    confirmRewards: (rewards) => once('confirmRewards', [rewards], () => model.confirmRewards(rewards)),
    check: () => once('check', [], () => model.check()),
    close: () => Promise.resolve(),
  }
}

/** Plays enter and leave staging, with the planted faults. The observer is notified. */
function makeStaging(hot: SeenHotState, shape: RingShape, model: SeenStore, remover: Remover) {
  const { faults, observer, state } = hot

  async function stage(plays: readonly PlayWrite[], now: number, slot: number): Promise<StagedCount[]> {
    observer.staged(plays.filter((play) => !isListing(play)))
    if (faults.skipsListed === true) {
      const isListed = ({ viewer }: Play): boolean => hot.stagedOf(viewer).some(isListing)
      for (const play of plays) if (isListed(play) && !isListing(play)) hot.putLegacy(play)
      plays = plays.filter((play) => isListing(play) || !isListed(play))
    }
    const uncounted = plays.filter(({ viewer }) => !state.viewers.has(viewer))
    for (const { viewer } of plays) hot.touchedAt.set(viewer, hot.now())
    const counts = stageByHour(plays, now, slot)
    for (const { viewer } of uncounted) {
      const own = state.viewers.get(viewer)
      if (own !== undefined) own.folds = faults.restartsFolds === true ? 1 : hot.now()
    }
    return counts
  }

  async function stageByHour(plays: readonly PlayWrite[], now: number, slot: number): Promise<StagedCount[]> {
    if (faults.stagesByPlayedAt !== true) return model.stagePlays(plays, { now, slot })
    const bySlot = Map.groupBy(plays, ({ playedAt }) => slotOf(playedAt, shape.slots))
    return (await Promise.all(Array.from(bySlot, ([other, some]) => model.stagePlays(some, { now, slot: other })))).flat()
  }

  function remove(slot: number, viewer: ViewerId, folded: readonly StagedPlay[]): Promise<void> {
    const held = state.viewers.get(viewer)?.staged
    const before = held === undefined ? [] : [...held]
    const byKey = ({ business, oid, playedAt }: StagedPlay): StagedPlay => ({
      ...{ business, oid },
      playedAt: held?.get(`${slot}:${business}:${oid}`)?.playedAt ?? playedAt,
    })
    const plays = faults.removesByKey === true ? folded.map(byKey) : folded
    const done = model.removeStaged(slot, [{ viewer, plays }])
    if (faults.dropsRing === true) for (const [place, ring] of state.ring) if (place.startsWith(`${slot}:`)) ring.delete(viewer)
    const gone = before.flatMap(([key, play]) => (held?.has(key) === true ? [] : [play]))
    if (gone.length > 0) {
      hot.touchedAt.set(viewer, hot.now())
      observer.removed(
        viewer,
        gone.filter((play) => !isListing(play)),
        remover,
      )
    }
    return done
  }

  return { stage, remove }
}
