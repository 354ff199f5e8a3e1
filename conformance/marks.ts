/**
 * The calls of thumbup for checks. Subjects have random ids, so only the audit changes their counts. Every mark is noted
 * and undone at the end. Registered owners stay, with no likes.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Audit } from './audited.ts'
import { codesOf, type UserError } from './answer.ts'
import type { ListPage, PageVariables } from './lists.ts'
import { CheckFailed, CheckSkipped, expectEqual } from './outcome.ts'
import {
  COUNTS,
  LIKERS,
  LIKES,
  MARK,
  MARK_BATCH,
  RECEIVED,
  REGISTER,
  STATES,
  type MarkInput,
  type MarkPayload,
  type PageInfo,
} from './operations.ts'
import type { AuditViewer } from './viewer.ts'

export type State = { business: string; id: string; likeCount: number | null; dislikeCount: number | null; viewerMark: string | null }
export type Registered = { registered: boolean; subject: { id: string } | null; userErrors: UserError[] }
/** One page of likers or likes. `id` is the id of the viewer or the subject. */
export type MarkPage = ListPage<{ id: string; markedAt: number; cursor: string }>

export type Thumbup = Awaited<ReturnType<typeof thumbup>>

const BATCH_MAX = 500
const ASK_EVERY_MS = 50

/** Throws CheckSkipped if the deployment does not serve thumbup, or not for this business. */
export async function thumbup(audit: Audit, business = audit.business) {
  const probe = await (await audit.anyViewer()).ask(RECEIVED, { business, user: '1' })
  if (probe.errors.some(({ message }) => message.startsWith('Cannot query field "thumbupUser"')))
    throw new CheckSkipped('this deployment does not serve thumbup')
  if (codesOf(probe).some((code) => code === 'BUSINESS_UNKNOWN' || code === 'BUSINESS_DELETED'))
    throw new CheckSkipped(`thumbup does not serve the business ${business}: give --business with one that it serves`)

  async function markMany(viewer: AuditViewer, inputs: readonly MarkInput[]): Promise<MarkPayload[]> {
    const sent = inputs.map((input) => ({ business, ...input }))
    audit.noteMarks(viewer, sent)
    const { setMarkBatch } = await viewer.data<{ setMarkBatch: { results: MarkPayload[]; userErrors: UserError[] } }>(MARK_BATCH, {
      marks: sent,
    })
    expectEqual('the userErrors of the batch', setMarkBatch.userErrors, [])
    return setMarkBatch.results.map(orSkip)
  }

  async function states(viewer: AuditViewer, ids: readonly string[], of = business): Promise<State[]> {
    return (await viewer.data<{ subjects: State[] }>(STATES, { business: of, ids })).subjects
  }

  async function likers(viewer: AuditViewer, id: string, variables: PageVariables = {}): Promise<MarkPage> {
    type Page = { edges: { cursor: string; markedAt: number; node: { id: string } }[]; pageInfo: PageInfo }
    const data = await viewer.data<{ subjects: { likers: Page | null }[] }>(LIKERS, { business, id, ...variables })
    const { edges, pageInfo } = known('likers', data.subjects[0]?.likers)
    return { entries: edges.map(({ cursor, markedAt, node }) => ({ id: node.id, markedAt, cursor })), pageInfo }
  }

  async function likes(viewer: AuditViewer, variables: PageVariables = {}, user: string | null = null): Promise<MarkPage> {
    type Page = { edges: { cursor: string; markedAt: number; node: { id: string } }[]; pageInfo: PageInfo }
    const data = await viewer.data<{ thumbupUser: { likes: Page | null } }>(LIKES, { business, user, ...variables })
    const { edges, pageInfo } = known('likes', data.thumbupUser.likes)
    return { entries: edges.map(({ cursor, markedAt, node }) => ({ id: node.id, markedAt, cursor })), pageInfo }
  }

  return {
    business,
    markMany,
    states,
    likers,
    likes,
    async mark(viewer: AuditViewer, id: string, mark: string, more: Partial<MarkInput> = {}): Promise<MarkPayload> {
      const input = { business, id, mark, ...more }
      audit.noteMarks(viewer, [input])
      return orSkip((await viewer.data<{ setMark: MarkPayload }>(MARK, { input })).setMark)
    },
    /** Sends any number of marks, in as many batches as needed. All must be accepted. */
    async markAll(viewer: AuditViewer, inputs: readonly MarkInput[]): Promise<void> {
      for (let i = 0; i < inputs.length; i += BATCH_MAX) {
        const answers = await markMany(viewer, inputs.slice(i, i + BATCH_MAX))
        const refused = answers.find(({ outcome }) => outcome !== 'ACCEPTED')
        if (refused !== undefined)
          throw new CheckFailed('every mark to be accepted', `${refused.outcome}: ${refused.userErrors[0]?.message}`)
      }
    },
    async marksOf(viewer: AuditViewer, ids: readonly string[]): Promise<(string | null)[]> {
      return (await states(viewer, ids)).map(({ viewerMark }) => viewerMark)
    },
    /** Per subject the number of likes and of dislikes. A viewer's own marks are included at once. */
    async counts(viewer: AuditViewer, ids: readonly string[], of = business): Promise<(number | null)[][]> {
      const { subjects } = await viewer.data<{ subjects: State[] }>(COUNTS, { business: of, ids })
      return subjects.map(({ likeCount, dislikeCount }) => [likeCount, dislikeCount])
    },
    async received(viewer: AuditViewer, owner: string): Promise<number | null> {
      const data = await viewer.data<{ thumbupUser: { likesReceived: number | null } }>(RECEIVED, { user: owner, business })
      return data.thumbupUser.likesReceived
    },
    async register(viewer: AuditViewer, ids: readonly string[], owner: string): Promise<void> {
      const subjects = ids.map((id) => ({ id, owner }))
      const { registerSubjects } = await viewer.data<{ registerSubjects: { results: Registered[] } }>(REGISTER, { business, subjects })
      const results = ids.map((id) => ({ registered: true, subject: { id }, userErrors: [] }))
      expectEqual('the answer to the registration', registerSubjects, { results, userErrors: [] })
    },
  }
}

/**
 * Compares the viewer's own reads of subjects that no other viewer marks. For a moment a mark can be part of the shared counts and also be
 * pending as the viewer's own, so counts may be off by one (docs/decisions/0024-fills.md). The check fails only if that lasts. `isFirst`:
 * the subjects had no marks before. Then two reads in a row that lack the mark fail the check.
 */
export async function expectOwn(
  { eventMaxMs }: Audit,
  what: string,
  read: () => Promise<readonly object[]>,
  expected: readonly object[],
  isFirst = false,
): Promise<void> {
  let lacking = 0
  for (const until = performance.now() + eventMaxMs; ; await wait(lacking > 0 ? 0 : ASK_EVERY_MS)) {
    // Plain objects with the fields of `expected` only.
    const seen = (await read()).map((each, at) => fieldsOf(each, Object.keys(expected[at] ?? each)))
    if (isDeepStrictEqual(seen, expected)) return
    expectEqual(what, seen.map(withoutCounts), expected.map(withoutCounts))
    const isLess = seen.some((each, at) =>
      COUNT_FIELDS.some((field) => (numberOf(each, field) ?? -1) < (numberOf(expected[at], field) ?? 0)),
    )
    lacking = isFirst && isLess ? lacking + 1 : 0
    if (lacking === 2 || performance.now() >= until) expectEqual(what, seen, expected)
  }
}

const COUNT_FIELDS = ['likeCount', 'dislikeCount']

function fieldsOf(value: object, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, (value as Record<string, unknown>)[name]]))
}

function withoutCounts(value: object): object {
  return fieldsOf(
    value,
    Object.keys(value).filter((name) => !COUNT_FIELDS.includes(name)),
  )
}

function numberOf(value: object | undefined, field: string): number | undefined {
  const number = (value as Record<string, unknown> | undefined)?.[field]
  return typeof number === 'number' ? number : undefined
}

/** A business that is configured to refuse some marks breaks no guarantee. */
function orSkip(payload: MarkPayload): MarkPayload {
  const code = payload.userErrors[0]?.code
  if (code === 'DISLIKES_OFF') throw new CheckSkipped('this business has dislikes off')
  if (code === 'QUOTA_EXCEEDED') throw new CheckSkipped('the business has used up its quota of marks')
  return payload
}

function known<T>(what: string, value: T | null | undefined): T {
  if (value === null || value === undefined) throw new CheckFailed(`a list of ${what}`, 'null: check that all stores run')
  return value
}
