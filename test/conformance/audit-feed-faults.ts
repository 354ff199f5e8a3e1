/** For every check of the feed, ways to break its promise. */
import { randomUUID } from 'node:crypto'
import { asking, changing, halfDoing, inSecond, pretending, refusing, withVariables, type PlannedFault } from './fault-kinds.ts'
import {
  ASKS,
  afterWriteBack,
  deletesForAnybody,
  filtersPages,
  firstCallerForAll,
  leakingFrom,
  listsOf,
  neverFalling,
  remembersRejected,
  showsDeleted,
} from './feed-fault-kinds.ts'
import { everybodyIsSomebody } from './fault-viewers.ts'
import { askedWith, type Asked } from './faulty-proxy.ts'

const wrongCode = refusing('refuses with another code', { code: 'INTERNAL' })
const noSentence = refusing('refuses without a sentence', { message: 'Invalid' })

const fakeFollowing = (operation: RegExp, field: string, follows: boolean): PlannedFault =>
  pretending(`acknowledges ${field} and does nothing`, operation, ({ variables }) => ({
    [field]: {
      results: variables.ids.map((id: string) => ({ outcome: 'CHANGED', user: { id, viewerFollows: follows }, userErrors: [] })),
      userErrors: [],
    },
  }))
const fakeFollow = fakeFollowing(/AuditFeedFollow\b/, 'follow', true)
const fakeUnfollow = fakeFollowing(/AuditFeedUnfollow\b/, 'unfollow', false)
const alwaysChanged = changing('says that every follow is a change', /AuditFeed(Follow|Unfollow)\b/, (data) => {
  for (const result of (data.follow ?? data.unfollow).results) result.outcome = 'CHANGED'
})
const user = (name: string, change: (user: any) => void): PlannedFault =>
  changing(name, /AuditFeedUser\b/, ({ feedUser }) => change(feedUser))
const followsNobody = user('says that the viewer does not follow', (each) => (each.viewerFollows = false))
const oneFollowerMore = user('counts a follower too many', (each) => (each.followerCount += 1))

const fakePublish = pretending('acknowledges posts and loses them', ASKS.publish, ({ variables, headers }) => ({
  publishPost: {
    post: {
      ...{ __typename: 'Post', id: '1', business: 'post', author: { id: headers['x-viewer-id'] }, text: variables.input.text },
      ...{ media: variables.input.media ?? [], createdAt: Date.now(), restricted: false, source: null, sourceState: null },
      ...{ repostCount: 0, commentCount: 0, readCount: 0 },
    },
    repeated: false,
    userErrors: [],
  },
}))
const publishing = (name: string, change: (input: any) => object): PlannedFault =>
  withVariables(name, ASKS.publish, ({ input }) => ({ input: { ...input, ...change(input) } }))
const newKeys = publishing('ignores the clientKey', () => ({ clientKey: randomUUID() }))
const forAll = publishing('ignores the audience', () => ({ audience: null }))
const neverRepeated = changing('says of no post that it is repeated', ASKS.publish, ({ publishPost }) => (publishPost.repeated = false))
const fakeDelete = pretending('acknowledges deletions and does nothing', ASKS.delete, ({ variables: { id }, headers }) => ({
  deletePost: { post: { id, text: null }, author: { id: headers['x-viewer-id'], postCount: 0 }, userErrors: [] },
}))
const post = (name: string, change: (post: any, asked: Asked) => void, operation = ASKS.posts): PlannedFault =>
  changing(name, operation, (data, asked) => {
    for (const each of data.posts ?? data.subjects) if (each) change(each, asked)
  })
const onePostMore = changing('counts a post too many', ASKS.userPosts, ({ feedUser }) => (feedUser.postCount += 1))

const withoutFirst = listsOf('lists all but the newest', ({ edges }) => void edges.shift())
const skipping = listsOf('skips an entry between pages', ({ edges }, asked) => void (asked.variables.after && edges.shift()))
const repeating = listsOf('lists an entry again on the next page', ({ edges, pageInfo }, asked) => {
  if (!asked.variables.after || edges.length === 0) return
  edges.unshift(edges[0])
  if (pageInfo.hasNextPage) edges.splice(-2, 1)
})
const disordered = listsOf('lists two in the wrong order', ({ edges }) => {
  if (edges.length > 4) [edges[1], edges[3]] = [edges[3], edges[1]]
})
const halfEmpty = listsOf('has pages that are not full', ({ edges, pageInfo }) => {
  if (!pageInfo.hasNextPage) return
  edges.pop()
  pageInfo.endCursor = edges.at(-1)?.cursor ?? null
})
const startsAgain = withVariables('starts again after any cursor', ASKS.lists, () => ({ after: null }))

const fakeWords = pretending('acknowledges filter words and ignores them', /AuditFeedSetWords\b/, ({ variables: { words } }) => ({
  setFilterWords: { filterWords: { words }, userErrors: [] },
}))
const events = (name: string, change: (event: any) => object): PlannedFault =>
  withVariables(name, ASKS.count, (variables) => ({ events: variables.events.map((event: any) => ({ ...event, ...change(event) })) }))
const newEventKeys = events('ignores the keys of events', () => ({ key: randomUUID() }))
const results = (name: string, change: (result: any) => void): PlannedFault =>
  changing(name, ASKS.count, (data) => data.adjustCounts.results.forEach(change))
const fakeCount = pretending('acknowledges events and counts nothing', ASKS.count, ({ variables }) => ({
  adjustCounts: {
    results: variables.events.map(({ id }: any) => ({ outcome: 'COUNTED', post: { id, commentCount: 0, readCount: 0 }, userErrors: [] })),
    userErrors: [],
  },
}))
const countsNeverFall = neverFalling('lets no count fall', ['repostCount', 'commentCount', 'postCount'])

const silent: PlannedFault = { name: 'passes no event on', make: () => ({ passes: () => false }) }
const firstEventOnly: PlannedFault = {
  name: 'tells the first change only',
  make: () => {
    let told = 0
    return { passes: (event) => event?.data?.homeFeedChanged === undefined || told++ === 0 }
  },
}

const storesPost = halfDoing('stores refused posts', ASKS.publish, (asked) =>
  askedWith(asked, { variables: { input: { clientKey: randomUUID(), text: 'stored' } } }),
)
const storesWords = halfDoing('stores refused words', /AuditFeedSetWords\b/, (asked) =>
  askedWith(asked, { variables: { words: ['stored'] } }),
)
const storesFollow = halfDoing('follows a user of a refused call', /AuditFeedFollow\b/, (asked) =>
  askedWith(asked, { variables: { ids: [randomUUID()] } }),
)
const storesEvent = halfDoing('counts an event of a refused call', ASKS.count, (asked) =>
  askedWith(asked, { variables: { events: [{ ...asked.variables.events.at(-1), key: randomUUID() }] } }),
)
const answersAll = pretending('answers requests it should refuse', /AuditFeed(Home|Posts|UserPosts|Following)\b/, () => ({
  homeFeed: { edges: [], pageInfo: {} },
  feedUser: {},
  posts: [],
}))
const tells = (name: string, from: string, to: string): PlannedFault =>
  changing(name, /AuditFeed(Publish|Delete)\b/, (data) => {
    for (const mistake of (data.publishPost ?? data.deletePost).userErrors) if (mistake.code === from) mistake.code = to
  })

const BAD_POSTS = [
  ...['text-long', 'text-broken', 'empty', 'media-many', 'media-address', 'audience-empty', 'audience-1001', 'audience-id-long'],
  ...['audience-id-broken', 'key-empty', 'key-long', 'source-unknown'],
]
const BAD_READS = [
  ...['home-first-0', 'home-first-101', 'user-posts-first-101', 'home-cursor-broken', 'user-posts-cursor-broken'],
  ...['following-cursor-broken', 'posts-201-ids', 'posts-id-long'],
]

/** By the id of the check that must detect the fault. */
export const FEED_FAULTS: Record<string, readonly PlannedFault[]> = {
  'follow-at-once': [
    ...[fakeFollow, fakeUnfollow, withoutFirst, followsNobody, oneFollowerMore],
    user('counts no followed user', (each) => (each.followingCount = 0)),
  ],
  'follow-across-processes': [inSecond(followsNobody), inSecond(withoutFirst), fakeFollow, fakeUnfollow],
  'follow-repeated': [alwaysChanged, oneFollowerMore, fakeFollow],
  'following-paged': [skipping, repeating, disordered, halfEmpty],
  'follow-for-everybody': [
    ...[fakeFollow, fakeUnfollow, withoutFirst, neverFalling('lets no count fall', ['followerCount'])],
    user('shows the follow of anybody', (each) => (each.viewerFollows = true)),
  ],
  'post-at-once': [
    ...[fakePublish, withoutFirst, onePostMore],
    publishing('loses characters of two units', ({ text }) => ({ text: text.replace(/[\ud800-\udfff]/g, '') })),
    publishing('loses media', () => ({ media: [] })),
    changing('shows nothing to anonymous callers', ASKS.posts, (data, { headers }) => {
      if (headers['x-viewer-id'] === undefined) data.posts = data.posts.map(() => null)
    }),
    changing('knows the post in lists only', ASKS.posts, (data) => (data.posts = data.posts.map(() => null))),
  ],
  'post-across-processes': [inSecond(withoutFirst), inSecond(showsDeleted), inSecond(onePostMore), fakeDelete],
  'publish-repeated': [newKeys, neverRepeated],
  'publish-at-once': [newKeys, neverRepeated],
  'client-key-reused': [newKeys, wrongCode, noSentence, storesPost],
  'home-newest-first': [
    ...[disordered, withoutFirst],
    listsOf('leaves out an author', (list) => {
      const [, second] = new Set(list.edges.map(({ node }: any) => node.author.id))
      list.edges = list.edges.filter(({ node }: any) => node.author.id !== second)
    }),
    listsOf('lists the oldest first', ({ edges }) => void edges.reverse()),
  ],
  'home-paged': [skipping, repeating, halfEmpty, startsAgain],
  'home-paged-while-deleting': [fakeDelete, skipping, repeating, startsAgain],
  'user-posts-paged': [skipping, repeating, halfEmpty, disordered],
  'home-after-unfollow': [fakeUnfollow, fakeFollow, startsAgain],
  'posts-in-order': [
    changing('answers in another order', ASKS.posts, (data) => void data.posts.reverse()),
    changing('answers each id once', ASKS.posts, (data) => (data.posts = [...new Set(data.posts)])),
    changing('leaves out what does not exist', ASKS.posts, (data) => (data.posts = data.posts.filter((each: any) => each !== null))),
    fakeDelete,
  ],
  'filter-words': [
    ...[fakeWords, filtersPages],
    asking('takes the first word only', /AuditFeedSetWords\b/, (asked) =>
      askedWith(asked, { variables: { words: asked.variables.words.slice(0, 1) } }),
    ),
  ],
  'filter-words-of-one-viewer': [
    fakeWords,
    listsOf('hides posts in all lists', (list) => (list.edges = [])),
    changing('shows the words of anybody', /AuditFeedWords\b/, ({ filterWords }) => (filterWords.words = ['cats', 'dogs'])),
  ],
  'deleted-post-gone': [fakeDelete, showsDeleted, onePostMore],
  'deleted-post-stays-deleted': [newKeys, neverRepeated],
  'source-of-repost': [
    fakeDelete,
    post('knows no source', (each) => (each.source = null)),
    post('shows every source as readable', (each) => (each.sourceState = 'SHOWN')),
    post('knows no source of an entity', (each) => (each.source = null), ASKS.entities),
    publishing('publishes without the source', () => ({ source: null })),
  ],
  'restricted-for-audience': [
    ...[withoutFirst, forAll],
    changing('shows a post for chosen viewers to nobody', ASKS.posts, (data) => (data.posts = data.posts.map(() => null))),
    post('hides the entity from all', (each) => (each.text = null), ASKS.entities),
  ],
  'restricted-for-the-largest-audience': [
    publishing('drops the last of a large audience', ({ audience }) => ({ audience: audience?.slice(0, 999) })),
  ],
  'restricted-in-no-list': [forAll, leakingFrom(ASKS.home), leakingFrom(ASKS.userPosts)],
  'restricted-in-no-lookup': [forAll, leakingFrom(ASKS.posts)],
  'restricted-as-entity': [
    ...[forAll, leakingFrom(ASKS.entities)],
    post('shows the time of a hidden post', (each) => (each.createdAt = Date.now()), ASKS.entities),
    post('shows the counts of a hidden post', (each) => (each.readCount = 0), ASKS.entities),
  ],
  'restricted-across-processes': [forAll, inSecond(withoutFirst), inSecond(firstCallerForAll)],
  'restricted-not-counted': [forAll, onePostMore, post('counts a repost too many', (each) => (each.repostCount += 1))],
  'restricted-not-shared': [
    ...[forAll, wrongCode, noSentence, storesPost],
    tells('tells strangers that the post exists', 'POST_UNKNOWN', 'SOURCE_RESTRICTED'),
  ],
  'restricted-deleted': [fakeDelete, showsDeleted],
  'restricted-marks': [
    ...[forAll, wrongCode],
    changing('counts a like for everybody', /AuditCounts\b/, ({ subjects }) => subjects.forEach((each: any) => (each.likeCount = 1))),
    changing('shows the mark of anybody', /AuditStates\b/, ({ subjects }) => subjects.forEach((each: any) => (each.viewerMark = 'LIKE'))),
    pretending('acknowledges marks and loses them', /AuditMark\b/, ({ variables: { input } }) => ({
      setMark: { outcome: 'ACCEPTED', userErrors: [], oldMark: 'NONE', mark: input.mark, changed: true, state: 'PENDING', subject: null },
    })),
  ],
  'post-count-equals-posts': [fakeDelete, onePostMore, countsNeverFall],
  'repost-count': [fakeDelete, newKeys, countsNeverFall],
  'adjust-counts': [
    fakeCount,
    events('counts each event as one', ({ delta }) => ({ delta: Math.sign(delta) })),
    events('takes reads for comments', () => ({ counter: 'COMMENT' })),
    results('answers old counts', (result) => (result.post.commentCount = 0)),
  ],
  'count-event-repeated': [newEventKeys, fakeCount, results('calls no event repeated', (result) => (result.outcome = 'COUNTED'))],
  'count-event-out-of-order': [
    ...[remembersRejected, newEventKeys],
    results('accepts what would be below zero', (result) => Object.assign(result, { outcome: 'COUNTED', userErrors: [] })),
    post('counts below zero', (each) => (each.commentCount -= 1)),
  ],
  'feed-stays': [
    afterWriteBack(post('loses counts', (each) => (each.commentCount = 0))),
    afterWriteBack(withoutFirst),
    afterWriteBack(newEventKeys),
    afterWriteBack(newKeys),
    fakeDelete,
  ],
  'home-feed-changed': [silent, firstEventOnly, fakePublish],
  'home-feed-changed-across-processes': [silent, firstEventOnly],
  'home-feed-changed-restricted': [silent, forAll],
  'home-feed-changed-since-broken': [{ name: 'begins now', make: () => ({ open: (asked) => askedWith(asked, { variables: {} }) }) }],
  ...Object.fromEntries(BAD_POSTS.map((id) => [`publish-${id}`, [wrongCode, noSentence, storesPost]])),
  ...Object.fromEntries(BAD_READS.map((id) => [id, [wrongCode, noSentence, answersAll]])),
  ...Object.fromEntries(['101', 'blank', 'long', 'broken'].map((id) => [`filter-words-${id}`, [wrongCode, noSentence, storesWords]])),
  'feed-cursors-of-other-lists': [startsAgain, wrongCode],
  'follow-bad-ids': [wrongCode, noSentence, fakeFollow, storesFollow],
  'follow-501': [wrongCode, noSentence, storesFollow],
  'delete-of-others': [
    ...[wrongCode, noSentence, deletesForAnybody],
    tells('tells strangers that the post exists', 'POST_UNKNOWN', 'FORBIDDEN'),
  ],
  'source-deleted': [fakeDelete, wrongCode, noSentence, storesPost],
  'count-bad-events': [wrongCode, noSentence, fakeCount, storesEvent],
  'count-501': [wrongCode, noSentence, storesEvent],
  'count-without-scope': [
    wrongCode,
    asking('gives every caller every scope', ASKS.count, (asked) => ({
      ...asked,
      headers: { ...asked.headers, 'x-viewer-scopes': 'counts:write' },
    })),
  ],
  'feed-for-nobody': [wrongCode, everybodyIsSomebody],
}
