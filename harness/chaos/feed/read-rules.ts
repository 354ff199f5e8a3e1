/**
 * The rules of reads. A read that lacks the hot store is made of cached and persisted values, so it may be as old as `OLD_MAX_MS`. A read
 * that lacks only the record store has everything that is recent, which is every post of a run. One that lacks both may lack any post.
 */
import { compareIds } from '../../../core/keys.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { maySee, rangeOf, stands, type Facts, type PostFact } from './facts.ts'
import type { FeedHistory, FollowsRead, Interval, Lookup, PageRead, Read, ShownPost } from './history.ts'

export type Fail = (sentence: string) => void

/** `cache.ttlMs` of the runs. */
export const CACHE_TTL_MS = 20_000
/** A change is persisted within this time, although servers and jobs are killed meanwhile. */
const PERSISTED_MAX_MS = 60_000
/** The life of a cached value with a margin, and the time until a change is persisted. */
const OLD_MAX_MS = 3 * CACHE_TTL_MS + PERSISTED_MAX_MS

const SERVERS: Readonly<Record<string, string>> = { hotStore: 'redis', log: 'kafka', recordStore: 'mariadb' }

export function checkReads({ pages, lookups, followsReads }: FeedHistory, facts: Facts, fail: Fail): void {
  for (const page of pages) checkPage(page, facts, fail)
  for (const lookup of lookups) checkLookup(lookup, facts, fail)
  for (const read of followsReads) checkFollows(read, facts, fail)
}

function checkPage(page: PageRead, facts: Facts, fail: Fail): void {
  const { list, first, before, downTo, hasNextPage, posts, lacks } = page
  const what = `${list.owner}'s ${list.kind}${before === undefined ? '' : ` below ${before}`}, read ${textOf(page)}`
  checkLacks(page, what, fail)
  if (posts === null) return void (lacks.length === 0 && fail(`missing: ${what}, is null, and no store is named`))
  if (posts.length > first) fail(`scroll: ${what}, has ${posts.length} posts instead of ${first}`)
  if (hasNextPage && downTo === undefined) fail(`scroll: ${what}, has a next page and no cursor`)
  if (hasNextPage && posts.length < first && lacks.length === 0) fail(`scroll: ${what}, is not full, and has a next page`)
  let last = before
  for (const post of posts) {
    if (last !== undefined && compareIds(post.id, last) >= 0) fail(`scroll: ${what}, has ${post.id} after ${last}`)
    last = post.id
    checkShown(post, page, facts, what, fail)
    checkListed(post, page, facts, what, fail)
  }
  if (downTo !== undefined && last !== undefined && compareIds(downTo, last) > 0)
    fail(`scroll: ${what}, ends at ${last}, and its cursor at ${downTo}`)
  checkMissing(page, posts, facts, what, fail)
}

/** A post that is shown to this viewer, whatever is down. */
function checkShown(shown: ShownPost, read: Read, facts: Facts, what: string, fail: Fail): void {
  const post = facts.posts.get(shown.id)
  if (post === undefined) return fail(`invented: ${what}, shows ${shown.id} ("${shown.text}"), which was not published`)
  if (shown.author !== post.author || shown.text !== post.text) fail(`invented: ${what}, shows "${shown.text}" instead of "${post.text}"`)
  if (post.begun > read.ended) fail(`invented: ${what}, shows ${post.id} before it was published`)
  checkAllowed(post, read, what, fail)
  checkSource(shown, post, read, facts, what, fail)
}

function checkAllowed(post: PostFact, read: Read, what: string, fail: Fail): void {
  if (!maySee(post, read.viewer)) fail(`audience: ${what}, shows ${nameOf(post)} to ${read.viewer}`)
  if (post.deleted <= since(read))
    fail(`deleted: ${what}, shows ${nameOf(post)}, deleted ${Math.round(read.begun - post.deleted)} ms before`)
}

function checkSource(shown: ShownPost, post: PostFact, read: Read, facts: Facts, what: string, fail: Fail): void {
  const { source, sourceState } = shown
  if (source !== null) {
    const fact = facts.posts.get(source)
    if (source !== post.source || fact === undefined) fail(`invented: ${what}, shows ${source} as the source of ${nameOf(post)}`)
    else checkAllowed(fact, read, what, fail)
    return
  }
  if (post.source === undefined) return void (sourceState !== null && fail(`invented: ${what}, shows a source of ${nameOf(post)}`))
  const fact = facts.posts.get(post.source)
  if (sourceState === 'DELETED' && fact !== undefined && fact.deleting > read.ended && read.lacks.length === 0)
    fail(`missing: ${what}, shows the source of ${nameOf(post)} as deleted`)
  if (sourceState !== 'DELETED' && read.lacks.length === 0) fail(`missing: ${what}, shows no source of ${nameOf(post)}`)
}

function checkListed(shown: ShownPost, page: PageRead, facts: Facts, what: string, fail: Fail): void {
  const { kind, owner } = page.list
  const post = facts.posts.get(shown.id)
  if (post === undefined) return
  const isListed =
    kind === 'posts'
      ? post.author === owner && post.audience === undefined
      : post.audience === undefined
        ? facts.followed(owner, post.author, seenBy(page)).has(true)
        : post.author !== owner
  if (!isListed) fail(`followed: ${what}, shows ${nameOf(post)}, which is not of this list`)
}

/** Every post of the list between the cursor and the end of the page that stood during the read. */
function checkMissing(page: PageRead, posts: readonly ShownPost[], facts: Facts, what: string, fail: Fail): void {
  if (mayLackAny(page)) return
  const { list, before, downTo } = page
  const at = seenBy(page)
  const isFollowed = (user: ViewerId): boolean => !facts.followed(list.owner, user, at).has(false)
  const lists =
    list.kind === 'posts'
      ? [facts.outbox(list.owner)]
      : [facts.inbox(list.owner), ...facts.users.filter(isFollowed).map((user) => facts.outbox(user))]
  const shown = new Set(posts.map(({ id }) => id))
  for (const each of lists)
    for (const post of rangeOf(each, downTo, before))
      if (!shown.has(post.id) && stands(post, at))
        fail(`missing: ${what}, lacks ${nameOf(post)}, acknowledged ${Math.round(page.begun - post.acked)} ms before`)
}

function checkLookup(lookup: Lookup, facts: Facts, fail: Fail): void {
  const { viewer, ids, posts, counts, lacks } = lookup
  const what = `a lookup of ${viewer}, read ${textOf(lookup)}`
  checkLacks(lookup, what, fail)
  if (posts === null) return void (lacks.length === 0 && fail(`missing: ${what}, is null, and no store is named`))
  if (posts.length !== ids.length) fail(`invented: ${what}, has ${posts.length} answers to ${ids.length} ids`)
  ids.forEach((id, at) => {
    const shown = posts[at] ?? null
    const post = facts.posts.get(id)
    if (shown === null) {
      const mustShow = post !== undefined && maySee(post, viewer) && stands(post, seenBy(lookup))
      if (mustShow && !mayLackAny(lookup))
        fail(`missing: ${what}, lacks ${nameOf(post)}, acknowledged ${Math.round(lookup.begun - post.acked)} ms before`)
      return
    }
    if (shown.id !== id) fail(`invented: ${what}, answers ${shown.id} to ${id}`)
    checkShown(shown, lookup, facts, what, fail)
    if (lacks.length > 0) return
    const { commentCount = null, readCount = null } = counts[at] ?? {}
    checkCount(id, 'COMMENT', commentCount, lookup, facts, what, fail)
    checkCount(id, 'READ', readCount, lookup, facts, what, fail)
  })
}

function checkCount(
  id: string,
  counter: 'COMMENT' | 'READ',
  shown: number | null,
  read: Read,
  facts: Facts,
  what: string,
  fail: Fail,
): void {
  const [min, max] = facts.countBounds(id, counter, read)
  if (shown === null) fail(`counts: ${what}, has no ${counter} count of ${id}, and no store is named`)
  else if (shown < min || shown > max) fail(`counts: ${what}, has ${shown} ${counter} of ${id} instead of ${min} to ${max}`)
}

function checkFollows(read: FollowsRead, facts: Facts, fail: Fail): void {
  const { viewer, users, follows, lacks } = read
  const what = `the follows of ${viewer}, read ${textOf(read)}`
  checkLacks(read, what, fail)
  if (mayLackAny(read)) return
  users.forEach((user, at) => {
    const shown = follows[at] ?? null
    if (shown === null) return void (lacks.length === 0 && fail(`lists: ${what}, lack ${user}, and no store is named`))
    if (!facts.followed(viewer, user, seenBy(read)).has(shown)) fail(`lists: ${what}, are ${shown ? 'with' : 'without'} ${user}`)
  })
}

/** An answer names only stores that were out of order. No failure of a Memcached node is named. */
function checkLacks({ lacks, out }: Read, what: string, fail: Fail): void {
  for (const store of lacks) if (!out.includes(SERVERS[store] ?? '')) fail(`healthy: ${what}, names ${store}, which was in order`)
}

function mayLackAny({ lacks }: Read): boolean {
  return lacks.includes('hotStore') && lacks.includes('recordStore')
}

/** The time from which on the read knows every change. */
function since({ begun, lacks }: Read): number {
  return lacks.includes('hotStore') ? begun - OLD_MAX_MS : begun
}

function seenBy(read: Read): Interval {
  return { begun: since(read), ended: read.ended }
}

function nameOf({ id, author, audience }: PostFact): string {
  return `post ${id} of ${author}${audience === undefined ? '' : ` for ${audience.join(', ')}`}`
}

function textOf({ begun, ended, lacks }: Read): string {
  return `${(begun / 1_000).toFixed(3)} to ${(ended / 1_000).toFixed(3)} s${lacks.length === 0 ? '' : ` without ${lacks.join(', ')}`}`
}
