/** Seen store contract: exactly the folded plays are removed, the ring shows viewers with more plays, and readers notice a removal. */
import { setImmediate as breath } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { freshViewer, numbered } from '../reports.ts'
import { AT, CAPS, fold, foldsOf, isInRing, play, stage, stagedIn, stagedOf, stagedSeen } from './seen.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

export function foldingContract({ store, regions, shape, another, reopen }: SeenStoreSubject): void {
  const inRing = (viewer: string, slot: number) => isInRing(store(), slot, viewer, regions(), shape())

  it('folded plays are removed, plays staged meanwhile stay, and so does the viewer in the ring', async () => {
    const viewer = freshViewer()
    await stage(store(), 2, play(viewer, '1'), play(viewer, '2'))
    const [read] = await store().readStaged(2, [viewer])
    await stage(store(), 2, play(viewer, '3'))
    await store().removeStaged(2, [{ viewer, plays: read ?? [] }])
    expect(await stagedIn(store(), 2, viewer)).toEqual([stagedOf(play(viewer, '3'))])
    expect(await inRing(viewer, 2)).toBe(true)
    await fold(store(), 2, viewer, play(viewer, '3'))
    expect(await stagedSeen(store(), viewer)).toEqual([])
    expect(await inRing(viewer, 2)).toBe(false)
  })

  it('a play staged again with a later time stays, and its viewer stays in the ring', async () => {
    const viewer = freshViewer()
    await stage(store(), 2, play(viewer, '1', AT))
    const folds = await foldsOf(store(), viewer)
    await stage(store(), 2, play(viewer, '1', AT + 1))
    await fold(store(), 2, viewer, play(viewer, '1', AT))
    expect(await stagedIn(store(), 2, viewer)).toEqual([stagedOf(play(viewer, '1', AT + 1))])
    expect([await inRing(viewer, 2), await foldsOf(store(), viewer)]).toEqual([true, folds])
  })

  it('a folded play that comes again with an earlier time stays, because it may be of another month', async () => {
    const viewer = freshViewer()
    await stage(store(), 2, play(viewer, '1', AT))
    await fold(store(), 2, viewer, play(viewer, '1', AT))
    await stage(store(), 2, play(viewer, '1', AT - 1))
    await fold(store(), 2, viewer, play(viewer, '1', AT))
    expect(await stagedIn(store(), 2, viewer)).toEqual([stagedOf(play(viewer, '1', AT - 1))])
    expect(await inRing(viewer, 2)).toBe(true)
  })

  it('a play staged after a fold brings its viewer back into the ring', async () => {
    const viewer = freshViewer()
    await stage(store(), 2, play(viewer, '1'))
    await fold(store(), 2, viewer, play(viewer, '1'))
    expect(await stage(store(), 2, play(viewer, '1'))).toEqual([{ viewer, staged: 1 }])
    expect(await inRing(viewer, 2)).toBe(true)
    expect(await stagedSeen(store(), viewer)).toEqual([{ oid: '1', playedAt: AT }])
  })

  it('a fold changes only its own slot', async () => {
    const viewer = freshViewer()
    await stage(store(), 1, play(viewer, '1'))
    await stage(store(), 2, play(viewer, '1'))
    await fold(store(), 1, viewer, play(viewer, '1'))
    expect(await Promise.all([1, 2].map((slot) => inRing(viewer, slot)))).toEqual([false, true])
    expect(await stagedSeen(store(), viewer)).toEqual([{ oid: '1', playedAt: AT }])
  })

  it('removing plays that were never staged changes nothing, even for unknown viewers', async () => {
    const [viewer, nobody] = [freshViewer(), freshViewer()]
    await stage(store(), 2, play(viewer, '1'))
    const folds = await foldsOf(store(), viewer)
    await store().removeStaged(2, [
      { viewer, plays: [stagedOf(play(viewer, '2')), stagedOf(play(viewer, '1', AT, 2))] },
      { viewer: nobody, plays: [stagedOf(play(nobody, '1'))] },
      { viewer: nobody, plays: [] },
    ])
    await store().removeStaged(2, [])
    expect(await stagedIn(store(), 2, viewer)).toEqual([stagedOf(play(viewer, '1'))])
    expect(await Promise.all([viewer, nobody].map((name) => foldsOf(store(), name)))).toEqual([folds, 0])
    expect(await Promise.all([viewer, nobody].map((name) => inRing(name, 2)))).toEqual([true, false])
  })

  it('the fold count starts with the first staged play, and grows exactly with removals, in any slot and business', async () => {
    const viewer = freshViewer()
    const seen: number[] = [await foldsOf(store(), viewer)]
    const note = async () => seen.push(await foldsOf(store(), viewer))
    await store().putIssued(viewer, 1, ['9'], { ...CAPS, now: AT, cap: 1 })
    expect(await foldsOf(store(), viewer)).toBe(0)
    await stage(store(), 1, play(viewer, '1'), play(viewer, '2'), play(viewer, '3', AT, 2))
    await note()
    await stage(store(), 1, play(viewer, '2', AT + 1), play(viewer, '2'))
    await store().putIssued(viewer, 1, ['8'], { ...CAPS, now: AT, cap: 1 })
    expect(await foldsOf(store(), viewer)).toBe(seen.at(-1))
    await fold(store(), 1, viewer, play(viewer, '1'))
    await note()
    await fold(store(), 1, viewer, play(viewer, '3', AT, 2))
    await note()
    await stage(store(), 4, play(viewer, '1'))
    expect(await foldsOf(store(), viewer)).toBe(seen.at(-1))
    await fold(store(), 4, viewer, play(viewer, '1'))
    await note()
    await fold(store(), 1, viewer, play(viewer, '2', AT + 1))
    await note()
    await stage(store(), 1, play(viewer, '1'))
    await fold(store(), 1, viewer, play(viewer, '1'))
    await note()
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
    expect(await foldsOf(await reopen(), viewer)).toBe(seen.at(-1))
    expect((await store().getSeen(viewer, 7)).folds).toBe(seen.at(-1))
  })

  it('a repeated removal changes nothing more', async () => {
    const viewer = freshViewer()
    await stage(store(), 2, play(viewer, '1'), play(viewer, '2'))
    await fold(store(), 2, viewer, play(viewer, '1'), play(viewer, '1'))
    const before = await store().getSeen(viewer, 1)
    await fold(store(), 2, viewer, play(viewer, '1'), play(viewer, '1'))
    expect(await store().getSeen(viewer, 1)).toEqual(before)
    expect(await inRing(viewer, 2)).toBe(true)
  })

  it('a reader that misses a play always sees a higher fold count', async () => {
    const viewer = freshViewer()
    const reader = await another()
    const plays = numbered(60).map((oid) => play(viewer, oid))
    await stage(store(), 2, ...plays)
    let left = plays.length
    let done = false
    const reading = (async () => {
      let last = { folds: 0, staged: plays.length }
      for (let finished = false; !finished; await breath()) {
        finished = done
        const { staged, folds } = await reader.getSeen(viewer, 1)
        if (staged.length < last.staged) expect(folds).toBeGreaterThan(last.folds)
        expect(folds).toBeGreaterThanOrEqual(last.folds)
        last = { folds, staged: staged.length }
      }
      expect(last.folds).toBeGreaterThan(0)
    })()
    while (left > 0) await fold(store(), 2, viewer, ...plays.slice(left - 2, left)).then(() => (left -= 2))
    expect((await reader.getSeen(viewer, 1)).staged).toEqual([])
    done = true
    await reading
    await reader.close()
  })

  it('many viewers of all regions are folded in one call', async () => {
    const viewers = Array.from({ length: 300 }, freshViewer)
    await stage(store(), 5, ...viewers.flatMap((viewer) => numbered(5).map((oid) => play(viewer, oid))))
    const read = await store().readStaged(5, viewers)
    await stage(store(), 5, ...viewers.slice(0, 10).map((viewer) => play(viewer, '9')))
    await store().removeStaged(
      5,
      viewers.map((viewer, index) => ({ viewer, plays: read[index] ?? [] })),
    )
    expect((await store().readStaged(5, viewers)).map((plays) => plays.length)).toEqual(viewers.map((_, index) => (index < 10 ? 1 : 0)))
    const still = await Promise.all(viewers.map((viewer) => inRing(viewer, 5)))
    expect(still).toEqual(viewers.map((_, index) => index < 10))
  })
}
