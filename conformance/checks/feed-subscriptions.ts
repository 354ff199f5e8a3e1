/** homeFeedChanged sends the number of posts above the newest one that the viewer has. */
import { isDeepStrictEqual } from 'node:util'
import type { Audit } from '../audited.ts'
import { openEvents, type Events } from '../changes.ts'
import type { Check } from '../check.ts'
import { feed } from '../feed.ts'
import { HOME_CHANGED, type Waiting } from '../feed-operations.ts'
import { CheckFailed, expectEqual } from '../outcome.ts'
import type { AuditViewer } from '../viewer.ts'

/** Two changes within the interval of events may come as one event, so this reads until the expected one. */
async function expectWaiting(audit: Audit, events: Events<Waiting>, expected: Waiting): Promise<void> {
  let last: Waiting | undefined
  for (const until = performance.now() + audit.eventMaxMs; performance.now() < until;) {
    const seen = await events.next(Math.max(0, until - performance.now()))
    if (seen === undefined) break
    last = seen
    if (isDeepStrictEqual({ ...seen }, expected)) return
  }
  const within = `the event ${JSON.stringify(expected)} within ${audit.eventMaxMs / 1_000} s`
  throw new CheckFailed(within, last === undefined ? 'no event' : `${JSON.stringify(last)} as the last event`)
}

/** `elsewhere`: the author as a client of any process. */
async function expectTold(audit: Audit, reader: AuditViewer, author: AuditViewer, elsewhere: AuditViewer): Promise<void> {
  const { published, deletePost } = await feed(audit)
  const since = await published(author, 'seen')
  const events = await openEvents<Waiting>(reader.url, reader.headers, HOME_CHANGED, { since }, 'homeFeedChanged')
  try {
    const first = await published(elsewhere, 'a')
    await expectWaiting(audit, events, { waiting: 1, newest: first })
    const second = await published(elsewhere, 'b')
    await expectWaiting(audit, events, { waiting: 2, newest: second })
    await deletePost(elsewhere, second)
    await expectWaiting(audit, events, { waiting: 1, newest: first })
  } finally {
    events.end()
  }
}

export const feedSubscriptions: readonly Check[] = [
  {
    id: 'home-feed-changed',
    sentence: 'homeFeedChanged sends the number of new posts and the newest one after each publication and deletion.',
    async check(audit) {
      const { follower } = await feed(audit)
      const author = await audit.ownViewer()
      await expectTold(audit, await follower(author), author, author)
    },
  },
  {
    id: 'home-feed-changed-across-processes',
    sentence: 'homeFeedChanged counts posts that were published through another process.',
    async check(audit) {
      const { follower } = await feed(audit)
      const author = await audit.ownViewer()
      const elsewhere = author.at(audit.second())
      await expectTold(audit, await follower(author), author, elsewhere)
    },
  },
  {
    id: 'home-feed-changed-restricted',
    sentence: 'homeFeedChanged counts a post for chosen viewers for them, and not for other followers of the author.',
    async check(audit) {
      const { published, follower } = await feed(audit)
      const author = await audit.ownViewer()
      const [friend, stranger] = [await follower(author), await follower(author)]
      const since = await published(author, 'seen')
      const open = (reader: AuditViewer) => openEvents<Waiting>(reader.url, reader.headers, HOME_CHANGED, { since }, 'homeFeedChanged')
      const [ofFriend, ofStranger] = [await open(friend), await open(stranger)]
      try {
        const secret = await published(author, 'secret', { audience: [friend.id] })
        await expectWaiting(audit, ofFriend, { waiting: 1, newest: secret })
        const shown = await published(author, 'for all')
        await expectWaiting(audit, ofFriend, { waiting: 2, newest: shown })
        // The first event of the other follower: the post for others caused none.
        const seen = await ofStranger.next(audit.eventMaxMs)
        expectEqual('the first event of another follower', seen && { ...seen }, { waiting: 1, newest: shown })
      } finally {
        ofFriend.end()
        ofStranger.end()
      }
    },
  },
  {
    id: 'home-feed-changed-since-broken',
    sentence: 'A subscription to homeFeedChanged since an id that is no post is refused with ID_INVALID.',
    async check(audit) {
      await feed(audit)
      const { url, headers } = await audit.anyViewer()
      const events = await openEvents(url, headers, HOME_CHANGED, { since: 'no post' }, 'homeFeedChanged')
      try {
        expectEqual('the codes of the errors', await events.errorCodes(audit.eventMaxMs), ['ID_INVALID'])
      } finally {
        events.end()
      }
    },
  },
]
