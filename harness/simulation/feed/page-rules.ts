/** The rules of what is shown: pages of lists, and posts by id. */
import { compareIds } from '../../../core/keys.ts'
import type { ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { createdAtOf, regionOfPost, type PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { Fail } from '../violation.ts'
import { hides, nameOf, type PostFact, type Truths } from './truth.ts'

/** The list of a page: the home feed of its owner, or the owner's public posts. */
export type ListName = { kind: 'home' | 'posts'; owner: ViewerId }

/**
 * `downTo`: the page has all posts of the list from this one on. Undefined: it is the last page. `keptFrom`: without the record store alone, it
 * has all posts from this time on, in milliseconds. Undefined: the page does not know its list.
 */
export type ShownPage = { before: PostId | undefined; posts: readonly Post[]; downTo: PostId | undefined; keptFrom: number | undefined }

export function makePageRules(truths: Truths, fail: Fail) {
  /** What holds for every post that is shown to this viewer, whatever is down. */
  function checkShown(shown: Post, viewer: ViewerId | undefined, since: number, degraded: Degraded, what: string): void {
    const fact = truths.posts.get(shown.id)
    if (fact === undefined) return fail(`invented: ${what} shows ${shown.id}, which was never published`, viewer)
    const { post } = fact
    if (!truths.mayShow({ ...fact, deletedAt: undefined }, viewer, since))
      fail(`audience: ${what} shows ${nameOf(post)} to ${viewer ?? 'everybody'}`, viewer)
    if (contentsOf(shown) !== contentsOf(post)) fail(`invented: ${what} shows ${contentsOf(shown)}, not ${contentsOf(post)}`, viewer)
    if (!degraded.has('hotStore') && !truths.mayShow(fact, viewer, since))
      fail(`deleted: ${what} shows ${nameOf(post)}, which was deleted before`, viewer)
  }

  function checkPage(list: ListName, page: ShownPage, since: number, degraded: Degraded): void {
    const { before, posts, downTo, keptFrom = Infinity } = page
    const what = `${list.owner}'s ${list.kind === 'home' ? 'home feed' : 'list of posts'}${before === undefined ? '' : ` below ${before}`}`
    const viewer = list.kind === 'home' ? list.owner : undefined
    let last = before
    for (const post of posts) {
      if (last !== undefined && compareIds(post.id, last) >= 0) fail(`scroll: ${what} has ${post.id} after ${last}`, list.owner)
      last = post.id
      checkShown(post, viewer, since, degraded, what)
      checkListed(list, truths.posts.get(post.id)?.post ?? post, since, degraded, what)
    }
    if (degraded.has('hotStore')) return
    const shown = new Set(posts.map(({ id }) => id))
    for (const [id, fact] of truths.posts) {
      if (shown.has(id) || !belongs(list, mayWait(fact, page) ? fact : { ...fact, landedAt: since }, since)) continue
      if (degraded.size > 0 && createdAtOf(id) < keptFrom) continue
      const isCovered = (before === undefined || compareIds(id, before) < 0) && (downTo === undefined || compareIds(id, downTo) >= 0)
      if (isCovered) fail(`missing: ${what} has ${textOf([...shown], downTo)}, without ${nameOf(fact.post)}`, list.owner)
    }
  }

  function checkListed(
    { kind, owner }: ListName,
    { id, author, audience, text }: Post,
    since: number,
    degraded: Degraded,
    what: string,
  ): void {
    if (kind === 'posts') {
      if (author !== owner) fail(`followed: ${what} has ${id} of ${author}`, owner)
      return
    }
    if (degraded.has('hotStore')) return
    const isInInbox = audience !== undefined && audience.includes(owner)
    if (!isInInbox && !truths.followedSince(owner, author, since).includes(true))
      fail(`followed: ${what} has ${id} of ${author}, whom the viewer did not follow`, owner)
    if (degraded.size === 0 && truths.wordsSince(owner, since).every((words) => hides(words, text)))
      fail(`words: ${what} has ${id} with the text "${text}"`, owner)
  }

  /** True if the post must be in this list for every reader that began at `since`. */
  function belongs({ kind, owner }: ListName, fact: PostFact, since: number): boolean {
    const { author, audience, text } = fact.post
    if (!truths.stoodSince(fact, since)) return false
    if (kind === 'posts') return author === owner && audience === undefined
    if (truths.wordsSince(owner, since).some((words) => hides(words, text))) return false
    if (audience !== undefined) return author !== owner && audience.includes(owner)
    return truths.followedSince(owner, author, since).every(Boolean)
  }

  /** An answer of `posts(ids)`. */
  function checkLookup(viewer: ViewerId, ids: readonly PostId[], found: readonly (Post | null)[], since: number, degraded: Degraded): void {
    if (found.length !== ids.length) fail(`a lookup of ${ids.length} posts has ${found.length} answers`, viewer)
    ids.forEach((id, at) => {
      const shown = found[at] ?? null
      if (shown !== null) {
        if (shown.id !== id) fail(`invented: a lookup of ${id} answers ${shown.id}`, viewer)
        checkShown(shown, viewer, since, degraded, 'a lookup')
        return
      }
      const fact = truths.posts.get(id)
      if (fact === undefined || degraded.size > 0 || fact.landedAt > since) return
      if (fact.deletedAt === undefined && truths.mayShow(fact, viewer, since))
        fail(`missing: a lookup does not find ${nameOf(fact.post)}`, viewer)
    })
  }

  /** The answers to the question whether this viewer may see the marks of these posts. */
  function checkAudience(
    viewer: ViewerId,
    ids: readonly PostId[],
    may: readonly (boolean | null)[],
    since: number,
    degraded: Degraded,
  ): void {
    ids.forEach((id, at) => {
      const fact = truths.posts.get(id)
      const isFor = fact !== undefined && truths.mayShow({ ...fact, deletedAt: undefined }, viewer, since)
      if (may[at] === true && !isFor) fail(`audience: ${viewer} sees the marks of ${id}`, viewer)
      if (may[at] === null && degraded.size === 0) fail(`the audience of ${id} is unknown, and no store is named`, viewer)
      if (may[at] === false && isFor && fact.deletedAt === undefined && fact.landedAt <= since)
        fail(`missing: the marks of ${nameOf(fact.post)} are hidden`, viewer)
    })
  }

  return { belongs, checkPage, checkLookup, checkAudience }
}

/**
 * A post that is published after a scroll began may wait above the first page, and then no later public one is shown below it. Regions have
 * clocks of their own, so the order of posts is certain in one region only. A restricted post is in inboxes of other regions.
 */
function mayWait({ post: { id, audience } }: PostFact, { before, posts }: ShownPage): boolean {
  const isAbove = (other: Post): boolean => compareIds(other.id, id) > 0 && regionOfPost(other.id) === regionOfPost(id)
  return audience !== undefined || before !== undefined || !posts.some((other) => other.audience === undefined && isAbove(other))
}

function contentsOf({ author, text, media, source }: Post): string {
  return JSON.stringify([author, text, media, source ?? null])
}

function textOf(ids: readonly PostId[], downTo: PostId | undefined): string {
  return `[${ids.join(', ')}]${downTo === undefined ? ', the last page' : ` down to ${downTo}`}`
}
