/** Posts of unused authors, so that the suites may run on a server with other data. */
import { tombstoneOf } from '../../../subgraphs/feed/model/post-codec.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { postIdOf, postTick } from '../../../subgraphs/feed/packed/post-id.ts'
import { regionOf } from '../../../core/regions.ts'
import { freshViewer } from '../reports.ts'

/** The regions of the suites' stores. */
export const REGIONS = 100

/** The ticks of the suites never go back. */
let lastTick = 400_000 * 3_600_000 * 256

export function nextTick(): number {
  lastTick += 2
  return lastTick
}

/** A public post with a new id, unless `fields` says otherwise. */
export function somePost(fields: Partial<Post> = {}): Post {
  const author = fields.author ?? freshViewer()
  const tick = postTick(nextTick(), fields.audience !== undefined)
  return {
    id: postIdOf(tick, regionOf(author, REGIONS)),
    author,
    text: 'Guten Morgen 🌞',
    media: [],
    source: undefined,
    audience: undefined,
    clientKey: `key-${tick}`,
    version: tick,
    deleted: false,
    ...fields,
  }
}

/** As the hot store deletes, with a newer version. */
export function deletedPost(post: Post, version = nextTick()): Post {
  return tombstoneOf(post, version)
}
