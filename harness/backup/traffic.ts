/**
 * Writes of every kind, one viewer after the other, and the list of all that was acknowledged. Each write has an id of its own, so that a
 * reader can tell whether it is there.
 */
import { ask } from '../deployment/service.ts'

/** `id`: of a post, the id that the service gave it. */
export type Acknowledged = { kind: 'progress' | 'mark' | 'play' | 'issue' | 'post'; viewer: string; id: string }

export type Traffic = {
  acknowledged: Acknowledged[]
  /** Sentences about writes that failed. */
  failures: string[]
  /** Resolves when the last write was answered. */
  stop(): Promise<void>
}

const VIEWERS = 6
const WRITES = {
  progress: '($id: ID!) { done: reportProgress(input: { business: "video", id: $id, position: 60000 }) { is: outcome } }',
  mark: '($id: ID!) { done: setMark(input: { business: "video", id: $id, mark: LIKE }) { is: outcome } }',
  play: '($id: ID!) { done: recordPlayed(input: { business: "video", ids: [$id] }) { is: recordedCount } }',
  issue: '($id: ID!) { done: recordIssued(input: { business: "video", ids: [$id] }) { is: recorded } }',
  post: '($id: String!) { done: publishPost(input: { clientKey: $id, text: $id }) { post { id } userErrors { code } } }',
} as const
const KINDS = Object.keys(WRITES) as Acknowledged['kind'][]

/** `prefix` of viewers: a second traffic needs another one. */
export function startTraffic(url: string, prefix = 'viewer'): Traffic {
  const acknowledged: Acknowledged[] = []
  const failures: string[] = []
  let stopping = false

  async function write(kind: Acknowledged['kind'], viewer: string, number: number): Promise<void> {
    const id = `${kind}-${number}`
    const answer = await ask(url, viewer, `mutation ${WRITES[kind]}`, { id })
    const done = answer.data?.done as { is?: unknown; post?: { id: string } } | undefined
    const isDone = done?.post !== undefined || [true, 1, 'ACCEPTED'].includes(done?.is as never)
    if (isDone) acknowledged.push({ kind, viewer, id: done?.post?.id ?? id })
    else failures.push(`${id} of ${viewer}: ${JSON.stringify(answer)}`)
  }

  async function lane(viewer: string): Promise<void> {
    for (let number = 0; !stopping && failures.length === 0; number++) {
      for (const kind of KINDS) await write(kind, viewer, number)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  const lanes = Array.from({ length: VIEWERS }, (_, at) => lane(`${prefix}-${at}`))
  return {
    acknowledged,
    failures,
    async stop() {
      stopping = true
      await Promise.all(lanes)
    },
  }
}

const LOOK_UP = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id viewerProgress { position } viewerMark viewerSeen } }'
const POSTS = 'query ($ids: [ID!]!) { posts(ids: $ids) { id author { id } } }'
const TIMELINE = `query ($after: String) { viewerHistory(first: 100, after: $after) {
  edges { node { id } } pageInfo { hasNextPage endCursor } } }`
const IDS_AT_ONCE = 50

type Subject = { id: string; viewerProgress: object | null; viewerMark: string; viewerSeen: string | null }

/** Sentences about acknowledged writes that the service does not show. */
export async function missingAt(url: string, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const missing: string[] = []
  for (const [viewer, all] of Map.groupBy(acknowledged, (write) => write.viewer)) {
    const timeline = await timelineOf(url, viewer)
    for (let at = 0; at < all.length; at += IDS_AT_ONCE) {
      const writes = all.slice(at, at + IDS_AT_ONCE)
      const posts = writes.filter(({ kind }) => kind === 'post').map(({ id }) => id)
      const ids = writes.filter(({ kind }) => kind !== 'post').map(({ id }) => id)
      const { subjects } = await dataOf<{ subjects: Subject[] }>(url, viewer, LOOK_UP, { ids })
      const found = await dataOf<{ posts: ({ id: string } | null)[] }>(url, viewer, POSTS, { ids: posts })
      const shown = new Set([
        ...subjects.flatMap((subject) => kindsOf(subject, timeline)),
        ...found.posts.flatMap((post) => (post === null ? [] : `post ${post.id}`)),
      ])
      missing.push(
        ...writes.filter(({ kind, id }) => !shown.has(`${kind} ${id}`)).map(({ kind, id }) => `${kind} ${id} of ${viewer} is missing`),
      )
    }
  }
  return missing
}

function kindsOf({ id, viewerProgress, viewerMark, viewerSeen }: Subject, timeline: ReadonlySet<string>): string[] {
  return [
    ...(viewerProgress !== null && timeline.has(id) ? [`progress ${id}`] : []),
    ...(viewerMark === 'LIKE' ? [`mark ${id}`] : []),
    ...(viewerSeen === null ? [] : [`play ${id}`, `issue ${id}`]),
  ]
}

async function timelineOf(url: string, viewer: string): Promise<Set<string>> {
  type Page = { edges: { node: { id: string } }[]; pageInfo: { hasNextPage: boolean; endCursor: string } }
  const ids = new Set<string>()
  for (let after: string | undefined; ;) {
    const { viewerHistory }: { viewerHistory: Page } = await dataOf(url, viewer, TIMELINE, { after })
    for (const { node } of viewerHistory.edges) ids.add(node.id)
    if (!viewerHistory.pageInfo.hasNextPage) return ids
    after = viewerHistory.pageInfo.endCursor
  }
}

async function dataOf<Data>(url: string, viewer: string, query: string, variables: Record<string, unknown>): Promise<Data> {
  const { data, errors } = await ask(url, viewer, query, variables)
  if (errors !== undefined) throw new Error(`viewer ${viewer} cannot read: ${JSON.stringify(errors)}`)
  return data as Data
}
