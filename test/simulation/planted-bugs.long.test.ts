/**
 * Bugs that stores and services of this kind have had, planted one at a time. The simulator must find each of them within 10,000
 * seeds, and nothing without them (`simulation.long.test.ts`). A search may begin at a later seed, because the first seeds do not find that
 * bug and take long, or show it by another rule.
 */
import { expect, it } from 'vitest'
import { simulate } from '../../harness/simulation/simulate.ts'
import type { FeedFaults } from '../../harness/simulation/feed/world.ts'
import type { MarkFaults } from '../../harness/simulation/thumbup/world.ts'
import type { SeenFaults } from '../../harness/simulation/feed-existence/world.ts'
import type { PlantedFaults } from '../../harness/simulation/history/world.ts'

const PLANTED: [string, PlantedFaults, RegExp, first?: number][] = [
  ['committing offsets before the upsert', { commitsFirst: true }, /line 2/],
  ['clearing a dirty mark without checking its version', { clearsUnchecked: true }, /line [123]/],
  ['trimming dirty entries', { trimsDirty: true }, /line [123]/],
  ['believing a base that was overtaken while it was read', { believesOldBases: true }, /line [13]/, 450],
  ['removing journal entries before they are applied', { forgetsRead: true }, /line 6/],
  ['deleting and clearing without considering trimmed entries', { forgetsFloor: true }, /line 3/],
  ['not saying up to when a clearing or a deletion reaches', { hidesVoid: true }, /line [37]/],
  ['treating every arrival after a clearing as newer than the clearing', { takesLate: true }, /line [13]/],
]

for (const [name, faults, rule, first = 1] of PLANTED) {
  it(`${name} is found within 10,000 seeds`, async () => {
    const { failure, seeds } = await simulate('history', { first, seeds: 10_000, faults })
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
  ['clearing a dirty mark whose version has changed', { clearsUnchecked: true }, /^(quiet|shown|last write|transitions|seam|viewer)/],
  ['a fill that overwrites held marks', { fillOverwrites: true }, /^(offsets|quiet|shown|last write|transitions|seam|viewer)/],
  ['events dropped from the outbox before they are in the log', { forgetsOutbox: true }, /^(events|quiet)/],
  ['removing journal entries before they are applied', { forgetsRead: true }, /^(a journal|quiet)/],
]

for (const [name, faults, rule] of PLANTED_IN_MARKS) {
  it(`marks: ${name} is found within 5,000 seeds`, async () => {
    const { failure, seeds } = await simulate('thumbup', { first: 1, seeds: 5_000, faults })
    expect(failure?.message).toMatch(rule)
    expect(failure?.history.length).toBeGreaterThan(10)
    console.log(`marks: ${name}: found at seed ${seeds}`)
  })
}

const PLANTED_IN_SEEN: [string, SeenFaults, RegExp, first?: number][] = [
  ['removing staged plays before the filter is written', { removesOnRead: true }, /^(removal|comes back|filters)/],
  ['removing all plays of a subject instead of exactly the folded ones', { removesByKey: true }, /^(removal|comes back|filters|way back)/],
  ['writing a filter without a look at its version', { ignoresVersions: true }, /^(removal|comes back|filters)/],
  ['using filters in memory without the count of folds', { hidesFolds: true }, /^comes back/],
  ['a fold count that is forgotten and starts again', { restartsFolds: true }, /^comes back/],
  ['staging in the slot of the hour that was played in', { stagesByPlayedAt: true }, /^(quiet|writes)/],
  ['removing a viewer folded in the current hour from the ring, with plays staged since', { dropsRing: true }, /^quiet/],
  ['filters that expire a month early', { expiresEarly: true }, /^(expiry|removal|comes back|filters)/],
  ['quarantining a damaged filter before it is rebuilt', { rebuildsLater: true }, /^(comes back|removal|filters)/],
  ['committing offsets before plays are staged', { commitsFirst: true }, /^log/],
  ['marking a viewer as migrated before the filters are written', { marksFirst: true }, /^(comes back|migrated)/],
  ['not staging plays of a listed viewer', { skipsListed: true }, /^(comes back|migrated|way back)/],
  ['resuming behind the next viewer after the command died', { resumesPast: true }, /^(listed|comes back|migrated)/],
  ['reading a legacy set by rank', { pagesByRank: true }, /^(comes back|migrated)/],
  ['a viewer who stays marked although one of the filters is rebuilt', { keepsMarks: true }, /^(comes back|migrated)/],
  ['writing back an older time over a newer one', { overwritesTimes: true }, /^way back/, 2],
]

for (const [name, faults, rule, first = 1] of PLANTED_IN_SEEN) {
  it(`seen: ${name} is found within 2,000 seeds`, async () => {
    const { failure, seeds } = await simulate('existence', { first, seeds: 2_000, faults })
    expect(failure?.message).toMatch(rule)
    expect(failure?.history.length).toBeGreaterThan(10)
    console.log(`seen: ${name}: found at seed ${seeds}`)
  })
}

const PLANTED_IN_FEED: [string, FeedFaults, RegExp, first?: number][] = [
  ['a page that does not ask for changes', { asksNothing: true }, /^(missing|deleted|followed|words|scroll)/],
  ['a page that joins a question which began before it', { joinsQuestions: true }, /^(missing|deleted|followed|words|scroll)/, 125],
  ['a request that uses an answer from before it', { keepsAnswers: true }, /^(missing|deleted)/],
  ['a cached value with a version above its contents', { stampsHigh: true }, /^(missing|deleted|followed|words|scroll)/],
  ['tombstones of the hot store that are no answer', { ignoresTombstones: true }, /^deleted/],
  ['additions of the hot store that are not read', { ignoresAdditions: true }, /^(missing|scroll)/],
  ['a deletion that is not noted among the changes', { hidesDeletions: true }, /^deleted/],
  ['a cursor that is inclusive', { includesCursor: true }, /^scroll/],
  ['posts that are shown without a look at their audience', { ignoresAudiences: true }, /^audience/],
  ['marks that are shown without a look at the audience of their post', { asksNoAudience: true }, /^audience/],
  ['a list of the record store that ends too early', { endsLists: true }, /^(missing|scroll)/],
  ['an outage of the record store that an answer does not name', { hidesOutages: true }, /^(missing|scroll|deleted|words|healthy)/, 450],
  ['a longset that is stored although a follow happened since its lease', { fillsLate: true }, /^(missing|followed|lists|scroll)/],
  ['a longset that is forgotten only before the follow', { forgetsFirst: true }, /^(missing|followed|lists|scroll)/, 125],
  ['a client key that is forgotten', { forgetsKeys: true }, /^key/],
  ['a dirty mark that is cleared at a newer version', { clearsUnchecked: true }, /^quiet/, 280],
  ['an inbox that the persist step does not repair', { repairsNoInbox: true }, /^(missing|scroll)/, 120],
  ['an event that counts each time it comes', { countsAgain: true }, /^counts/],
]

for (const [name, faults, rule, first = 1] of PLANTED_IN_FEED) {
  it(`feed: ${name} is found within 5,000 seeds`, async () => {
    const { failure, seeds } = await simulate('feed', { first, seeds: 5_000, faults })
    expect(failure?.message).toMatch(rule)
    expect(failure?.history.length).toBeGreaterThan(10)
    console.log(`feed: ${name}: found at seed ${seeds}`)
  })
}
