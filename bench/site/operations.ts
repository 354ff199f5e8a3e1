/**
 * The calls of viewers of a large site, and their rates. The numbers are those of one active viewer on one day:
 *
 * - The defaults of `tidemark plan`: 60 minutes watched with a report every 15 s.
 * - The pages with states follow from the ratio of published figures of large sites, 300,000 lookups and 15,000 writes a second: 20 lookups of
 *   states per write. A page of 50 videos has 150.
 * - A recommender asks `unseen` for 2,000 candidates, and records the 20 videos that it serves. It does this for each fourth page.
 * - The rest is rare: pages of the home feed and of the history, likes, follows and posts.
 *
 * A lookup is one asked key: one field of one subject, one candidate of `unseen`, or one head of a page of the home feed. A head has the newest
 * posts of one followed user, and comes through the caches. The three kinds are counted apart, because they cost very different amounts.
 */
import { OPERATIONS as FEED } from '../feed/operations.ts'
import type { Timed } from '../support/open-loop.ts'
import { persisted } from '../support/persisted.ts'

export const LISTED = 50
const HISTORY_LISTED = 10
export const CANDIDATES = 2_000
/** The scope of a recommender, which may send so many. */
export const BULK = 'existence:bulk'
export const ISSUED = 20
/** Users that a viewer of home feeds follows. */
export const FOLLOWED = 300
const STATES_OF_HOME_PAGE = 20 * 5

const STATES = 'viewerProgress { position } viewerMark likeCount'

export type Lookups = { states?: number; candidates?: number; heads?: number }
export type Kind = { perDay: number; text: string; writes: 0 | 1; lookups: Lookups }

export const KINDS = {
  report: {
    perDay: 240,
    text: 'mutation SiteReport($input: ReportProgressInput!) { reportProgress(input: $input) { outcome userErrors { code } } }',
    writes: 1,
    lookups: {},
  },
  list: {
    perDay: 32,
    text: `query SiteList($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id ${STATES} } }`,
    writes: 0,
    lookups: { states: LISTED * 3 },
  },
  unseen: {
    perDay: 8,
    text: 'query SiteUnseen($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }',
    writes: 0,
    lookups: { candidates: CANDIDATES },
  },
  issued: {
    perDay: 8,
    text: 'mutation SiteIssued($ids: [ID!]!) { recordIssued(input: { business: "video", ids: $ids }) { recorded } }',
    writes: 1,
    lookups: {},
  },
  history: {
    perDay: 4,
    text: `query SiteHistory { viewerHistory(first: ${HISTORY_LISTED}) { edges { viewedAt node { id ${STATES} } } pageInfo { endCursor } } }`,
    writes: 0,
    lookups: { states: HISTORY_LISTED * 3 },
  },
  home: { perDay: 4, text: FEED.Home, writes: 0, lookups: { states: STATES_OF_HOME_PAGE, heads: FOLLOWED } },
  like: {
    perDay: 4,
    text: 'mutation SiteLike($id: ID!) { setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome userErrors { code } } }',
    writes: 1,
    lookups: {},
  },
  follow: { perDay: 0.5, text: FEED.Follow, writes: 1, lookups: {} },
  publish: { perDay: 0.2, text: FEED.Publish, writes: 1, lookups: {} },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as KindName[]

/** `acknowledged`: called with a whole answer. `failed`: called if there is none. */
export type SiteRequest = Timed & { kind: KindName; acknowledged?(answer: string): void; failed?(): void }
export type SiteCall = Omit<SiteRequest, 'atMs' | 'kind'>

const ALL_PER_DAY = KIND_NAMES.reduce((sum, name) => sum + KINDS[name].perDay, 0)

/** The part of all calls, from 0 to 1. */
export function shareOf(name: KindName): number {
  return KINDS[name].perDay / ALL_PER_DAY
}

/** A kind for a random number from 0 to 1. */
export function kindAt(random: number): KindName {
  let left = random * ALL_PER_DAY
  for (const name of KIND_NAMES) {
    left -= KINDS[name].perDay
    if (left < 0) return name
  }
  return 'report'
}

/** Of this many calls of each kind. */
export function countsOf(calls: (name: KindName) => number): Required<Lookups> & { writes: number } {
  const sums = { writes: 0, states: 0, candidates: 0, heads: 0 }
  for (const name of KIND_NAMES) {
    const { writes, lookups }: Kind = KINDS[name]
    sums.writes += calls(name) * writes
    sums.states += calls(name) * (lookups.states ?? 0)
    sums.candidates += calls(name) * (lookups.candidates ?? 0)
    sums.heads += calls(name) * (lookups.heads ?? 0)
  }
  return sums
}

export const BODIES = Object.fromEntries(KIND_NAMES.map((name) => [name, persisted(KINDS[name].text)])) as Record<
  KindName,
  ReturnType<typeof persisted>
>

/** A whole answer of a kind has this text so many times. */
const SIGNS: Record<KindName, { text: string; count: number }> = {
  report: { text: '"ACCEPTED"', count: 1 },
  list: { text: '"viewerMark"', count: LISTED },
  unseen: { text: '"ids":["', count: 1 },
  issued: { text: '"recorded":true', count: 1 },
  history: { text: '"viewerMark"', count: HISTORY_LISTED },
  home: { text: '"viewerSeen"', count: 20 },
  like: { text: '"ACCEPTED"', count: 1 },
  follow: { text: 'CHANGED"', count: 1 },
  publish: { text: '"createdAt"', count: 1 },
}

/** Throws if the answer lacks something. */
export function checkAnswer(name: KindName, answer: string): void {
  const { text, count } = SIGNS[name]
  const found = count === 1 ? Number(answer.includes(text)) : answer.split(text).length - 1
  if (found !== count) throw new Error(`${name}: ${found} of ${count} times ${text} in the answer ${answer.slice(0, 300)}`)
}
