/** A continuous writer that remembers acknowledged reports, for checks after a test broke something. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { report, write, writtenRecord } from '../../contracts/reports.ts'

export type Load = { stop(): Promise<LoadReport>; acknowledgements(): number }
export type LoadReport = { acknowledged: Map<string, number>; failures: unknown[]; slowestMs: number }

const VIEWERS = 60
const TIMELINE_CAP = 100

/** Four concurrent writers. Each call has one report of each of twelve viewers, and the position of a viewer only grows. */
export function startLoad(store: HotStore, name: string): Load {
  const acknowledged = new Map<string, number>()
  const failures: unknown[] = []
  let slowestMs = 0
  let position = 0
  let running = true

  async function writer(first: number): Promise<void> {
    for (let turn = first; running; turn += 4) {
      position += 1
      const sent = position
      const now = Date.now()
      const viewers = Array.from({ length: 12 }, (_, index) => `${name}-${first}-${(turn * 12 + index) % (VIEWERS / 4)}`)
      const started = performance.now()
      try {
        const outcomes = await store.putProgress(
          [...new Set(viewers)].map((viewer) => write(viewer, 'x', report(now, { position: sent }))),
          { now, timelineCap: TIMELINE_CAP },
        )
        outcomes.forEach((outcome, index) => acknowledged.set(viewers[index] as string, writtenRecord(outcome).position))
      } catch (error) {
        failures.push(error)
      }
      slowestMs = Math.max(slowestMs, performance.now() - started)
      await sleep(1)
    }
  }

  const writers = [0, 1, 2, 3].map(writer)
  return {
    acknowledgements: () => position,
    async stop() {
      running = false
      await Promise.all(writers)
      return { acknowledged, failures, slowestMs }
    },
  }
}

/** The last acknowledged report of every viewer is readable, in the timeline, and dirty. */
export async function expectNothingLost(store: HotStore, regions: number, { acknowledged }: LoadReport): Promise<void> {
  const viewers = [...acknowledged.keys()]
  expect(viewers.length).toBeGreaterThan(20)
  const lookups = await store.getProgressMany(viewers.map((viewer) => ({ viewer, business: 1, oid: 'x' })))
  // A failed report may have been stored: at least the acknowledged ones must be there.
  const lost = viewers.filter((viewer, index) => (lookups[index]?.record?.position ?? -1) < (acknowledged.get(viewer) ?? 0))
  expect(lost).toEqual([])
  for (const viewer of viewers.slice(0, 10)) expect((await store.listTimeline(viewer, [1], undefined, 10)).entries).toHaveLength(1)
  const dirty = await store.listDirty([...Array(regions).keys()], Date.now() + 60_000, 100_000)
  const marked = new Set(dirty.map((key) => key.viewer))
  expect(viewers.filter((viewer) => !marked.has(viewer))).toEqual([])
}
