/** Compares the pages of the services, field by field: the peers must do the work of the product. */
import type { Facts } from '../../harness/samples/stored-facts.ts'
import type { PageService } from './page-load.ts'
import type { PeerPage, PeerPost } from './peers/page.ts'

type OwnPage = { data: { homeFeed: { edges: { node: Omit<PeerPost, 'viewerSeen'> & { viewerSeen: string | null } }[] } } }

/** The number of viewers whose pages are equal on all services. Throws if a page is not whole: such a page proves nothing. */
export async function countEqualPages(services: readonly PageService[], viewers: readonly Pick<Facts, 'viewer'>[]): Promise<number> {
  let equal = 0
  for (const { viewer } of viewers) {
    const pages = await Promise.all(services.map((service) => pageOf(service, viewer)))
    if (new Set(pages).size === 1) equal++
  }
  return equal
}

/** The fields that all services answer, as one text. */
async function pageOf({ url, body, check }: PageService, viewer: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-viewer-id': viewer },
    body: new Uint8Array(body),
  })
  const text = await response.text()
  check(text)
  const answer = JSON.parse(text) as PeerPage | OwnPage
  const posts: readonly (PeerPost | OwnPage['data']['homeFeed']['edges'][number]['node'])[] =
    'posts' in answer ? answer.posts : answer.data.homeFeed.edges.map(({ node }) => node)
  return JSON.stringify(
    posts.map(({ id, text, media, author, source, likeCount, repostCount, commentCount, readCount, viewerMark, viewerSeen }) => [
      ...[id, text, media, author.id, author.followerCount, source?.id, source?.text, source?.author.id],
      ...[likeCount, repostCount, commentCount, readCount, viewerMark, viewerSeen === true || typeof viewerSeen === 'string'],
    ]),
  )
}
