/**
 * The independent reference of `replay --marks`: a recount of the file, by last write wins, is compared with the answers of the API. It
 * shares no code with the service.
 */
import { callForWhole } from '../../conformance/api-client.ts'
import { credentialsOf } from './batch-sender.ts'
import { ownerOf, type WireMark } from './marks-of-rows.ts'
import type { ReplayOptions } from './options.ts'
import { chunked } from '../../stores/chunks.ts'

type Liked = { id: string; markedAt: number }
type Expected = {
  /** viewer → subject → mark. */
  marks: Map<string, Map<string, WireMark>>
  subjects: Map<string, { likes: number; dislikes: number; likers: Liked[] }>
  owners: Map<string, number>
}

type Options = Pick<ReplayOptions, 'url' | 'concurrency' | 'token' | 'business'>

const IDS_MAX = 200
const STATES = `query States($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { id viewerMark } }`
const COUNTS = `query Counts($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { id likeCount dislikeCount } }`
const LIKES = `query Likes($business: String!, $after: String) { thumbupUser { likes(business: $business, first: 100, after: $after) {
  edges { markedAt node { id } } pageInfo { hasNextPage endCursor } } } }`
const LIKERS = `query Likers($business: String!, $ids: [ID!]!, $after: String) { subjects(business: $business, ids: $ids) {
  likers(first: 100, after: $after) { edges { markedAt node { id } } pageInfo { hasNextPage endCursor } } } }`
const RECEIVED = `query Received($id: ID!, $business: String!) { thumbupUser(id: $id) { likesReceived(business: $business) } }`
const RECONCILE = `query Reconcile($business: String!, $ids: [ID!]!) { reconcile(business: $business, ids: $ids) {
  checked drift { subject { id } likeCount likeRows dislikeCount dislikeRows } ownerDrift { owner { id } likesReceived summed } } }`

export type MarkVerification = { ok: boolean; sentences: string[] }

export async function verifyMarks(
  marks: AsyncGenerator<WireMark>,
  options: Options,
  progress: (text: string) => void,
): Promise<MarkVerification> {
  const expected = await recount(marks)
  const subjects = [...expected.subjects.keys()]
  const pages = chunked(subjects, IDS_MAX)
  const checks: { name: string; of: number; wrong: string[] }[] = []

  async function check<T>(name: string, items: readonly T[], nameOf: (item: T) => string, isRight: (item: T) => Promise<boolean>) {
    const wrong: string[] = []
    let next = 0
    const work = async (): Promise<void> => {
      while (next < items.length) {
        const item = items[next++] as T
        if (!(await isRight(item))) wrong.push(nameOf(item))
        if (next % 100 === 0) progress(`${name}: ${next} of ${items.length}`)
      }
    }
    await Promise.all(Array.from({ length: options.concurrency }, work))
    checks.push({ name, of: items.length, wrong })
  }

  await check(
    'states of viewers',
    [...expected.marks],
    ([viewer]) => viewer,
    (item) => hasStates(item, options),
  )
  await check(
    'likes of viewers',
    [...expected.marks],
    ([viewer]) => viewer,
    (item) => hasLikes(item, options),
  )
  await check(
    'pages of counts',
    pages,
    ([first]) => String(first),
    (ids) => hasCounts(ids, expected, options),
  )
  await check(
    'likers of subjects',
    subjects,
    (oid) => oid,
    (oid) => hasLikers(oid, expected, options),
  )
  await check(
    'sums of owners',
    [...expected.owners],
    ([owner]) => owner,
    (item) => hasReceived(item, options),
  )
  await check(
    'pages of counts against stored rows',
    pages,
    ([first]) => String(first),
    (ids) => hasNoDrift(ids, options),
  )
  return {
    ok: checks.every(({ wrong }) => wrong.length === 0),
    sentences: checks.map(({ name, of, wrong }) =>
      wrong.length === 0
        ? `verified        ${of} ${name} equal the file`
        : `NOT EQUAL       ${wrong.length} of ${of} ${name} differ from the file, such as ${wrong.slice(0, 5).join(', ')}`,
    ),
  }
}

async function recount(marks: AsyncGenerator<WireMark>): Promise<Expected> {
  const expected: Expected = { marks: new Map(), subjects: new Map(), owners: new Map([['owner-before', 0]]) }
  for await (const mark of marks) {
    const ofViewer = expected.marks.get(mark.viewer) ?? new Map<string, WireMark>()
    expected.marks.set(mark.viewer, ofViewer)
    const before = ofViewer.get(mark.id)
    if (before === undefined || mark.markedAt >= before.markedAt) ofViewer.set(mark.id, mark)
  }
  for (const [viewer, ofViewer] of expected.marks) {
    for (const { id, mark, markedAt } of ofViewer.values()) {
      const subject = expected.subjects.get(id) ?? { likes: 0, dislikes: 0, likers: [] }
      expected.subjects.set(id, subject)
      if (mark === 'DISLIKE') subject.dislikes++
      if (mark !== 'LIKE') continue
      subject.likes++
      subject.likers.push({ id: viewer, markedAt })
    }
  }
  for (const [oid, { likes, likers }] of expected.subjects) {
    expected.owners.set(ownerOf(oid), (expected.owners.get(ownerOf(oid)) ?? 0) + likes)
    likers.sort(newestFirst)
  }
  return expected
}

/** Newest first; entries of one moment by their ids, which are integers here. */
function newestFirst(a: Liked, b: Liked): number {
  return b.markedAt - a.markedAt || Number(a.id) - Number(b.id)
}

async function hasStates([viewer, marks]: [string, Map<string, WireMark>], { url, business }: Options): Promise<boolean> {
  const pages = chunked([...marks.keys()], IDS_MAX).map(async (ids) => {
    const { subjects } = await callForWhole<{ subjects: { id: string; viewerMark: string }[] }>(url, STATES, { business, ids }, { viewer })
    return (
      subjects.length === ids.length && subjects.every(({ id, viewerMark }, at) => id === ids[at] && viewerMark === marks.get(id)?.mark)
    )
  })
  return (await Promise.all(pages)).every(Boolean)
}

async function hasLikes([viewer, marks]: [string, Map<string, WireMark>], { url, business }: Options): Promise<boolean> {
  type Page = { thumbupUser: { likes: { edges: { markedAt: number; node: { id: string } }[]; pageInfo: PageInfo } } }
  const actual = await readPages(async (after) => {
    const { thumbupUser } = await callForWhole<Page>(url, LIKES, { business, after }, { viewer })
    const { edges, pageInfo } = thumbupUser.likes
    return { entries: edges.map(({ node, markedAt }) => ({ id: node.id, markedAt })), pageInfo }
  })
  const wanted = [...marks.values()].filter(({ mark }) => mark === 'LIKE').map(({ id, markedAt }) => ({ id, markedAt }))
  return isSame(actual, wanted.sort(newestFirst))
}

async function hasLikers(oid: string, expected: Expected, { url, business }: Options): Promise<boolean> {
  type Page = { subjects: [{ likers: { edges: { markedAt: number; node: { id: string } }[]; pageInfo: PageInfo } }] }
  const actual = await readPages(async (after) => {
    const { subjects } = await callForWhole<Page>(url, LIKERS, { business, ids: [oid], after }, { viewer: 'replay' })
    const { edges, pageInfo } = subjects[0].likers
    return { entries: edges.map(({ node, markedAt }) => ({ id: node.id, markedAt })), pageInfo }
  })
  return isSame(actual, expected.subjects.get(oid)?.likers ?? [])
}

async function hasCounts(ids: readonly string[], expected: Expected, { url, business }: Options): Promise<boolean> {
  type Page = { subjects: { id: string; likeCount: number; dislikeCount: number }[] }
  const { subjects } = await callForWhole<Page>(url, COUNTS, { business, ids }, { viewer: 'replay' })
  return subjects.every(({ id, likeCount, dislikeCount }) => {
    const subject = expected.subjects.get(id)
    return likeCount === subject?.likes && dislikeCount === subject.dislikes
  })
}

async function hasReceived([owner, likes]: [string, number], { url, business }: Options): Promise<boolean> {
  type Answer = { thumbupUser: { likesReceived: number } }
  const { thumbupUser } = await callForWhole<Answer>(url, RECEIVED, { id: owner, business }, { viewer: 'replay' })
  return thumbupUser.likesReceived === likes
}

async function hasNoDrift(ids: readonly string[], options: Options): Promise<boolean> {
  type Answer = { reconcile: { checked: number; drift: unknown[]; ownerDrift: unknown[] } }
  const { reconcile } = await callForWhole<Answer>(
    options.url,
    RECONCILE,
    { business: options.business, ids },
    credentialsOf(options, 'operator'),
  )
  return reconcile.checked === ids.length && reconcile.drift.length === 0 && reconcile.ownerDrift.length === 0
}

type PageInfo = { hasNextPage: boolean; endCursor: string | null }

async function readPages(read: (after: string | null) => Promise<{ entries: Liked[]; pageInfo: PageInfo }>): Promise<Liked[]> {
  const all: Liked[] = []
  for (let after: string | null = null; ;) {
    const { entries, pageInfo } = await read(after)
    all.push(...entries)
    if (!pageInfo.hasNextPage) return all
    after = pageInfo.endCursor
  }
}

function isSame(actual: readonly Liked[], wanted: readonly Liked[]): boolean {
  return (
    actual.length === wanted.length && actual.every(({ id, markedAt }, at) => id === wanted[at]?.id && markedAt === wanted[at].markedAt)
  )
}
