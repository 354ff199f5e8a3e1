/** Seen store contract: the first play and the first issue of a day, each reported once, and the rewards that wait for the log. */
import { expect, it } from 'vitest'
import { utcDayOf } from '../../../core/days.ts'
import type { RewardEvent } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import { rewardOf } from '../../../core/rewards.ts'
import type { PlayWrite, SeenStore, StagedCount } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import { AT, CAPS, issuedOids, play } from './seen.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

const TODAY = utcDayOf(AT)
const EVERYTHING = 1_000_000

export function daysContract({ store, another, reopen, regions }: SeenStoreSubject): void {
  const issue = (viewer: string, oid: string, day: number | undefined, now = AT, business = 1) =>
    store().putIssued(viewer, business, [oid], { ...CAPS, now, day })
  const stage = (plays: PlayWrite[], target: SeenStore = store(), now = AT): Promise<StagedCount[]> =>
    target.stagePlays(plays, { now, slot: 3 })
  async function pending(viewer: string, claimedBefore = AT): Promise<RewardEvent[]> {
    const all = await store().listPendingRewards([regionOf(viewer, regions())], claimedBefore, EVERYTHING)
    return all.filter((reward) => reward.viewer === viewer).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  it('the first issue of a day is reported once per viewer and business, and records its oids like every issue', async () => {
    for (const viewer of [freshViewer(), freshNamedViewer(), `9000${freshViewer()}`]) {
      const other = freshViewer()
      expect(await issue(viewer, '1', TODAY)).toBe(true)
      expect(await issue(viewer, '2', TODAY)).toBe(false)
      expect(await issue(viewer, '3', TODAY, AT, 2)).toBe(true)
      expect(await issue(other, '1', TODAY)).toBe(true)
      expect(await issue(viewer, '4', TODAY + 1)).toBe(true)
      expect(await issue(viewer, '5', undefined)).toBe(false)
      expect((await issuedOids(store(), viewer)).toSorted()).toEqual(['1', '2', '4', '5'])
    }
  })

  it('an issue without oids claims no day', async () => {
    const viewer = freshViewer()
    expect(await store().putIssued(viewer, 1, [], { ...CAPS, now: AT, day: TODAY })).toBe(false)
    expect(await pending(viewer)).toEqual([])
    expect(await issue(viewer, '1', TODAY)).toBe(true)
  })

  it('the first play of a day is reported once per viewer and business, regardless of other plays in the call', async () => {
    const [viewer, named, other] = [freshViewer(), freshNamedViewer(), freshViewer()]
    const claiming = (who: string, oid: string, day: number | undefined, business = 1): PlayWrite => ({
      ...play(who, oid, AT, business),
      day,
    })
    expect(
      await stage([
        claiming(viewer, '1', TODAY),
        claiming(named, '1', TODAY),
        claiming(viewer, '2', TODAY),
        claiming(viewer, '3', TODAY, 2),
        claiming(viewer, '4', TODAY - 1),
        claiming(other, '1', undefined),
      ]),
    ).toEqual([
      {
        viewer,
        staged: 4,
        firsts: [
          { business: 1, day: TODAY },
          { business: 2, day: TODAY },
          { business: 1, day: TODAY - 1 },
        ],
      },
      { viewer: named, staged: 1, firsts: [{ business: 1, day: TODAY }] },
      { viewer: other, staged: 1 },
    ])
    expect(await stage([claiming(viewer, '5', TODAY), claiming(other, '2', TODAY)])).toEqual([
      { viewer, staged: 5 },
      { viewer: other, staged: 2, firsts: [{ business: 1, day: TODAY }] },
    ])
  })

  it('a day for all businesses is claimed once per viewer, beside the days of the businesses', async () => {
    for (const viewer of [freshViewer(), freshNamedViewer()]) {
      const issueForAll = (oid: string, business: number) =>
        store().putIssued(viewer, business, [oid], { ...CAPS, now: AT, day: TODAY, dayForAll: true })
      expect(await issueForAll('1', 1)).toBe(true)
      expect(await issueForAll('1', 2)).toBe(false)
      expect(await issue(viewer, '2', TODAY, AT, 2)).toBe(true)
      const playForAll = (oid: string, business: number): PlayWrite => ({ ...play(viewer, oid, AT, business), day: TODAY, dayForAll: true })
      const [first] = await stage([playForAll('1', 1), playForAll('2', 300), { ...play(viewer, '3'), day: TODAY }])
      expect(first?.firsts).toEqual([
        { business: 0, day: TODAY },
        { business: 1, day: TODAY },
      ])
      expect((await stage([playForAll('4', 300)]))[0]?.firsts).toBeUndefined()
      expect((await pending(viewer)).map(({ id }) => id)).toEqual(
        [`${TODAY}.${viewer}.0.issue`, `${TODAY}.${viewer}.0.play`, `${TODAY}.${viewer}.1.play`, `${TODAY}.${viewer}.2.issue`].toSorted(),
      )
    }
  })

  it('yesterday is not claimed twice where it is still the day before the yesterday of UTC', async () => {
    const viewer = freshViewer()
    const yesterday = TODAY - 2
    expect((await stage([{ ...play(viewer, '1'), day: yesterday }]))[0]?.firsts).toHaveLength(1)
    // Claims of other viewers, some of whom have tomorrow already, remove old flags.
    for (let other = 0; other < 10; other++) await issue(freshViewer(), '1', TODAY + (other % 3) - 1)
    expect((await stage([{ ...play(viewer, '2'), day: yesterday }]))[0]?.firsts).toBeUndefined()
  })

  it('plays and issues claim their days separately', async () => {
    const viewer = freshViewer()
    expect(await issue(viewer, '1', TODAY)).toBe(true)
    expect(await stage([{ ...play(viewer, '1'), day: TODAY }])).toEqual([{ viewer, staged: 1, firsts: [{ business: 1, day: TODAY }] }])
  })

  it('viewers with neighbouring ids claim their days separately', async () => {
    const first = 7_000_000_000 + Number(freshViewer().slice(-5)) * 100_000
    const neighbours = Array.from({ length: 3 * regions() + 1 }, (_, at) => String(first + at))
    const told = await stage(neighbours.map((viewer) => ({ ...play(viewer, '1'), day: TODAY })))
    expect(told.map(({ firsts }) => firsts?.length)).toEqual(neighbours.map(() => 1))
    const named = Array.from({ length: 50 }, freshNamedViewer)
    for (const viewer of named) expect(await issue(viewer, '1', TODAY)).toBe(true)
  })

  it('a first of the day waits until the log has it, in every process', async () => {
    const viewer = freshViewer()
    await issue(viewer, '1', TODAY)
    await stage([{ ...play(viewer, '1', AT, 300), day: TODAY }], store(), AT + 5)
    const [issued, played] = [rewardOf(viewer, 1, TODAY, 'FIRST_ISSUE'), rewardOf(viewer, 300, TODAY, 'FIRST_PLAY')]
    expect(await pending(viewer, AT - 1)).toEqual([])
    expect(await pending(viewer)).toEqual([issued])
    expect(await pending(viewer, AT + 5)).toEqual([issued, played])
    const region = regionOf(viewer, regions())
    expect(await store().listPendingRewards([(region + 1) % regions()], AT + 5, EVERYTHING)).not.toContainEqual(issued)
    expect(await store().listPendingRewards([region], AT + 5, 1)).toHaveLength(1)
    await reopen()
    expect(await pending(viewer, AT + 5)).toEqual([issued, played])
    await store().confirmRewards([issued])
    expect(await pending(viewer, AT + 5)).toEqual([played])
    await store().confirmRewards([issued, played])
    await store().confirmRewards([])
    expect(await pending(viewer, AT + 5)).toEqual([])
    // A confirmed first cannot be claimed again.
    expect(await issue(viewer, '2', TODAY)).toBe(false)
  })

  it('concurrent claims of one day in two processes have exactly one first', async () => {
    const viewer = freshViewer()
    const other = await another()
    const sides = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? store() : other))
    const issues = await Promise.all(sides.map((side, at) => side.putIssued(viewer, 1, [`${at}`], { ...CAPS, now: AT, day: TODAY })))
    expect(issues.filter(Boolean)).toHaveLength(1)
    const plays = await Promise.all(sides.map((side, at) => stage([{ ...play(viewer, `${at}`), day: TODAY }], side)))
    expect(plays.filter(([count]) => count?.firsts !== undefined)).toHaveLength(1)
    await other.close()
  })
}
