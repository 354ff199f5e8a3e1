/** The generated social graph and its traffic have the stated laws, and are the same for the same seed. */
import { expect, test } from 'vitest'
import { makeSocialGraph } from '../../harness/samples/social/graph.ts'
import { loadAt, makeTraffic, type Visit } from '../../harness/samples/social/traffic.ts'

const GRAPH = { seed: 7, users: 20_000, followsMin: 20, followsMax: 2_000 }
const EVENT = { atMs: 20_000, untilMs: 40_000, share: 0.01 }
const TRAFFIC = { seed: 3, users: 1_000, posts: 10_000, durationMs: 60_000, perSecond: 500, event: EVENT }

test('a user follows the same users whenever they are drawn, in any order', () => {
  const one = makeSocialGraph(GRAPH)
  const other = makeSocialGraph(GRAPH)
  other.followsOf(99)
  expect(other.followsOf(5)).toEqual(one.followsOf(5))
  expect(makeSocialGraph({ ...GRAPH, seed: 8 }).followsOf(5)).not.toEqual(one.followsOf(5))
})

test('nobody follows themselves, nobody twice, and counts stay between their bounds', () => {
  const { followsOf } = makeSocialGraph(GRAPH)
  for (let user = 0; user < 500; user++) {
    const follows = followsOf(user)
    expect(new Set(follows).size).toBe(follows.length)
    expect(follows).not.toContain(user)
    expect(follows.length).toBeGreaterThanOrEqual(GRAPH.followsMin)
    expect(follows.length).toBeLessThanOrEqual(GRAPH.followsMax)
  }
})

test('follow counts have a long tail, and 1% of the users have more than a fifth of the followers', () => {
  const { followsOf } = makeSocialGraph(GRAPH)
  const lists = Array.from({ length: 2_000 }, (_, user) => followsOf(user))
  const counts = lists.map(({ length }) => length).sort((a, b) => a - b)
  const median = counts[1_000] as number
  expect(counts.at(-1)).toBeGreaterThan(10 * median)
  const popular = lists.reduce((sum, list) => sum + list.filter((user) => user < GRAPH.users / 100).length, 0)
  expect(popular / counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0.2)
})

test('a viewer who follows nearly everybody is drawn in bounded time', () => {
  expect(makeSocialGraph({ seed: 1, users: 101, followsMin: 100, followsMax: 100 }).followsOf(0)).toHaveLength(100)
})

test('the rate of visits doubles at the event and falls back after it', () => {
  const visits = [...makeTraffic(TRAFFIC)]
  const between = (from: number, until: number) => visits.filter(({ atMs }) => atMs >= from && atMs < until).length / (until - from)
  const before = between(0, 20_000)
  expect(between(21_000, 40_000) / before).toBeCloseTo(2, 1)
  expect(between(40_000, 60_000) / before).toBeCloseTo(1, 1)
  expect(loadAt(20_500, EVENT)).toBe(1.5)
})

test('half of the reads during the event, or more, go to 1% of the posts', () => {
  const isRead = (visit: Visit): visit is Extract<Visit, { kind: 'read' }> => visit.kind === 'read'
  const reads = [...makeTraffic({ ...TRAFFIC, posts: 100_000 })].filter(isRead)
  const shareOf = (some: typeof reads) => some.filter(({ post }) => post < 1_000).length / some.length
  const isDuring = ({ atMs }: Visit) => atMs >= EVENT.atMs && atMs < EVENT.untilMs
  const before = shareOf(reads.filter((visit) => !isDuring(visit)))
  expect(shareOf(reads.filter(isDuring))).toBeCloseTo(0.5 + before / 2, 1)
})

test('the same seed gives the same visits in order of time', () => {
  const visits = [...makeTraffic(TRAFFIC)]
  expect([...makeTraffic(TRAFFIC)]).toEqual(visits)
  expect(visits.every(({ atMs }, at) => at === 0 || atMs >= (visits[at - 1] as Visit).atMs)).toBe(true)
})
