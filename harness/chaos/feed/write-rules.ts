/** The rules of the answers of writes, and of the state after quiet. */
import { isCounted, maySee, type Facts, type PostFact } from './facts.ts'
import { followText, type CountedEvent, type Counter, type EndState, type FeedHistory, type Publication } from './history.ts'
import type { Fail } from './read-rules.ts'

export function checkWrites(history: FeedHistory, facts: Facts, fail: Fail): void {
  const idsOfKeys = new Map<string, string>()
  for (const publication of history.publications) checkPublication(publication, facts, idsOfKeys, fail)
  for (const { viewer, id, code, begun } of history.deletions) {
    const post = facts.posts.get(id)
    if (post === undefined) continue
    const isOwn = post.author === viewer
    if (isOwn && code !== undefined) fail(`deleted: the deletion of ${id} by its author is refused: ${code}`)
    if (!isOwn && code === undefined) fail(`deleted: ${viewer} deleted ${id} of ${post.author}`)
    if (!isOwn && !maySee(post, viewer) && code !== 'POST_UNKNOWN') fail(`audience: the answer ${code} tells ${viewer} of ${id} (${begun})`)
  }
  for (const { viewer, user, follows, isFirm, shown } of history.follows)
    if (isFirm && shown !== follows)
      fail(`lists: the answer to ${follows ? 'a follow' : 'an unfollow'} of ${user} by ${viewer} shows ${shown}`)
  for (const events of Map.groupBy(history.events, ({ key }) => key).values()) checkEvent(events, facts, fail)
}

/** A client key has one post. A post that cannot be shared is refused, and no other one. */
function checkPublication(publication: Publication, facts: Facts, idsOfKeys: Map<string, string>, fail: Fail): void {
  const { author, key, id, code, source, begun, ended } = publication
  const shared = source === undefined ? undefined : facts.posts.get(source)
  const known = idsOfKeys.get(key)
  if (known !== undefined) {
    if (known !== id) fail(`key: the key ${key} of ${author} has the post ${known}, and then ${id ?? code}`)
    return
  }
  if (id === undefined) {
    const isGone = code === 'POST_UNKNOWN' && shared !== undefined && (!maySee(shared, author) || shared.deleting <= ended)
    const isRestricted = code === 'SOURCE_RESTRICTED' && shared?.audience !== undefined
    if (!isGone && !isRestricted) fail(`key: the publication ${key} of ${author} is refused: ${code}`)
    return
  }
  if (shared?.audience !== undefined) fail(`audience: ${author} shared ${source}, which is restricted`)
  if (shared !== undefined && shared.deleted <= begun) fail(`deleted: ${author} shared ${source}, which was deleted`)
  idsOfKeys.set(key, id)
}

/** All calls with the same event, in the order of their begin. */
function checkEvent(calls: readonly CountedEvent[], facts: Facts, fail: Fail): void {
  const answered = calls.find(isCounted)
  for (const { key, id, counter, delta, answer, begun, ended, isFirst } of calls) {
    const isLater = answered !== undefined && answered.ended <= begun
    if (answer === 'COUNTED' && isLater) fail(`counts: the event ${key} of ${id} was counted again`)
    if (answer === 'REPEATED' && isFirst && !isLater) fail(`counts: the event ${key} of ${id} was never sent, and is answered REPEATED`)
    if (isCounted({ answer } as CountedEvent)) continue
    const post = facts.posts.get(id)
    const isGone = answer === 'POST_UNKNOWN' && (post === undefined || post.deleting <= ended)
    const isTooLow = answer === 'DELTA_INVALID' && facts.countBounds(id, counter, { begun, ended })[0] + delta < 0
    if (!isGone && !isTooLow) fail(`counts: the event ${key} of ${id} was refused: ${answer}`)
  }
}

/** After quiet: figures equal the model, and so does the record store. */
export function checkEnd(end: EndState, facts: Facts, fail: Fail): void {
  const later = { begun: Infinity, ended: Infinity }
  const isLiving = ({ deleted }: PostFact): boolean => deleted === Infinity
  const living = [...facts.posts.values()].filter(isLiving)
  const shared = Map.groupBy(
    living.filter(({ audience, source }) => audience === undefined && source !== undefined),
    ({ source }) => source,
  )
  const follows = facts.followedAtEnd
  const countOf = (id: string, counter: Counter): number => facts.countBounds(id, counter, later)[0]
  const equal = (what: string, found: unknown, wanted: unknown): void => {
    if (found !== wanted) fail(`end: ${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
  }

  for (const { user, postCount, followerCount, followingCount } of end.users) {
    const posts = facts.outbox(user).filter(isLiving).length
    equal(`the shown number of posts of ${user}`, postCount, posts)
    equal(
      `the stored outbox of ${user}`,
      idsOf(end.storedOutboxes.get(user) ?? []),
      idsOf(
        facts
          .outbox(user)
          .filter(isLiving)
          .map(({ id }) => id),
      ),
    )
    equal(
      `the stored inbox of ${user}`,
      idsOf(end.storedInboxes.get(user) ?? []),
      idsOf(
        facts
          .inbox(user)
          .filter(isLiving)
          .map(({ id }) => id),
      ),
    )
    equal(`the stored number of posts of ${user}`, end.storedPostCounts.get(user), posts)
    equal(`the shown number of followers of ${user}`, followerCount, facts.users.filter((viewer) => follows(viewer, user)).length)
    equal(`the shown number of users that ${user} follows`, followingCount, facts.users.filter((each) => follows(user, each)).length)
    for (const each of facts.users)
      equal(`the stored follow of ${each} by ${user}`, end.storedFollows.get(followText(user, each)) ?? false, follows(user, each))
  }
  const shown = new Map(end.posts.map((figures) => [figures.id, figures]))
  for (const { id } of living) {
    const figures = shown.get(id)
    const stored = end.storedCounts.get(id) ?? { repost: 0, comment: 0, read: 0 }
    const [repost, comment, read] = [shared.get(id)?.length ?? 0, countOf(id, 'COMMENT'), countOf(id, 'READ')]
    equal(
      `the shown shares, comments and reads of ${id}`,
      triple(figures?.repostCount, figures?.commentCount, figures?.readCount),
      triple(repost, comment, read),
    )
    equal(
      `the stored shares, comments and reads of ${id}`,
      triple(stored.repost, stored.comment, stored.read),
      triple(repost, comment, read),
    )
  }
  for (const post of facts.posts.values()) checkStored(post, end, equal)
}

function checkStored(post: PostFact, { storedPosts }: EndState, equal: (what: string, found: unknown, wanted: unknown) => void): void {
  const stored = storedPosts.get(post.id)
  if (post.deleted < Infinity) return equal(`the stored post ${post.id}, which was deleted`, stored?.deleted ?? true, true)
  const contents = stored && !stored.deleted ? [stored.text, stored.source ?? null, stored.audience ?? null] : 'nothing'
  equal(`the stored post ${post.id}`, JSON.stringify(contents), JSON.stringify([post.text, post.source ?? null, post.audience ?? null]))
}

function triple(...counts: (number | null | undefined)[]): string {
  return counts.map(String).join(', ')
}

function idsOf(ids: readonly string[]): string {
  return ids.toSorted().join(' ')
}
