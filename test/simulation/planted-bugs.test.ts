/**
 * Bugs that stores of this kind have had, planted into the model stores one at a time. The simulator must find each of them within 10,000
 * seeds, and nothing without them (`simulation.test.ts`).
 */
import { expect, it } from 'vitest'
import { simulate } from '../../harness/simulation/simulate.ts'
import type { MarkFaults } from '../../harness/simulation/thumbup/world.ts'
import type { SeenFaults } from '../../harness/simulation/feed-existence/world.ts'
import type { PlantedFaults } from '../../harness/simulation/history/world.ts'

const PLANTED: [string, PlantedFaults, RegExp][] = [
  ['committing offsets before the upsert', { commitsFirst: true }, /line 2/],
  ['clearing a dirty mark without checking its version', { clearsUnchecked: true }, /line [123]/],
  ['trimming what is dirty', { trimsDirty: true }, /line [123]/],
  ['believing a base that was overtaken while it was read', { believesOldBases: true }, /line [13]/],
  ['removing what is journaled before it is applied', { forgetsRead: true }, /line 6/],
  ['deleting and clearing without a look at what was trimmed', { forgetsFloor: true }, /line 3/],
  ['not saying up to when a clearing or a deletion reaches', { hidesVoid: true }, /line [37]/],
  ['taking what arrives after a clearing for newer than it', { takesLate: true }, /line [13]/],
]

for (const [name, faults, rule] of PLANTED) {
  it(`${name} is found within 10,000 seeds`, async () => {
    const { failure, seeds } = await simulate('history', { first: 1, seeds: 10_000, faults })
    expect(failure?.message).toMatch(rule)
    expect(failure?.history.length).toBeGreaterThan(10)
    console.log(`${name}: found at seed ${seeds}`)
  })
}

const PLANTED_IN_MARKS: [string, MarkFaults, RegExp][] = [
  ['committing offsets in the log before the step', { commitsFirst: true }, /^offsets/],
  ['moving offsets outside the transaction, before it', { movesOffsetsFirst: true }, /^offsets/],
  ['clearing dirty marks before the transaction', { clearsOnRead: true }, /^(quiet|shown|last write|transitions|seam|offsets)/],
  ['counting by increments instead of transitions', { increments: true }, /^(counts|owners)/],
  ['refreshing the cache without a look at versions', { ignoresVersions: true }, /^quiet: .* (cache|shown)/],
  ['clearing a dirty mark whose version has moved', { clearsUnchecked: true }, /^(quiet|shown|last write|transitions|seam|viewer)/],
  ['a fill that overwrites what is held', { fillOverwrites: true }, /^(offsets|quiet|shown|last write|transitions|seam|viewer)/],
  ['events dropped from the outbox before they are in the log', { forgetsOutbox: true }, /^(events|quiet)/],
  ['removing what is journaled before it is applied', { forgetsRead: true }, /^(a journal|quiet)/],
]

for (const [name, faults, rule] of PLANTED_IN_MARKS) {
  it(`marks: ${name} is found within 5,000 seeds`, async () => {
    const { failure, seeds } = await simulate('thumbup', { first: 1, seeds: 5_000, faults })
    expect(failure?.message).toMatch(rule)
    expect(failure?.history.length).toBeGreaterThan(10)
    console.log(`marks: ${name}: found at seed ${seeds}`)
  })
}

const PLANTED_IN_SEEN: [string, SeenFaults, RegExp][] = [
  ['removing what is staged before the filter is written', { removesOnRead: true }, /^(removal|comes back|filters)/],
  ['removing by the subject instead of exactly what was folded', { removesByKey: true }, /^(removal|comes back|filters|way back)/],
  ['writing a filter without a look at its version', { ignoresVersions: true }, /^(removal|comes back|filters)/],
  ['using filters in memory without the count of folds', { hidesFolds: true }, /^comes back/],
  ['a count of folds that is forgotten and begins anew', { restartsFolds: true }, /^comes back/],
  ['staging in the slot of the hour that was played in', { stagesByPlayedAt: true }, /^quiet/],
  ['taking who is folded in the current hour out of the ring, with what he has staged since', { dropsRing: true }, /^quiet/],
  ['filters that expire a month early', { expiresEarly: true }, /^(expiry|removal|comes back|filters)/],
  ['setting a damaged filter aside before it is made anew', { rebuildsLater: true }, /^(comes back|removal|filters)/],
  ['committing offsets before plays are staged', { commitsFirst: true }, /^log/],
  ['marking a viewer as migrated before his filters are written', { marksFirst: true }, /^(comes back|migrated)/],
  ['not staging what a viewer plays while he is listed', { skipsListed: true }, /^(comes back|migrated|way back)/],
  ['going on behind the viewer who was next when the command died', { resumesPast: true }, /^(listed|comes back|migrated)/],
  ['reading a legacy set by rank', { pagesByRank: true }, /^(comes back|migrated)/],
  ['a viewer who stays marked though a filter of his is made anew', { keepsMarks: true }, /^(comes back|migrated)/],
  ['writing back an older time over a newer one', { overwritesTimes: true }, /^way back/],
]

for (const [name, faults, rule] of PLANTED_IN_SEEN) {
  it(`seen: ${name} is found within 2,000 seeds`, async () => {
    const { failure, seeds } = await simulate('existence', { first: 1, seeds: 2_000, faults })
    expect(failure?.message).toMatch(rule)
    expect(failure?.history.length).toBeGreaterThan(10)
    console.log(`seen: ${name}: found at seed ${seeds}`)
  })
}
