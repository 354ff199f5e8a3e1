/** The operations of the benchmarks, persisted in a manifest, and their request bodies. */
import { callApi } from '../../conformance/api-client.ts'
import { persisted } from '../support/persisted.ts'
import type { Dataset } from './dataset.ts'
import { PAGE_SIZE } from './peers/page.ts'

const POST = `id text media createdAt author { id followerCount } source { id text author { id } } sourceState
repostCount commentCount readCount likeCount viewerMark viewerSeen`

export const OPERATIONS = {
  Home: `query Home { homeFeed(first: ${PAGE_SIZE}) { edges { cursor node { ${POST} } } pageInfo { hasNextPage endCursor } } }`,
  Read: `query Read($id: ID!) { posts(ids: [$id]) { ${POST} } }`,
  Publish:
    'mutation Publish($input: PublishPostInput!) { publishPost(input: $input) { post { id createdAt } repeated userErrors { code message } } }',
  Follow: 'mutation Follow($ids: [ID!]!) { follow(input: { ids: $ids }) { results { outcome } userErrors { code message } } }',
  Play: 'mutation Play { recordPlayed(input: { business: "video", ids: ["1"] }) { userErrors { message } } }',
  Unfollow: 'mutation Unfollow($ids: [ID!]!) { unfollow(input: { ids: $ids }) { results { outcome } userErrors { code message } } }',
}

export function bodyOf(name: keyof typeof OPERATIONS, variables: object = {}): Buffer {
  return persisted(OPERATIONS[name])(variables)
}

/**
 * Each viewer plays a video, as viewers of a feed do. The hot store then numbers their folds, and a process keeps their filters until the next
 * fold. Without a number it keeps them for a minute only.
 */
export async function recordPlays(url: string, { follows }: Dataset): Promise<void> {
  type Answer = { recordPlayed: { userErrors: readonly { message: string }[] } }
  for (const { viewer } of follows) {
    const { recordPlayed } = await callApi<Answer>(url, OPERATIONS.Play, {}, { viewer })
    if (recordPlayed.userErrors.length > 0) throw new Error(`a play was refused: ${JSON.stringify(recordPlayed.userErrors)}`)
  }
}
