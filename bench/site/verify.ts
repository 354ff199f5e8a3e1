/** The checks after quiet: every acknowledged write is read back through the API and looked up in the record store, and counts equal rows. */
import { join } from 'node:path'
import { callApi } from '../../conformance/api-client.ts'
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import { runCommand } from '../../harness/deployment/command.ts'
import type { Deployment } from '../../harness/deployment/deployment.ts'
import { chunked } from '../../stores/chunks.ts'
import type { Acknowledged } from './ledger.ts'

/** `losses`: sentences. `drift`: the exit status of `tidemark reconcile`. */
export type Verified = { losses: string[]; drift: number }

const VIDEO = 1
const CALLS_AT_ONCE = 8
const IDS_MAX = 200
const ROWS_AT_ONCE = 2_000
const RECONCILE_MAX_MS = 300_000

const STATES = `query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id viewerProgress { position } viewerMark } }`
const UNSEEN = 'query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }'
const FOLLOWS = 'query ($id: ID!) { feedUser(id: $id) { viewerFollows } }'
const POSTS = 'query ($ids: [ID!]!) { posts(ids: $ids) { id } }'

type States = { subjects: readonly { id: string; viewerProgress: { position: number } | null; viewerMark: string }[] }

export async function verify(deployment: Deployment, acknowledged: Acknowledged): Promise<Verified> {
  const url = deployment.gateways[0]?.url ?? ''
  const losses = await lossesShown(url, acknowledged)
  losses.push(...(await lossesStored(deployment, acknowledged)))
  const config = join(deployment.servers.folder, 'gateway-1', 'tidemark.yaml')
  const { status, out } = await runCommand(deployment.servers.folder, ['reconcile', '--config', config], { maxMs: RECONCILE_MAX_MS })
  if (status !== 0) losses.push(`tidemark reconcile: ${out.slice(-500)}`)
  return { losses, drift: status }
}

/** Through the API. */
async function lossesShown(url: string, { positions, likes, follows, issued, posts }: Acknowledged): Promise<string[]> {
  const losses: string[] = []
  const viewers = [...new Set([...positions.keys(), ...likes.keys()])]
  const calls = [
    ...viewers.flatMap((viewer) => {
      const ids = [...new Set([...(positions.get(viewer)?.keys() ?? []), ...(likes.get(viewer) ?? [])])]
      return chunked(ids, IDS_MAX).map((some) => () => checkStates(viewer, some))
    }),
    ...Array.from(
      issued,
      ([viewer, ids]) =>
        () =>
          checkIssued(viewer, [...ids]),
    ),
    ...Array.from(follows).flatMap(([viewer, ids]) => Array.from(ids, (id) => () => checkFollow(viewer, id))),
    ...Array.from(posts).flatMap(([viewer, ids]) => chunked(ids, IDS_MAX).map((some) => () => checkPosts(viewer, some))),
  ]
  async function checkStates(viewer: string, ids: string[]): Promise<void> {
    const { subjects } = await callApi<States>(url, STATES, { ids }, { viewer })
    for (const { id, viewerProgress, viewerMark } of subjects) {
      const position = positions.get(viewer)?.get(id)
      if (position !== undefined && position !== viewerProgress?.position)
        losses.push(`viewer ${viewer}, video ${id}: position ${position} was acknowledged, ${viewerProgress?.position} is shown`)
      if (likes.get(viewer)?.has(id) && viewerMark !== 'LIKE')
        losses.push(`viewer ${viewer}, video ${id}: a like is shown as ${viewerMark}`)
    }
  }
  async function checkIssued(viewer: string, ids: string[]): Promise<void> {
    const { unseen } = await callApi<{ unseen: { ids: string[] } }>(url, UNSEEN, { ids }, { viewer })
    for (const id of unseen.ids) losses.push(`viewer ${viewer}: video ${id} was issued and is unseen`)
  }
  async function checkFollow(viewer: string, id: string): Promise<void> {
    const { feedUser } = await callApi<{ feedUser: { viewerFollows: boolean } }>(url, FOLLOWS, { id }, { viewer })
    if (!feedUser.viewerFollows) losses.push(`viewer ${viewer} followed ${id}, which is not shown`)
  }
  async function checkPosts(viewer: string, ids: string[]): Promise<void> {
    const shown = await callApi<{ posts: readonly ({ id: string } | null)[] }>(url, POSTS, { ids }, { viewer })
    shown.posts.forEach((post, at) => post?.id !== ids[at] && losses.push(`post ${ids[at]} of ${viewer} is not shown`))
  }
  await Promise.all(
    Array.from({ length: CALLS_AT_ONCE }, async () => {
      for (let call = calls.pop(); call !== undefined; call = calls.pop()) await call()
    }),
  )
  return losses
}

/** In the record store. */
async function lossesStored(deployment: Deployment, { positions, likes, follows, posts }: Acknowledged): Promise<string[]> {
  const stores = await deployment.openStores()
  const losses: string[] = []
  try {
    const reported = Array.from(positions).flatMap(([viewer, videos]) =>
      Array.from(videos, ([oid, position]) => ({ viewer, oid, position })),
    )
    for (const some of chunked(reported, ROWS_AT_ONCE)) {
      const rows = await stores.records.getProgressMany(some.map(({ viewer, oid }) => ({ viewer, business: VIDEO, oid })))
      some.forEach(({ viewer, oid, position }, at) => {
        if (rows[at]?.position !== position)
          losses.push(`record store: viewer ${viewer}, video ${oid}: ${rows[at]?.position}, not ${position}`)
      })
    }
    const keysOf = (marks: Map<string, Set<string>>, business: number) =>
      Array.from(marks).flatMap(([viewer, oids]) => Array.from(oids, (oid) => ({ viewer, business, oid })))
    for (const some of chunked([...keysOf(likes, VIDEO), ...keysOf(follows, FOLLOW_BUSINESS)], ROWS_AT_ONCE)) {
      const rows = await stores.marks.records.getMarkMany(some)
      some.forEach((key, at) => rows[at]?.mark !== 'LIKE' && losses.push(`record store: mark ${JSON.stringify(key)} is ${rows[at]?.mark}`))
    }
    for (const some of chunked([...posts.values()].flat(), IDS_MAX)) {
      const rows = await stores.feed?.records.getPostMany(some)
      some.forEach((id, at) => rows?.[at] === undefined && losses.push(`record store: post ${id} is missing`))
    }
    return losses
  } finally {
    await stores.close()
  }
}
