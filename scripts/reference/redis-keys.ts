/** The forms of Redis keys, made by the layouts that the hot stores use. */
import { regionTags } from '../../stores/redis/region-tags.ts'
import { makeSeenLayout } from '../../subgraphs/feed-existence/stores/redis/keys.ts'
import { makeCounterLayout } from '../../subgraphs/feed/stores/redis/counters/keys.ts'
import { makeFeedLayout } from '../../subgraphs/feed/stores/redis/keys.ts'
import { makeLongsetLayout } from '../../subgraphs/feed/stores/redis/longsets.ts'
import { makeLayout } from '../../subgraphs/history/stores/redis/keys.ts'
import { makeMarkLayout } from '../../subgraphs/thumbup/stores/redis/keys.ts'
import { code, table } from './page.ts'

const PREFIX = 'tm'
const REGIONS = 100
const [TAG = ''] = regionTags(REGIONS)

const VIEWER = '42'
const BUSINESS = 1
const SUBJECT = { business: BUSINESS, oid: '7' }
const DAY = 20_000

type Form<Layout> = { key: (layout: Layout) => string; type: string; holds: string }

/** `keys`: one per member of the layout that makes a key. `others`: members without keys of their own. */
type Words<Layout> = { title: string; layout: Layout; keys: Partial<Record<keyof Layout, Form<Layout>>>; others: readonly (keyof Layout)[] }

const HISTORY: Words<ReturnType<typeof makeLayout>> = {
  title: 'History',
  layout: makeLayout(PREFIX, REGIONS),
  keys: {
    contents: {
      key: (layout) => layout.contents(0, VIEWER, BUSINESS),
      type: 'hash',
      holds: 'Records of viewer 42 in business 1, by subject. The empty field holds the state of the timeline.',
    },
    timeline: {
      key: (layout) => layout.timeline(0, VIEWER, BUSINESS),
      type: 'sorted set',
      holds: 'The timeline of the viewer, newest first.',
    },
    settings: { key: (layout) => layout.settings(0, VIEWER), type: 'hash', holds: 'The settings of the viewer. The key never expires.' },
    dirty: { key: (layout) => layout.dirty(0), type: 'sorted set', holds: 'Dirty marks of the region, by the time of the first change.' },
    tombstones: { key: (layout) => layout.tombstones(0), type: 'sorted set', holds: 'Tombstones of the region, by the time of deletion.' },
    rewards: { key: (layout) => layout.rewards(0), type: 'sorted set', holds: 'Rewards that are not in the log yet.' },
    claimedDay: {
      key: (layout) => layout.claimedDay(0, VIEWER),
      type: 'string',
      holds: 'The last day that the viewer claimed for all businesses (`rewards.firstView: viewer`). The key expires after three days.',
    },
    version: { key: (layout) => layout.version(0), type: 'string', holds: 'The last version of the region.' },
    channel: {
      key: (layout) => layout.channel(0, VIEWER),
      type: 'shard channel',
      holds: 'Changes of the viewer, for subscriptions. The name contains the database number unless it is 0.',
    },
    answer: {
      key: (layout) => layout.answer(0, 'CALL'),
      type: 'string',
      holds: 'The answer to a deletion, a clearing or a pause, kept for a minute.',
    },
    never: { key: (layout) => layout.never(0), type: '–', holds: 'Never exists. A probe of the region reads it.' },
    meta: { key: (layout) => layout.meta, type: 'hash', holds: 'The format of the keys and the number of regions.' },
  },
  others: ['prefix', 'regions', 'regionOf', 'slot', 'regionOfKey', 'contentsPattern', 'contentsOf'],
}

const LIKES: Words<ReturnType<typeof makeMarkLayout>> = {
  title: 'Likes',
  layout: makeMarkLayout(PREFIX, REGIONS),
  keys: {
    likes: {
      key: (layout) => layout.likes(0, VIEWER, BUSINESS),
      type: 'sorted set',
      holds: 'Likes of viewer 42 in business 1, by time. Members are subjects.',
    },
    dislikes: {
      key: (layout) => layout.dislikes(0, VIEWER, BUSINESS),
      type: 'sorted set',
      holds: 'Dislikes of the viewer, in the same form.',
    },
    marks: {
      key: (layout) => layout.marks(0, VIEWER, BUSINESS),
      type: 'hash',
      holds: 'Pending marks and tombstones, by subject. The empty field holds the state of the viewer.',
    },
    dirty: { key: (layout) => layout.dirty(0), type: 'sorted set', holds: 'Dirty marks of the region, by the time of the first change.' },
    undone: { key: (layout) => layout.undone(0), type: 'sorted set', holds: 'Persisted tombstones, by the time of undoing.' },
    version: { key: (layout) => layout.version(0), type: 'string', holds: 'The last version of the region.' },
    count: { key: (layout) => layout.count(0, SUBJECT), type: 'string', holds: 'Counts of subject 7 of business 1, as `likes,dislikes`.' },
    countVersion: { key: (layout) => layout.countVersion(0, SUBJECT), type: 'string', holds: 'The version of these counts.' },
    countsChanged: {
      key: (layout) => layout.countsChanged(0),
      type: 'shard channel',
      holds: 'Changed counts of the region, for subscriptions. The name ends with the database number unless it is 0.',
    },
    likers: { key: (layout) => layout.likers(0, SUBJECT), type: 'sorted set', holds: 'The newest likers of the subject, by time.' },
    likersVersion: {
      key: (layout) => layout.likersVersion(0, SUBJECT),
      type: 'string',
      holds: 'The version of that list, followed by `,1` if it is complete and by `,0` if not.',
    },
    owner: {
      key: (layout) => layout.owner(0, BUSINESS, VIEWER),
      type: 'string',
      holds: 'Likes received by owner 42 in business 1, as `likes,version`.',
    },
    never: { key: (layout) => layout.never(0), type: '–', holds: 'Never exists. A probe of the region reads it.' },
    meta: { key: (layout) => layout.meta, type: 'hash', holds: 'The format of the keys and the number of regions.' },
  },
  others: [
    'regions',
    'regionOf',
    'regionOfSubject',
    'keysOfCounts',
    'slot',
    'regionOfKey',
    'viewersPattern',
    'viewerOf',
    'cachePattern',
    'cachedBusinessOf',
  ],
}

const FEED_EXISTENCE: Words<ReturnType<typeof makeSeenLayout>> = {
  title: 'Feed existence',
  layout: makeSeenLayout(PREFIX, REGIONS),
  keys: {
    issued: {
      key: (layout) => layout.issued(0, VIEWER, BUSINESS),
      type: 'sorted set',
      holds: 'Subjects served to viewer 42 in business 1, by time.',
    },
    staged: {
      key: (layout) => layout.staged(0, VIEWER),
      type: 'sorted set',
      holds: 'Staged plays of the viewer. The empty member holds a number that grows with each fold.',
    },
    ring: { key: (layout) => layout.ring(3, 0), type: 'set', holds: 'The ring: viewers with a staged play in slot 3 and shard 0.' },
    layouts: { key: (layout) => layout.layouts, type: 'hash', holds: 'The layouts of the ring, by the time of their start.' },
    flags: {
      key: (layout) => layout.flags(0, 'p', BUSINESS, DAY, '17'),
      type: 'bitmap or set',
      holds:
        'Viewers with a play on day 20000 in business 1. `i` in place of `p`: viewers who were served. A page that begins with `n` is a set of ids that are not integers.',
    },
    rewards: { key: (layout) => layout.rewards(0), type: 'sorted set', holds: 'Rewards that are not in the log yet.' },
    never: { key: (layout) => layout.never(0), type: '–', holds: 'Never exists. A probe of the region reads it.' },
    meta: { key: (layout) => layout.meta, type: 'hash', holds: 'The format of the keys and the number of regions.' },
  },
  others: ['regions', 'regionOf', 'slot', 'regionOfKey', 'ringOf', 'version'],
}

const FEED: Words<ReturnType<typeof makeFeedLayout>> = {
  title: 'Feed',
  layout: makeFeedLayout(PREFIX, REGIONS),
  keys: {
    post: {
      key: (layout) => layout.post(0, '912859244913491970'),
      type: 'string',
      holds: 'A post or its tombstone, by its id in hexadecimal digits.',
    },
    clientKeys: { key: (layout) => layout.clientKeys(0, VIEWER), type: 'hash', holds: 'The client keys of author 42, with their posts.' },
    outbox: { key: (layout) => layout.outbox(0, VIEWER), type: 'string', holds: 'Ids of recent public posts of author 42.' },
    deleted: { key: (layout) => layout.deleted(0, VIEWER), type: 'sorted set', holds: 'Ids that were removed from this outbox.' },
    inbox: { key: (layout) => layout.inbox(0, VIEWER), type: 'string', holds: 'Ids of recent posts for viewer 42.' },
    recalled: { key: (layout) => layout.recalled(0, VIEWER), type: 'sorted set', holds: 'Ids that were removed from this inbox.' },
    words: { key: (layout) => layout.words(0, VIEWER), type: 'string', holds: 'Filter words of viewer 42.' },
    dirty: { key: (layout) => layout.dirty(0), type: 'sorted set', holds: 'Dirty marks of the region, by the time of the first change.' },
    changes: {
      key: (layout) => layout.changes(0),
      type: 'sorted set',
      holds: 'Keys of changed cached values, and the last version of the region.',
    },
    held: { key: (layout) => layout.held(0), type: 'list', holds: 'Changes of posts in their order, for purges.' },
    never: { key: (layout) => layout.never(0), type: '–', holds: 'Never exists. A probe of the region reads it.' },
    meta: { key: (layout) => layout.meta, type: 'hash', holds: 'The format of the keys and the number of regions.' },
  },
  others: ['regions', 'regionOf', 'slot', 'regionOfKey', 'version', 'posts'],
}

const FOLLOWS: Words<ReturnType<typeof makeLongsetLayout>> = {
  title: 'Follows',
  layout: makeLongsetLayout(PREFIX, REGIONS),
  keys: {
    longset: {
      key: (layout) => layout.longset(VIEWER),
      type: 'string',
      holds: 'Whom viewer 42 follows, as one hash table. The key expires.',
    },
    lease: {
      key: (layout) => layout.lease(VIEWER),
      type: 'string',
      holds: 'The lease of processes that build this value. The key expires.',
    },
  },
  others: [],
}

const COUNTERS: Words<ReturnType<typeof makeCounterLayout>> = {
  title: 'Counters',
  layout: makeCounterLayout(PREFIX, REGIONS),
  keys: {
    block: {
      key: (layout) => layout.block(0, 4, 17),
      type: 'string',
      holds: 'Block 17 of the region in business 4: counters of about 24 subjects.',
    },
    size: {
      key: (layout) => layout.size(0, 4),
      type: 'hash',
      holds: 'The number of blocks and of subjects, and the schema of the counters.',
    },
    overflow: {
      key: (layout) => layout.overflow(0, 4),
      type: 'hash',
      holds: 'Totals that are too large for the bits of their counter, by subject.',
    },
    events: { key: (layout) => layout.events(0, 480_000), type: 'set', holds: 'Hashes of the events of an hour. The key expires.' },
    dirty: {
      key: (layout) => layout.dirty(0),
      type: 'sorted set',
      holds: 'Dirty subjects of the region, by the time of the first change.',
    },
    versions: { key: (layout) => layout.versions(0), type: 'hash', holds: 'The versions of these subjects.' },
    version: { key: (layout) => layout.version(0), type: 'string', holds: 'The last version of the region.' },
    never: { key: (layout) => layout.never(0), type: '–', holds: 'Never exists. A probe of the region reads it.' },
    meta: { key: (layout) => layout.meta, type: 'hash', holds: 'The format of the keys and the number of regions.' },
  },
  others: ['regions', 'regionOf', 'slot', 'regionOfKey'],
}

export function redisBlocks(): string[] {
  return [
    ...blocksOf(HISTORY),
    ...blocksOf(LIKES),
    ...blocksOf(FEED_EXISTENCE),
    ...blocksOf(FEED),
    ...blocksOf(FOLLOWS),
    ...blocksOf(COUNTERS),
  ]
}

function blocksOf<Layout extends object>({ title, layout, keys, others }: Words<Layout>): string[] {
  const known = new Set([...Object.keys(keys), ...others])
  const unknown = Object.keys(layout).find((member) => !known.has(member))
  if (unknown !== undefined)
    throw new Error(`the key "${unknown}" of ${title} has no description: add one in scripts/reference/redis-keys.ts`)
  const forms = Object.values(keys) as Form<Layout>[]
  const rows = forms.map(({ key, type, holds }) => [code(key(layout).replaceAll(`{${TAG}}`, '{TAG}')), type, holds])
  return [`### Keys of ${title.toLowerCase()}`, table(['key', 'type', 'holds'], rows)]
}
