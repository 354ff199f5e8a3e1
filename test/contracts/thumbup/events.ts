/**
 * The contract of the port for outgoing events, run unchanged by every adapter:
 *
 *     markEventsContract('kafka', async () => ({ events, reopen, dispose }))
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { countEventId, markEventId } from '../../../subgraphs/thumbup/persist/events.ts'
import type { CountEvent, EventConsumer, MarkEvent, MarkEvents } from '../../../subgraphs/thumbup/stores/events.ts'
import { until } from '../../../harness/until.ts'

export type OpenedMarkEvents = {
  events: MarkEvents
  /** Closes `events` and opens the same data again. */
  reopen(): Promise<MarkEvents>
  dispose(): Promise<void>
}

let given = 0
const fresh = (): number => ++given

function countEvent(oid: string, version: number, likes = version): CountEvent {
  return { id: countEventId({ business: 1, oid }, version), business: 1, oid, counts: { likes, dislikes: 0, version } }
}

function markEvent(viewer: string, version: number): MarkEvent {
  const key = { viewer, business: 2, oid: 'ä' }
  return { id: markEventId(key, version), ...key, old: 'LIKE', mark: 'DISLIKE', markedAt: 1_700_000_000_001, version }
}

export function markEventsContract(name: string, open: () => Promise<OpenedMarkEvents>): void {
  describe(`mark events contract: ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedMarkEvents
    let events: MarkEvents
    const consumers: EventConsumer[] = []
    beforeAll(async () => {
      opened = await open()
      events = opened.events
    })
    afterEach(async () => {
      for (const consumer of consumers.splice(0)) await consumer.stop()
    })
    afterAll(() => opened.dispose())

    /** A consumer of counts that remembers its events. The first `failures` calls fail. */
    async function takeCounts(group: string, failures = 0) {
      const seen: CountEvent[] = []
      let left = failures
      const consumer = await events.consumeCounts(group, async (some) => {
        if (left-- > 0) throw new Error('not now')
        seen.push(...some)
      })
      consumers.push(consumer)
      return { consumer, seen }
    }

    it('an event arrives unchanged in every group', async () => {
      const [first, second] = [await takeCounts(`g${fresh()}`), await takeCounts(`g${fresh()}`)]
      const marks: MarkEvent[] = []
      consumers.push(await events.consumeMarks(`g${fresh()}`, async (some) => void marks.push(...some)))
      const count = { ...countEvent('17', 3), counts: { likes: 2 ** 53 - 1, dislikes: 7, version: 2 ** 52 } }
      await events.appendEvents([markEvent('42', 2 ** 51)], [count])
      await until('all have it', () => first.seen.length + second.seen.length + marks.length === 3)
      expect(first.seen).toEqual([count])
      expect(second.seen).toEqual([count])
      expect(marks).toEqual([markEvent('42', 2 ** 51)])
    })

    it('a new group begins with the events appended from its start on', async () => {
      const oid = `old${fresh()}`
      await events.appendEvents([], [countEvent(oid, 1)])
      const { seen } = await takeCounts(`g${fresh()}`)
      await events.appendEvents([], [countEvent(oid, 2)])
      await until('the second came', () => seen.length > 0)
      expect(seen).toEqual([countEvent(oid, 2)])
    })

    it('a group resumes after a stop, even after the log was reopened', async () => {
      const [group, oid] = [`g${fresh()}`, `on${fresh()}`]
      const before = await takeCounts(group)
      await events.appendEvents([], [countEvent(oid, 1)])
      await until('the first came', () => before.seen.length === 1)
      await before.consumer.stop()
      await events.appendEvents([], [countEvent(oid, 2)])
      events = await opened.reopen()
      const after = await takeCounts(group)
      await until('the second came', () => after.seen.length > 0)
      expect(after.seen).toEqual([countEvent(oid, 2)])
    })

    it('a rejected event is delivered again, and nothing is skipped', async () => {
      const oid = `again${fresh()}`
      const { seen } = await takeCounts(`g${fresh()}`, 2)
      await events.appendEvents([], [countEvent(oid, 1), countEvent(oid, 2)])
      await events.appendEvents([], [countEvent(oid, 3)])
      await until('all came', () => seen.length >= 3)
      expect(seen.map(({ counts }) => counts.version)).toEqual([1, 2, 3])
    })

    it('events of one subject keep their order, even within one call', async () => {
      const oid = `order${fresh()}`
      const { seen } = await takeCounts(`g${fresh()}`)
      for (let call = 0; call < 5; call++) {
        await events.appendEvents(
          [],
          Array.from({ length: 40 }, (_, at) => countEvent(oid, 1 + call * 40 + at)),
        )
      }
      await until('all came', () => seen.length >= 200)
      expect(seen.map(({ counts }) => counts.version)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1))
    })

    it('reports how far it has read while events keep arriving', async () => {
      const { consumer } = await takeCounts(`g${fresh()}`)
      await until('it has begun', () => consumer.readUntil() > 0)
      const oid = `busy${fresh()}`
      for (let version = 1, end = Date.now() + 3_000; Date.now() < end; version++) {
        await events.appendEvents([], [countEvent(oid, version)])
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      expect(consumer.readUntil()).toBeGreaterThan(Date.now() - 2_000)
    })

    it('reports how far it has read, and stops at an event that a listener rejects', async () => {
      const { consumer } = await takeCounts(`g${fresh()}`)
      const begun = Date.now()
      await until('it has read until now', () => consumer.readUntil() >= begun)
      const stuck = await takeCounts(`g${fresh()}`, Number.POSITIVE_INFINITY)
      const appendedAt = Date.now()
      await events.appendEvents([], [countEvent(`stuck${fresh()}`, 1)])
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      expect(stuck.consumer.readUntil()).toBeLessThanOrEqual(appendedAt)
    })
  })
}
