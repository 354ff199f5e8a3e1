/** Seen store contract: concurrent staging services and folding jobs lose nothing, and keep the ring exact. */
import { setImmediate as breath } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { freshNamedViewer, freshViewer, numbered } from '../reports.ts'
import { AT, isInRing, play, stage, stagedIn } from './seen.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

export function concurrencyContract({ store, regions, shape, another }: SeenStoreSubject): void {
  it('each play is folded at least once while two jobs fold and two services stage, and the ring is empty at the end', async () => {
    const stores = [store(), await another()]
    const viewers = [...Array.from({ length: 6 }, freshViewer), freshNamedViewer()]
    const folded = new Map(viewers.map((viewer) => [viewer, new Set<string>()]))
    let staging = stores.length
    const services = stores.map(async (service, which) => {
      for (let round = 0; round < 40; round++) {
        await stage(service, 3, ...viewers.map((viewer) => play(viewer, `${which}-${round}`, AT + round)))
      }
      staging -= 1
    })
    const jobs = stores.map(async (job) => {
      for (let last = false; ; last = staging === 0) {
        // Found by the ring alone, as the job finds them.
        const here = await Promise.all(viewers.map((viewer) => isInRing(job, 3, viewer, regions(), shape())))
        const found = viewers.filter((_, index) => here[index])
        const read = await job.readStaged(3, found)
        found.forEach((viewer, index) => read[index]?.forEach(({ oid }) => folded.get(viewer)?.add(oid)))
        await job.removeStaged(
          3,
          found.map((viewer, index) => ({ viewer, plays: read[index] ?? [] })),
        )
        if (last) return
        await breath()
      }
    })
    await Promise.all([...services, ...jobs])
    const all = stores.flatMap((_, which) => Array.from({ length: 40 }, (_, round) => `${which}-${round}`))
    for (const viewer of viewers) expect(all.filter((oid) => !folded.get(viewer)?.has(oid))).toEqual([])
    expect(await Promise.all(viewers.map((viewer) => stagedIn(store(), 3, viewer)))).toEqual(viewers.map(() => []))
    expect(await Promise.all(viewers.map((viewer) => isInRing(store(), 3, viewer, regions(), shape())))).toEqual(viewers.map(() => false))
    await stores[1]?.close()
  })

  it('exactly the viewers with staged plays are in the ring, for any interleaving of staging and folding', async () => {
    const stores = [store(), await another()]
    for (let round = 0; round < 40; round++) {
      const viewer = freshViewer()
      await stage(store(), 3, play(viewer, '1'))
      const [read] = await store().readStaged(3, [viewer])
      await Promise.all([
        stage(stores[round % 2] ?? store(), 3, play(viewer, round % 3 === 0 ? '1' : '2', AT + (round % 4))),
        (stores[(round + 1) % 2] ?? store()).removeStaged(3, [{ viewer, plays: read ?? [] }]),
      ])
      const left = await stagedIn(store(), 3, viewer)
      expect(await isInRing(store(), 3, viewer, regions(), shape()), `round ${round}`).toBe(left.length > 0)
    }
    await stores[1]?.close()
  })

  it('the plays that a call stages for a viewer are visible all at once', async () => {
    const viewer = freshViewer()
    const reader = await another()
    let done = false
    const sizes = new Set<number>()
    const reading = (async () => {
      for (; !done; await breath()) sizes.add((await reader.getSeen(viewer, 1)).staged.length)
    })()
    for (let round = 0; round < 10; round++) await stage(store(), 3, ...numbered(50, round * 50).map((oid) => play(viewer, oid)))
    done = true
    await reading
    expect([...sizes].filter((size) => size % 50 !== 0)).toEqual([])
    await reader.close()
  })
}
