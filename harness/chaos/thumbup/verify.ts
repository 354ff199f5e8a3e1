/**
 * The checks after quiet. States, counts, likes, likers and owner sums of the API are compared with a recount of the sent marks. Rows and
 * counts of the record store are checked, then the count cache against the record store, then the outgoing events.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { CountCache } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { reconcileWhole } from '../../../subgraphs/thumbup/persist/whole-reconciliation.ts'
import type { Role } from '../../deployment/role.ts'
import { call, type Call } from '../calls.ts'
import { gapsOfCounts, gapsOfMarks, readEvents } from './events.ts'
import { finalOf, recount, type Ledger } from './ledger.ts'
import { BUSINESS } from './writer-options.ts'
import { chunked } from '../../../stores/chunks.ts'

export type MarkVerification = {
  /** Sentences. Empty if no acknowledged mark is lost, stale, or counted wrongly. */
  losses: string[]
  /** Sentences about subjects and owners with counts that differ from their rows. */
  drift: string[]
  /** Sentences about cached counts and sums that differ from the record store. */
  cache: string[]
  /** Sentences about transitions, and versions of counts, without an event. */
  gaps: string[]
  keys: number
  rows: number
  recounted: number
  events: number
  repeatedEvents: number
  archived: number
}

const NUMBER = 1
const IDS_MAX = 200
const CALLS_AT_ONCE = 4
const ASK_MAX_MS = 30_000
const AGAIN_MS = 200
/** The default of `thumbup.hotTtlMs`: the counts of a hot subject may be this old. */
const HOT_TTL_MS = 1_000

const STATES = `query ($ids: [ID!]!) { subjects(business: "${BUSINESS}", ids: $ids) { id viewerMark likeCount dislikeCount } }`
const LIKES = `query ($after: String) { thumbupUser { likes(business: "${BUSINESS}", first: 100, after: $after) {
  edges { markedAt node { id } } pageInfo { hasNextPage endCursor } } } }`
const LIKERS = `query ($ids: [ID!]!, $after: String) { subjects(business: "${BUSINESS}", ids: $ids) {
  likers(first: 100, after: $after) { edges { markedAt node { id } } pageInfo { hasNextPage endCursor } } } }`
const RECEIVED = `query ($id: ID!) { thumbupUser(id: $id) { likesReceived(business: "${BUSINESS}") } }`

type PageInfo = { hasNextPage: boolean; endCursor: string | null }
type State = { id: string; viewerMark: string; likeCount: number; dislikeCount: number }
type Listed = { id: string; markedAt: number }

export async function verifyMarks(
  gateways: readonly Role[],
  stores: OpenStores,
  ledger: Ledger,
  kafka: { brokers: readonly string[]; topicPrefix: string },
): Promise<MarkVerification> {
  const { records, cache } = stores.marks
  const losses = await lossesShown(gateways, ledger)
  const { keys, rows, losses: lossesOfRows } = await verifyRows(records, ledger)
  losses.push(...lossesOfRows)
  const expected = recount(ledger)

  const drift: string[] = []
  let recounted = 0
  for await (const page of reconcileWhole(records, NUMBER)) {
    recounted += page.subjects + page.owners
    drift.push(...[...page.drift, ...page.ownerDrift].map((each) => JSON.stringify(each)))
  }

  const subjects = Array.from(expected.subjects.keys(), (oid) => ({ business: NUMBER, oid }))
  const counted = await records.getCountsMany(subjects)
  const differences = await differencesOfCache(records, cache, subjects, counted, [...expected.owners.keys()])
  const events = await readEvents(kafka.brokers, kafka.topicPrefix)
  const marks = new Map(keys.map((key, place) => [keyText(key), rows[place]?.mark ?? 'NONE']))
  const versions = new Map(subjects.map(({ business, oid }, place) => [`${business}:${oid}`, counted[place]?.version ?? 0]))
  const { archived } = await records.measureMarks()
  return {
    losses,
    drift,
    cache: differences,
    gaps: [...gapsOfMarks(events.marks, marks), ...gapsOfCounts(events.counts, versions)],
    keys: keys.length,
    rows: rows.filter((row) => row !== undefined).length,
    recounted,
    events: events.marks.length,
    repeatedEvents: events.repeated,
    archived,
  }
}

/** Marks, lists and counts as the gateways show them. */
export async function lossesShown(gateways: readonly Role[], ledger: Ledger): Promise<string[]> {
  const losses: string[] = []
  await sleep(HOT_TTL_MS)
  await verifyShown(gateways, ledger, recount(ledger), losses)
  return losses
}

/** Marks in the record store. */
export async function verifyRows(records: MarkRecords, ledger: Ledger) {
  const entries = ledger.entries()
  const keys = entries.map(({ viewer, oid }) => ({ viewer, business: NUMBER, oid }))
  const rows = await records.getMarkMany(keys)
  const losses = entries.flatMap((entry, place) => {
    const [last, row] = [finalOf(entry), rows[place]]
    if (row?.mark === last?.mark && row?.markedAt === last?.markedAt) return []
    const words = `${JSON.stringify(last)} was acknowledged, ${JSON.stringify(row)} is stored`
    return [`record store: viewer ${entry.viewer}, subject ${entry.oid}: ${words}`]
  })
  return { keys, rows, losses }
}

async function verifyShown(
  gateways: readonly Role[],
  ledger: Ledger,
  expected: ReturnType<typeof recount>,
  losses: string[],
): Promise<void> {
  const subjects = [...expected.subjects.keys()]
  let calls = 0
  const gateway = (): Role => gateways[calls++ % gateways.length] as Role
  await each(ledger.viewers(), async (viewer) => {
    const entries = ledger.entriesOf(viewer)
    for (const some of chunked(entries, IDS_MAX)) {
      const shown = await readStates(
        gateway(),
        viewer,
        some.map(({ oid }) => oid),
      )
      some.forEach((entry, place) => {
        const { mark } = finalOf(entry) ?? { mark: 'NONE' }
        if (shown[place]?.viewerMark !== mark)
          losses.push(`viewer ${viewer}, subject ${entry.oid}: ${mark} was acknowledged, ${shown[place]?.viewerMark} is shown`)
      })
    }
    const wanted = entries.flatMap((entry) =>
      finalOf(entry)?.mark === 'LIKE' ? [{ id: entry.oid, markedAt: finalOf(entry)?.markedAt as number }] : [],
    )
    compareLists(
      `the likes of viewer ${viewer}`,
      await readLikes(gateway(), viewer),
      wanted.sort((a, b) => b.markedAt - a.markedAt),
      losses,
    )
  })
  await each(chunked(subjects, IDS_MAX), async (ids) => {
    for (const { id, likeCount, dislikeCount } of await readStates(gateway(), 'nobody', ids)) {
      const wanted = expected.subjects.get(id)
      if (likeCount !== wanted?.likes || dislikeCount !== wanted.dislikes)
        losses.push(
          `subject ${id}: counts of ${likeCount} and ${dislikeCount} are shown, ${wanted?.likes} and ${wanted?.dislikes} were given`,
        )
    }
  })
  await each(subjects, async (oid) => {
    compareLists(`the likers of subject ${oid}`, await readLikers(gateway(), oid), expected.subjects.get(oid)?.likers ?? [], losses)
  })
  await each([...expected.owners], async ([owner, likes]) => {
    const { thumbupUser } = await ask<{ thumbupUser: { likesReceived: number } }>(gateway(), 'nobody', RECEIVED, { id: owner })
    if (thumbupUser.likesReceived !== likes)
      losses.push(`owner ${owner}: ${thumbupUser.likesReceived} likes received are shown, ${likes} were given`)
  })
}

/** Sentences about cached counts and sums that differ from the record store. The cache may lack any of them. */
async function differencesOfCache(
  records: MarkRecords,
  cache: CountCache,
  subjects: readonly Subject[],
  counted: readonly SubjectCounts[],
  ownerIds: readonly ViewerId[],
): Promise<string[]> {
  const owners = ownerIds.map((owner) => ({ business: NUMBER, owner }))
  const cached = await cache.getCountsMany(subjects)
  const sums = await records.getOwnerSums(owners)
  const cachedSums = await cache.getOwnerSums(owners)
  return [
    ...subjects.map(({ oid }, place) => ({ name: `subject ${oid}`, cached: cached[place], stored: counted[place] })),
    ...owners.map(({ owner }, place) => ({ name: `owner ${owner}`, cached: cachedSums[place], stored: sums[place] })),
  ]
    .filter((pair) => pair.cached !== undefined && !isSame(pair.cached, pair.stored))
    .map((pair) => `${pair.name}: ${JSON.stringify(pair.cached)} is cached, ${JSON.stringify(pair.stored)} is stored`)
}

/** A few at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: CALLS_AT_ONCE }, async () => {
      while (next < items.length) await work(items[next++] as T)
    }),
  )
}

/** Repeats a degraded answer, because a store may have just recovered. */
async function ask<Data>(gateway: Role, viewer: string, query: string, variables: object): Promise<Data> {
  for (const deadline = Date.now() + ASK_MAX_MS; ; await sleep(AGAIN_MS)) {
    const { end }: Call<Data> = await call<Data>(gateway, 'verify', viewer, query, variables)
    if (end.kind !== 'answered') throw new Error(`after the load a call is not answered: ${JSON.stringify(end)}`)
    if (end.degraded.size === 0) return end.data
    if (Date.now() > deadline) throw new Error(`after the load the answers still lack ${[...end.degraded].join(', ')}`)
  }
}

async function readStates(gateway: Role, viewer: string, ids: readonly string[]): Promise<State[]> {
  return (await ask<{ subjects: State[] }>(gateway, viewer, STATES, { ids })).subjects
}

async function readLikes(gateway: Role, viewer: string): Promise<Listed[]> {
  return readPages(async (after) => {
    type Page = { thumbupUser: { likes: { edges: { markedAt: number; node: { id: string } }[]; pageInfo: PageInfo } } }
    const { edges, pageInfo } = (await ask<Page>(gateway, viewer, LIKES, { after })).thumbupUser.likes
    return { entries: edges.map(({ node, markedAt }) => ({ id: node.id, markedAt })), pageInfo }
  })
}

async function readLikers(gateway: Role, oid: string): Promise<Listed[]> {
  return readPages(async (after) => {
    type Page = { subjects: [{ likers: { edges: { markedAt: number; node: { id: string } }[]; pageInfo: PageInfo } }] }
    const { edges, pageInfo } = (await ask<Page>(gateway, 'nobody', LIKERS, { ids: [oid], after })).subjects[0].likers
    return { entries: edges.map(({ node, markedAt }) => ({ id: node.id, markedAt })), pageInfo }
  })
}

async function readPages(read: (after: string | null) => Promise<{ entries: Listed[]; pageInfo: PageInfo }>): Promise<Listed[]> {
  const all: Listed[] = []
  for (let after: string | null = null; ;) {
    const { entries, pageInfo } = await read(after)
    all.push(...entries)
    if (!pageInfo.hasNextPage) return all
    after = pageInfo.endCursor
  }
}

function compareLists(name: string, actual: readonly Listed[], wanted: readonly Listed[], losses: string[]): void {
  const differs = wanted.findIndex(({ id, markedAt }, place) => actual[place]?.id !== id || actual[place].markedAt !== markedAt)
  if (differs < 0 && actual.length === wanted.length) return
  const place = differs < 0 ? wanted.length : differs
  losses.push(`${name}: entry ${place} is ${JSON.stringify(actual[place])} instead of ${JSON.stringify(wanted[place])}`)
}

function isSame(cached: object, stored: object | undefined): boolean {
  const values = stored as Record<string, unknown> | undefined
  return Object.entries(cached).every(([name, value]) => values?.[name] === value)
}
