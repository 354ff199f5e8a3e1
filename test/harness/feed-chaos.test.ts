/** The checker of `npm run bench -- chaos-feed`: each planted fault in a recorded history is found, and a right history passes. */
import { describe, expect, test } from 'vitest'
import { violationsOf } from '../../harness/chaos/feed/checker.ts'
import {
  followText,
  makeHistory,
  type CountedEvent,
  type EndState,
  type FeedHistory,
  type Lookup,
  type PageRead,
  type ShownPost,
} from '../../harness/chaos/feed/history.ts'

const [ANN, BOB, CAT] = ['1', '2', '3']
const USERS = [ANN, BOB, CAT] as const
const MINUTE = 60_000

/** Each call takes 10 ms and begins 100 ms after the last one. */
function record() {
  const history = makeHistory(USERS)
  let [now, ids, keys] = [10 * MINUTE, 100, 0]
  const interval = () => ({ begun: (now += 100), ended: now + 10 })

  function publish(author: string, input: { audience?: string[]; source?: string } = {}): string {
    const [id, text] = [String(++ids), `text ${++keys}`]
    const { audience, source } = input
    history.publications.push({ ...interval(), author, key: text, text, source, audience, id, code: undefined })
    return id
  }

  function shownOf(id: string): ShownPost {
    const { author, text, source } = history.publications.find((each) => each.id === id) ?? { author: ANN, text: '', source: undefined }
    return { id, author, text, source: source ?? null, sourceState: source === undefined ? null : 'SHOWN' }
  }

  const reader = (viewer: string) => ({ ...interval(), viewer, lacks: [] as string[], out: [] as string[] })
  return {
    history,
    publish,
    shownOf,
    wait: (ms: number) => (now += ms),
    remove: (viewer: string, id: string) => void history.deletions.push({ ...interval(), viewer, id, code: undefined }),
    follow(viewer: string, user: string, follows = true, isFirm = true): void {
      history.follows.push({ ...interval(), viewer, user, follows, isFirm, shown: follows })
    },
    count(key: string, id: string, answer: string, more: Partial<CountedEvent> = {}): void {
      history.events.push({ ...interval(), key, id, counter: 'COMMENT', delta: 1, answer, isFirst: false, ...more })
    },
    home(owner: string, shown: string[], more: Partial<PageRead> = {}): void {
      const list = { kind: 'homeFeed', owner } as const
      const page = { list, first: 20, before: undefined, downTo: undefined, hasNextPage: false, posts: shown.map(shownOf) }
      history.pages.push({ ...reader(owner), ...page, ...more })
    },
    lookUp(viewer: string, ids: string[], shown: (string | null)[], more: Partial<Lookup> = {}): void {
      const counts = ids.map(() => ({ commentCount: 0, readCount: 0 }))
      history.lookups.push({ ...reader(viewer), ids, posts: shown.map((id) => (id === null ? null : shownOf(id))), counts, ...more })
    },
    readFollows: (viewer: string, user: string, follows: boolean) =>
      void history.followsReads.push({ ...reader(viewer), users: [user], follows: [follows] }),
  }
}

/** The rules of the violations. */
const rulesOf = (history: FeedHistory): string[] => [
  ...new Set(violationsOf(history).map((sentence) => sentence.split(':', 1)[0] as string)),
]

/** Ann has three posts, Bob follows her, and one of Ann's posts is for Cat alone. */
function played() {
  const run = record()
  const [first, second] = [run.publish(ANN), run.publish(ANN)]
  run.follow(BOB, ANN)
  const third = run.publish(ANN)
  const secret = run.publish(ANN, { audience: [CAT] })
  return { ...run, first, second, third, secret }
}

describe('a right history passes', () => {
  test('with pages, restricted posts, deletions, follows and counts', () => {
    const { history, home, lookUp, remove, publish, follow, count, readFollows, first, second, third, secret } = played()
    home(BOB, [third, second], { first: 2, downTo: second, hasNextPage: true })
    home(BOB, [first], { before: second })
    home(CAT, [secret])
    lookUp(CAT, [secret, first], [secret, first])
    lookUp(BOB, [secret], [null])
    remove(ANN, second)
    home(BOB, [third, first])
    const shared = publish(BOB, { source: first })
    lookUp(CAT, [shared], [shared])
    count('e', first, 'COUNTED', { isFirst: true })
    count('e', first, 'REPEATED')
    lookUp(CAT, [first], [first], { counts: [{ commentCount: 1, readCount: 0 }] })
    follow(BOB, ANN, false)
    readFollows(BOB, ANN, false)
    home(BOB, [])
    expect(violationsOf(history)).toEqual([])
  })

  test('with changes under way, which may be seen or not', () => {
    const { history, home, publish, follow, first, second, third } = played()
    const late = publish(ANN)
    const publication = history.publications.find(({ id }) => id === late)
    if (publication !== undefined) publication.ended += MINUTE
    home(BOB, [third, second, first])
    home(BOB, [late, third, second, first])
    // A follow in the journal may be seen later.
    follow(BOB, ANN, false, false)
    home(BOB, [third, second, first])
    home(BOB, [])
    expect(violationsOf(history)).toEqual([])
  })

  test('without the newest changes while the hot store is down', () => {
    const { history, home, remove, follow, first, second, third } = played()
    const down = { lacks: ['hotStore'], out: ['redis'] }
    home(BOB, [second, first], down)
    remove(ANN, first)
    home(BOB, [third, second, first], down)
    follow(BOB, ANN, false)
    home(BOB, [third, second], down)
    expect(violationsOf(history)).toEqual([])
  })
})

describe('a planted fault is found:', () => {
  test('a lost deletion, which a page shows to a reader who starts afterwards', () => {
    const { history, home, remove, first, second, third } = played()
    remove(ANN, second)
    home(BOB, [third, second, first])
    expect(violationsOf(history)).toEqual([expect.stringMatching(/^deleted: .* shows post 102 of 1, deleted 90 ms before$/)])
  })

  test('a deleted post in a lookup, and as the source of another one', () => {
    const { history, lookUp, publish, remove, first } = played()
    const shared = publish(BOB, { source: first })
    remove(ANN, first)
    lookUp(CAT, [first], [first])
    lookUp(CAT, [shared], [shared])
    expect(violationsOf(history).map((each) => each.slice(0, 8))).toEqual(['deleted:', 'deleted:'])
  })

  test('a deleted post that is shown long after, although the hot store is down', () => {
    const { history, home, remove, wait, first, second, third } = played()
    remove(ANN, second)
    wait(5 * MINUTE)
    home(BOB, [third, second, first], { lacks: ['hotStore'], out: ['redis'] })
    expect(rulesOf(history)).toEqual(['deleted'])
  })

  test('a restricted post in the home feed of a follower, or in a lookup, also while stores are down', () => {
    const { history, home, lookUp, first, second, third, secret } = played()
    const down = { lacks: ['hotStore', 'recordStore'], out: ['redis', 'mariadb'] }
    home(BOB, [secret, third, second, first], down)
    lookUp(BOB, [secret], [secret])
    expect(violationsOf(history).filter((each) => each.startsWith('audience: '))).toHaveLength(2)
  })

  test('a restricted post that was shared', () => {
    const { history, publish, secret } = played()
    publish(CAT, { source: secret })
    expect(rulesOf(history)).toEqual(['audience'])
  })

  test('an answer that tells another viewer that a restricted post exists', () => {
    const { history, secret } = played()
    history.deletions.push({ begun: 11 * MINUTE, ended: 11 * MINUTE, viewer: BOB, id: secret, code: 'FORBIDDEN' })
    expect(rulesOf(history)).toEqual(['audience'])
  })

  test('an acknowledged follow that is lost: in the list, and in the pages', () => {
    const { history, home, readFollows, follow } = played()
    follow(BOB, CAT)
    readFollows(BOB, CAT, false)
    home(BOB, [])
    expect(rulesOf(history)).toEqual(['missing', 'lists'])
  })

  test('an unfollow without effect', () => {
    const { history, home, follow, first, second, third } = played()
    follow(BOB, ANN, false)
    home(BOB, [third, second, first])
    expect(rulesOf(history)).toEqual(['followed'])
  })

  test('an event that is counted twice, and a count that shows it', () => {
    const { history, lookUp, count, first } = played()
    count('e', first, 'COUNTED', { isFirst: true })
    count('e', first, 'COUNTED')
    lookUp(CAT, [first], [first], { counts: [{ commentCount: 2, readCount: 0 }] })
    expect(violationsOf(history)).toEqual([
      'counts: the event e of 101 was counted again',
      expect.stringMatching(/^counts: .* has 2 COMMENT of 101 instead of 1 to 1$/),
    ])
  })

  test('a new event that counts as repeated, and an event that is refused without a reason', () => {
    const { history, count, first } = played()
    count('e', first, 'REPEATED', { isFirst: true })
    count('f', first, 'COUNTED', { delta: 5 })
    count('g', first, 'DELTA_INVALID', { delta: -5 })
    expect(violationsOf(history)).toHaveLength(2)
    expect(rulesOf(history)).toEqual(['counts'])
  })

  test('an acknowledged post that a page or a lookup lacks', () => {
    const { history, home, lookUp, first, second, third } = played()
    home(BOB, [third, first])
    lookUp(CAT, [second], [null])
    home(BOB, [third, first], { lacks: ['recordStore'], out: ['mariadb'] })
    expect(violationsOf(history).map((each) => each.slice(0, 8))).toEqual(['missing:', 'missing:', 'missing:'])
  })

  test('an old post that is missing while only the hot store is down', () => {
    const { history, home, wait, first, third } = played()
    wait(5 * MINUTE)
    home(BOB, [third, first], { lacks: ['hotStore'], out: ['redis'] })
    expect(rulesOf(history)).toEqual(['missing'])
  })

  test('a walk that skips a post between two pages, and one that repeats a post', () => {
    const { history, home, first, second, third } = played()
    home(BOB, [third], { first: 1, downTo: third, hasNextPage: true })
    home(BOB, [first], { before: third })
    home(BOB, [third, second], { first: 2, downTo: third, hasNextPage: true })
    home(BOB, [second, third, first])
    expect(violationsOf(history).map((each) => each.split(' ', 1)[0])).toEqual(['missing:', 'scroll:', 'scroll:'])
  })

  test('a page that names a store which was in order, and a page that is null without a reason', () => {
    const { history, home, first, second, third } = played()
    home(BOB, [third, second, first], { lacks: ['hotStore'], out: ['kafka'] })
    home(BOB, [], { posts: null })
    expect(rulesOf(history)).toEqual(['healthy', 'missing'])
  })

  test('a client key with two posts, and contents that were not published', () => {
    const { history, home, shownOf, first, second, third } = played()
    const [publication] = history.publications
    if (publication !== undefined) history.publications.push({ ...publication, id: '999' })
    home(BOB, [], { posts: [{ ...shownOf(third), text: 'other' }, shownOf(second), shownOf(first)] })
    expect(rulesOf(history)).toEqual(['key', 'invented', 'missing'])
  })
})

describe('the end', () => {
  function ended(): { history: FeedHistory; end: EndState; posts: string[] } {
    const { history, remove, count, publish, first, second, third, secret } = played()
    const shared = publish(BOB, { source: first })
    remove(ANN, second)
    count('e', first, 'COUNTED')
    const stored = (id: string) => history.publications.find((each) => each.id === id) as FeedHistory['publications'][number]
    const posts = [first, third, secret, shared]
    const none = { repost: 0, comment: 0, read: 0 }
    const end: EndState = {
      users: [
        { user: ANN, postCount: 2, followerCount: 1, followingCount: 0 },
        { user: BOB, postCount: 1, followerCount: 0, followingCount: 1 },
        { user: CAT, postCount: 0, followerCount: 0, followingCount: 0 },
      ],
      posts: posts.map((id) => ({ id, repostCount: id === first ? 1 : 0, commentCount: id === first ? 1 : 0, readCount: 0 })),
      storedPosts: new Map([...posts, second].map((id) => [id, { ...stored(id), deleted: id === second }])),
      storedOutboxes: new Map([
        [ANN, [third, first]],
        [BOB, [shared]],
      ]),
      storedInboxes: new Map([[CAT, [secret]]]),
      storedCounts: new Map(posts.map((id) => [id, id === first ? { repost: 1, comment: 1, read: 0 } : none])),
      storedPostCounts: new Map([
        [ANN, 2],
        [BOB, 1],
        [CAT, 0],
      ]),
      storedFollows: new Map([[followText(BOB, ANN), true]]),
    }
    history.end = end
    return { history, end, posts }
  }

  test('is right if figures and rows equal the model', () => {
    expect(violationsOf(ended().history)).toEqual([])
  })

  test.each<[string, (end: EndState, post: string) => void]>([
    ['a post that is not stored', (end, post) => void end.storedPosts.delete(post)],
    ['a post that is stored as deleted', (end, post) => void Object.assign(end.storedPosts.get(post) as object, { deleted: true })],
    ['a deletion that is not stored', (end) => end.storedPosts.forEach((post) => Object.assign(post, { deleted: false }))],
    ['a stored post with another audience', (end, post) => void Object.assign(end.storedPosts.get(post) as object, { audience: [BOB] })],
    ['a restricted post in a stored outbox', (end) => void end.storedOutboxes.get(ANN)?.push('104')],
    ['a restricted post that left a stored inbox', (end) => end.storedInboxes.clear()],
    ['an acknowledged follow that is not stored', (end) => end.storedFollows.clear()],
    ['an event that is stored twice', (end, post) => void Object.assign(end.storedCounts.get(post) as object, { comment: 2 })],
    ['a share that is not counted', (end) => end.posts.forEach((post) => (post.repostCount = 0))],
    ['a restricted post in the number of posts', (end) => end.users.forEach((user) => (user.postCount = (user.postCount ?? 0) + 1))],
  ])('shows %s', (_, plant) => {
    const { history, end, posts } = ended()
    plant(end, posts[0] as string)
    expect(rulesOf(history)).toEqual(['end'])
  })
})
