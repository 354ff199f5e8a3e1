/** Who follows whom: readable at once by the viewer who follows, and a little later by everybody. */
import type { Check } from '../check.ts'
import { expectUser, feed, idsOf } from '../feed.ts'
import { walkList } from '../lists.ts'
import { expectEqual } from '../outcome.ts'

export const feedFollows: readonly Check[] = [
  {
    id: 'follow-at-once',
    sentence: 'A follow and an unfollow are at once in viewerFollows, in both lists and in both counts of the viewer who made them.',
    async check(audit) {
      const { follow, unfollow, following, followers, user } = await feed(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      for (const follows of [true, false, true]) {
        const when = follows ? 'after a follow' : 'after the end of a follow'
        const results = await (follows ? follow : unfollow)(viewer, [other.id])
        const expected = { outcome: 'CHANGED', user: { id: other.id, viewerFollows: follows }, userErrors: [] }
        expectEqual(`the answer ${when}`, results, [expected])
        const counts = { viewerFollows: follows, followerCount: Number(follows) }
        await expectUser(audit, () => user(viewer, other.id), `the followed user ${when}`, counts)
        expectEqual(`the followingCount ${when}`, (await user(viewer, viewer.id)).followingCount, Number(follows))
        expectEqual(`following ${when}`, idsOf(await following(viewer, viewer.id)), follows ? [other.id] : [])
        expectEqual(`followers ${when}`, idsOf(await followers(viewer, other.id)), follows ? [viewer.id] : [])
      }
    },
  },
  {
    id: 'follow-across-processes',
    sentence: 'Another process knows a follow and an unfollow at once.',
    async check(audit) {
      const { follow, unfollow, following, user } = await feed(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const elsewhere = viewer.at(audit.second())
      for (const follows of [true, false]) {
        await (follows ? follow : unfollow)(viewer, [other.id])
        expectEqual('viewerFollows in another process', (await user(elsewhere, other.id)).viewerFollows, follows)
        expectEqual('following in another process', idsOf(await following(elsewhere, viewer.id)), follows ? [other.id] : [])
      }
    },
  },
  {
    id: 'follow-repeated',
    sentence: 'A repeated follow, and an unfollow without a follow, are UNCHANGED and count nothing.',
    async check(audit) {
      const { follow, unfollow, user } = await feed(audit)
      const [viewer, other] = [await audit.ownViewer(), await audit.ownViewer()]
      const outcomes = async (change: typeof follow, ids: string[]) => (await change(viewer, ids)).map(({ outcome }) => outcome)
      expectEqual('the outcome of unfollowing first', await outcomes(unfollow, [other.id]), ['UNCHANGED'])
      expectEqual('the outcomes of a user twice in a call', await outcomes(follow, [other.id, other.id]), ['CHANGED', 'UNCHANGED'])
      expectEqual('the outcome of a second call', await outcomes(follow, [other.id]), ['UNCHANGED'])
      const counts = { viewerFollows: true, followerCount: 1 }
      await expectUser(audit, () => user(viewer, other.id), 'the user after repeated follows', counts)
      expectEqual('the followingCount', (await user(viewer, viewer.id)).followingCount, 1)
      expectEqual('the outcomes of two ends', await outcomes(unfollow, [other.id, other.id]), ['CHANGED', 'UNCHANGED'])
      expectEqual('the followingCount at the end', (await user(viewer, viewer.id)).followingCount, 0)
    },
  },
  {
    id: 'following-paged',
    sentence: 'following is latest first, and its pages neither skip nor repeat while users are followed.',
    async check(audit) {
      const { follow, following } = await feed(audit)
      const viewer = await audit.ownViewer()
      const ids: string[] = []
      // Calls one after the other: users of one call have the same time.
      for (let at = 0; at < 12; at++) {
        ids.unshift(audit.newOid())
        await follow(viewer, ids.slice(0, 1))
      }
      const walked = await walkList(
        (variables) => following(viewer, viewer.id, variables),
        5,
        async () => void (await follow(viewer, [audit.newOid()])),
      )
      expectEqual('the users on all pages', walked, ids)
    },
  },
]

export const followsStay: readonly Check[] = [
  {
    id: 'follow-for-everybody',
    sentence: 'A little later all viewers see a follow in followers and followerCount, and then an unfollow.',
    async check(audit) {
      const { follow, unfollow, followers, user } = await feed(audit)
      const [viewer, other, reader] = [await audit.ownViewer(), await audit.ownViewer(), await audit.ownViewer()]
      const read = async () => [(await user(reader, other.id)).followerCount, idsOf(await followers(reader, other.id))]
      await follow(viewer, [other.id])
      await audit.settled('the followers as another viewer reads them', read, [1, [viewer.id]])
      expectEqual('viewerFollows of another viewer', (await user(reader, other.id)).viewerFollows, false)
      await unfollow(viewer, [other.id])
      await audit.settled('the followers after the end of the follow', read, [0, []])
    },
  },
]
