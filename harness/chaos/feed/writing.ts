/** The changes of a lane: posts, shares, deletions and follows, some of them repeated. */
import type { ViewerId } from '../../../core/domain.ts'
import { randomBelow } from '../../../core/random.ts'
import type { Device } from './device.ts'
import type { Publication } from './history.ts'
import type { Known } from './known.ts'

const PUBLISH = 'mutation ($input: PublishPostInput!) { publishPost(input: $input) { post { id } userErrors { code message } } }'
const DELETE = 'mutation ($id: ID!) { deletePost(input: { id: $id }) { userErrors { code message } } }'
const RESULTS = '{ results { outcome user { viewerFollows } userErrors { code message } } userErrors { code message } }'
const FOLLOW = `mutation ($ids: [ID!]!) { follow(input: { ids: $ids }) ${RESULTS} }`
const UNFOLLOW = `mutation ($ids: [ID!]!) { unfollow(input: { ids: $ids }) ${RESULTS} }`
/** Operations that fail while the hot store is down (docs/api/feed.md). */
export const REFUSED_WITHOUT_HOT_STORE: readonly string[] = ['publish', 'delete']

export type UserErrors = { code: string; message: string }[]
type FollowResults = {
  results: { outcome: string; user: { viewerFollows: boolean | null } | null; userErrors: UserErrors }[]
  userErrors: UserErrors
}

const AUDIENCE_MAX = 3
const FOLLOWS_MAX = 3

export function makeWriting({ lane, random, viewer, user, ask }: Device, known: Known) {
  const { history } = known
  let made = 0

  const nextName = (): string => `${lane.number}.${++made}`
  const someUsers = (max: number): ViewerId[] => [...new Set(Array.from({ length: 1 + randomBelow(random, max) }, user))]

  async function send(author: ViewerId, { key, text, source, audience }: Pick<Publication, 'key' | 'text' | 'source' | 'audience'>) {
    const input = { clientKey: key, text, source: source ?? null, audience: audience ?? null }
    const { data, begun, ended } = await ask<{ publishPost: { post: { id: string } | null; userErrors: UserErrors } }>(
      'publish',
      author,
      PUBLISH,
      { input },
    )
    const { post, userErrors } = data.publishPost
    const publication = { begun, ended, author, key, text, source, audience, id: post?.id, code: userErrors[0]?.code }
    history.publications.push(publication)
    return publication
  }

  async function publish(): Promise<void> {
    const author = viewer()
    const name = nextName()
    const source = random() < 0.2 ? known.somePost(random)?.id : undefined
    const audience = random() < 0.25 ? someUsers(AUDIENCE_MAX) : undefined
    const publication = await send(author, { key: `key ${name}`, text: `text ${name}`, source, audience })
    if (publication.id !== undefined) known.published({ id: publication.id, author, isPublic: audience === undefined, publication })
  }

  async function publishAgain(): Promise<void> {
    const author = viewer()
    const own = known.livingOf(author)
    const post = own[randomBelow(random, Math.max(1, own.length))]
    if (post !== undefined) await send(author, post.publication)
  }

  async function remove(): Promise<void> {
    const author = viewer()
    const own = known.livingOf(author)
    const post = random() < 0.9 ? own[randomBelow(random, Math.max(1, own.length))] : known.somePost(random)
    if (post === undefined) return
    const { data, begun, ended } = await ask<{ deletePost: { userErrors: UserErrors } }>('delete', author, DELETE, { id: post.id })
    const code = data.deletePost.userErrors[0]?.code
    history.deletions.push({ begun, ended, viewer: author, id: post.id, code })
    if (code === undefined) known.deleted(post)
  }

  async function follow(): Promise<void> {
    const follower = viewer()
    const ids = someUsers(FOLLOWS_MAX).filter((id) => id !== follower)
    if (ids.length === 0) return
    const follows = random() < 0.6
    const { data, lacks, begun, ended } = await ask<{ follow?: FollowResults; unfollow?: FollowResults }>(
      'follow',
      follower,
      follows ? FOLLOW : UNFOLLOW,
      { ids },
    )
    const { results, userErrors } = (data.follow ?? data.unfollow) as FollowResults
    ids.forEach((id, at) => {
      const result = results[at]
      if (result === undefined || result.outcome === 'REJECTED')
        throw new Error(`the follow of ${id} by ${follower} is refused: ${JSON.stringify([userErrors, result])}`)
      const shown = result.user?.viewerFollows ?? null
      history.follows.push({ begun, ended, viewer: follower, user: id, follows, isFirm: !lacks.includes('hotStore'), shown })
    })
  }

  return { publish, publishAgain, remove, follow }
}
