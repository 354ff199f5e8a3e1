import fc from 'fast-check'
import { expect, it } from 'vitest'
import { flowOf } from '../../../cli/plan/flow.ts'
import { makeConfig } from '../../../config/config.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'

const configOf = (flushKeysMax: number, flushAgeMaxMs: number, regions: number) =>
  makeConfig([{ name: 'test', values: { history: { flushKeysMax, flushAgeMaxMs, sweepAfterMs: flushAgeMaxMs * 5 }, stores: { regions } } }])

type Site = { watching: number; heartbeatMs: number; gateways: number; flushKeysMax: number; windowMs: number; regions: number }

/** Players report one by one to random gateways, which collect keys as the aggregator does. */
function simulate({ watching, heartbeatMs, gateways, flushKeysMax, windowMs, regions }: Site, seconds: number, seed: number) {
  const random = seededRandom(seed)
  const begunAt = Array.from({ length: watching }, () => randomBelow(random, heartbeatMs))
  const held = new Map<number, { keys: Set<number>; since: number }>()
  let [messages, rows] = [0, 0]
  const order = begunAt.map((_, viewer) => viewer).sort((a, b) => (begunAt[a] as number) - (begunAt[b] as number))
  for (let round = 0; round * heartbeatMs < seconds * 1_000; round++) {
    for (const viewer of order) {
      const now = round * heartbeatMs + (begunAt[viewer] as number)
      const place = randomBelow(random, gateways) * regions + (viewer % regions)
      let open = held.get(place)
      if (open !== undefined && now - open.since >= windowMs) {
        messages++
        rows += open.keys.size
        open = undefined
      }
      open ??= { keys: new Set(), since: now }
      held.set(place, open)
      open.keys.add(viewer)
      if (open.keys.size < flushKeysMax) continue
      messages++
      rows += open.keys.size
      held.delete(place)
    }
  }
  return { messagesPerSecond: messages / seconds, rowsPerSecond: rows / seconds }
}

it.each<Site>([
  { watching: 2_000, heartbeatMs: 15_000, gateways: 1, flushKeysMax: 500, windowMs: 60_000, regions: 100 },
  { watching: 2_000, heartbeatMs: 15_000, gateways: 4, flushKeysMax: 500, windowMs: 60_000, regions: 100 },
  { watching: 5_000, heartbeatMs: 15_000, gateways: 2, flushKeysMax: 20, windowMs: 60_000, regions: 100 },
  { watching: 1_000, heartbeatMs: 10_000, gateways: 8, flushKeysMax: 500, windowMs: 5_000, regions: 50 },
  { watching: 100, heartbeatMs: 15_000, gateways: 3, flushKeysMax: 500, windowMs: 60_000, regions: 100 },
])('rates of messages and rows are those of simulated players: %o', (site) => {
  const { watching, heartbeatMs, gateways, flushKeysMax, windowMs, regions } = site
  const reports = (watching * 1_000) / heartbeatMs
  const planned = flowOf({ reports, watching }, gateways, configOf(flushKeysMax, windowMs, regions))
  const simulated = simulate(site, 1_800, 1)
  expect(Math.abs(planned.messagesPerSecond / simulated.messagesPerSecond - 1)).toBeLessThan(0.15)
  expect(Math.abs(planned.rowsPerSecond / simulated.rowsPerSecond - 1)).toBeLessThan(0.15)
})

it('a row stands for one report at least, and a message has one key at least', () => {
  const whole = (max: number) => fc.integer({ min: 1, max })
  fc.assert(
    fc.property(whole(5_000_000), whole(600), whole(200), whole(5_000), whole(120_000), (watching, heartbeat, gateways, keysMax, ageMs) => {
      const flow = flowOf({ reports: watching / heartbeat, watching }, gateways, configOf(keysMax, ageMs, 100))
      expect(flow.collapse).toBeGreaterThan(0.99)
      expect(flow.keysPerMessage).toBeGreaterThanOrEqual(1)
      expect(flow.keysPerMessage).toBeLessThanOrEqual(Math.max(1, keysMax))
      expect(flow.windowSeconds * 1_000).toBeLessThanOrEqual(ageMs + 1e-6)
    }),
    { numRuns: 300 },
  )
})

it('a site without reports writes nothing', () => {
  expect(flowOf({ reports: 0, watching: 0 }, 3, configOf(500, 60_000, 100))).toMatchObject({ rowsPerSecond: 0, messagesPerSecond: 0 })
})
