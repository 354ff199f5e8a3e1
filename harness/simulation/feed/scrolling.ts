/** Lists that a device reads page by page, while other things happen. */
import { compareIds } from '../../../core/keys.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { decodePostCursor } from '../../../subgraphs/feed/model/cursors.ts'
import { CLOCK_DIFFERENCE_MS } from '../../../subgraphs/feed/read/overlay.ts'
import type { PostPage } from '../../../subgraphs/feed/read/page.ts'
import type { Scheduler } from '../scheduler.ts'
import type { FeedChecker } from './checker.ts'
import type { Client, Scroll } from './client.ts'
import type { FeedClientOptions } from './draws.ts'
import type { ListName } from './page-rules.ts'
import type { FeedProcess } from './process.ts'
import { nameOf } from './truth.ts'

export type ReadPage = ReturnType<typeof makeScrolling>

/** The next page, from the start if the device has come to the end. */
export function makeScrolling(random: Random, scheduler: Scheduler, checker: FeedChecker, { viewers, keepMs }: FeedClientOptions) {
  const { truths, fail } = checker

  function begin({ viewer }: Client): Scroll {
    const owner = viewers[randomBelow(random, viewers.length)] ?? viewer.id
    const list: ListName = random() < 0.8 ? { kind: 'home', owner: viewer.id } : { kind: 'posts', owner }
    return beginScroll(list, 1 + randomBelow(random, 4))
  }

  function beginScroll(list: ListName, first: number): Scroll {
    return { list, first, after: undefined, before: undefined, since: truths.tick(), seen: new Set(), isWhole: true }
  }

  function ask({ list: { kind, owner }, first, after }: Scroll, process: FeedProcess, degraded: Degraded): Promise<PostPage | null> {
    const { pages } = process
    return kind === 'home' ? pages.homeFeed(owner, { first, after }, degraded) : pages.userPosts(owner, { first, after }, degraded)
  }

  function noteSeen({ list, seen }: Scroll, { edges }: PostPage): void {
    for (const { post } of edges) {
      if (seen.has(post.id)) fail(`scroll: ${list.owner}'s scroll shows ${nameOf(post)} twice`, list.owner)
      seen.add(post.id)
    }
  }

  /** A scroll that has come to its end has every post that it had to show from its beginning on. */
  function checkWhole({ list, since, seen }: Scroll): void {
    for (const fact of truths.posts.values()) {
      if (!seen.has(fact.post.id) && checker.belongs(list, fact, since))
        fail(`scroll: ${list.owner}'s scroll to the end skips ${nameOf(fact.post)}`, list.owner)
    }
  }

  /** Without the record store, the hot store has the posts from this time on. Clocks differ by less than 1 s. */
  function keptFrom({ kind, owner }: ListName, { lacksFollows }: FeedProcess, beganAt: number): number | undefined {
    const knowsList = kind === 'posts' || !lacksFollows(owner, beganAt)
    return knowsList ? scheduler.now() + 1_000 + CLOCK_DIFFERENCE_MS - keepMs : undefined
  }

  async function readPage(client: Client, process: FeedProcess): Promise<string> {
    const scroll = (client.scroll ??= begin(client))
    const [since, beganAt] = [truths.tick(), scheduler.now()]
    const degraded: Degraded = new Set()
    const page = await ask(scroll, process, degraded)
    checker.checkDegraded(degraded, beganAt, `a page of ${scroll.list.owner}`, client.viewer.id)
    if (page === null) {
      if (degraded.size === 0) fail('missing: a page is null, and no store is named', client.viewer.id)
      client.scroll = undefined
      return `null${without(degraded)}`
    }
    const { edges, hasNextPage, endCursor } = page
    const { list, before } = scroll
    const decode = (cursor: string) => decodePostCursor({ kind: list.kind === 'home' ? 'homeFeed' : 'posts', owner: list.owner }, cursor)
    const downTo = hasNextPage && endCursor !== undefined ? decode(endCursor) : undefined
    if (edges.length > scroll.first) fail(`a page of ${scroll.first} posts has ${edges.length}`, client.viewer.id)
    if (hasNextPage && downTo === undefined) fail('scroll: a page with a next one has no cursor', client.viewer.id)
    if (downTo !== undefined && before !== undefined && compareIds(downTo, before) >= 0)
      fail(`scroll: the page below ${before} ends at ${downTo}`, client.viewer.id)
    checker.checkPage(
      list,
      { before, posts: edges.map(({ post }) => post), downTo, keptFrom: keptFrom(list, process, beganAt) },
      since,
      degraded,
    )
    noteSeen(scroll, page)
    scroll.isWhole &&= degraded.size === 0
    scroll.after = endCursor
    scroll.before = downTo
    if (!hasNextPage) {
      if (scroll.isWhole) checkWhole(scroll)
      client.scroll = undefined
    }
    return `${list.kind} of ${list.owner}: ${edges.map(({ post }) => post.id).join(' ')}${hasNextPage ? ' …' : ' (end)'}${without(degraded)}`
  }

  /** The posts that wait above one that the viewer has. */
  async function readNewest({ viewer: { id } }: Client, process: FeedProcess, since: PostId | undefined): Promise<string> {
    const [sinceTick, beganAt] = [truths.tick(), scheduler.now()]
    const max = 1 + randomBelow(random, 4)
    const list: ListName = { kind: 'home', owner: id }
    const degraded: Degraded = new Set()
    const posts = await process.pages.newest(id, since, max, degraded)
    checker.checkDegraded(degraded, beganAt, `the newest posts of ${id}`, id)
    if (posts === null) {
      if (degraded.size === 0) fail('missing: the newest posts are null, and no store is named', id)
      return `null${without(degraded)}`
    }
    const old = posts.find((post) => since !== undefined && compareIds(post.id, since) <= 0)
    if (old !== undefined) fail(`scroll: ${id} has ${nameOf(old)} among the posts above ${since}`, id)
    const downTo = posts.length === max ? posts.at(-1)?.id : since && String(BigInt(since) + 1n)
    checker.checkPage(list, { before: undefined, posts, downTo, keptFrom: keptFrom(list, process, beganAt) }, sinceTick, degraded)
    return `above ${since}: ${posts.map((post) => post.id).join(' ')}${without(degraded)}`
  }

  return { readPage, readNewest, beginScroll }
}

export function without(degraded: Degraded): string {
  return degraded.size === 0 ? '' : ` (without ${[...degraded].join(', ')})`
}
