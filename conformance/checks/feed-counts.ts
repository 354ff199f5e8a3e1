/** Counts of posts equal their events, in any order and with any repetition. */
import { randomUUID } from 'node:crypto'
import type { Check } from '../check.ts'
import { feed } from '../feed.ts'
import type { CountEvent, CountResult, Post } from '../feed-operations.ts'
import { expectEqual } from '../outcome.ts'

const event = (id: string, delta: number, counter = 'COMMENT'): CountEvent => ({ key: randomUUID(), id, counter, delta })
const outcomesOf = (results: readonly CountResult[]) => results.map(({ outcome, userErrors }) => userErrors[0]?.code ?? outcome)
const countsOf = (post: Pick<Post, 'commentCount' | 'readCount'> | null | undefined) => [post?.commentCount, post?.readCount]

export const feedCounts: readonly Check[] = [
  {
    id: 'post-count-equals-posts',
    sentence: 'postCount equals the public posts of a user after any publications and deletions.',
    async check(audit) {
      const { published, deletePost, postCount, postIds } = await feed(audit)
      const author = await audit.ownViewer()
      const ids: string[] = []
      for (let at = 0; at < 12; at++) {
        if (at % 4 === 3) await deletePost(author, ids.splice(0, 1)[0] as string)
        else ids.push(await published(author, `post ${at}`))
        expectEqual(`the postCount after change ${at + 1}`, await postCount(audit.nobody, author.id), ids.length)
      }
      expectEqual('the posts', (await postIds(author, author.id)).length, ids.length)
    },
  },
  {
    id: 'repost-count',
    sentence: 'repostCount equals the public reposts that are not deleted. A repeated publication or deletion counts nothing.',
    async check(audit) {
      const { publish, published, deletePost, posts } = await feed(audit)
      const [author, sharer] = [await audit.ownViewer(), await audit.ownViewer()]
      const source = await published(author, 'a')
      const count = async () => (await posts(audit.nobody, [source]))[0]?.repostCount
      const input = { clientKey: randomUUID(), text: 'look', source }
      const { post } = await publish(sharer, input)
      expectEqual('the repostCount after a repost', await count(), 1)
      await publish(sharer, input)
      expectEqual('the repostCount after a repetition of it', await count(), 1)
      await published(author, 'my own', { source })
      expectEqual('the repostCount after a second repost', await count(), 2)
      for (const time of ['a deletion', 'a repeated deletion']) {
        await deletePost(sharer, post.id)
        expectEqual(`the repostCount after ${time}`, await count(), 1)
      }
    },
  },
  {
    id: 'adjust-counts',
    sentence: 'adjustCounts changes each counter by the sum of its events, readable at once by everybody.',
    async check(audit) {
      const { published, counter, count, posts } = await feed(audit)
      const [author, service] = [await audit.ownViewer(), await counter()]
      const [a, b] = [await published(author, 'a'), await published(author, 'b')]
      const events = [event(a, 3), event(a, 1_000_000, 'READ'), event(b, 2), event(a, -1), event(a, 1_000_000, 'READ')]
      const results = await count(service, events)
      const counts = new Map([
        [a, [2, 2_000_000]],
        [b, [2, 0]],
      ])
      expectEqual(
        'the results',
        results.map(({ outcome, post }) => [outcome, post?.id, countsOf(post)]),
        events.map(({ id }) => ['COUNTED', id, counts.get(id)]),
      )
      for (const reader of [author, audit.nobody])
        expectEqual('commentCount and readCount', (await posts(reader, [a, b])).map(countsOf), [...counts.values()])
    },
  },
  {
    id: 'count-event-repeated',
    sentence: 'An event counts once, however often and how concurrently it arrives. A repetition is REPEATED.',
    async check(audit) {
      const { published, counter, count, posts } = await feed(audit)
      const [author, service] = [await audit.ownViewer(), await counter()]
      const id = await published(author, 'a')
      const once = event(id, 5)
      expectEqual('the outcomes in one call', outcomesOf(await count(service, [once, once])), ['COUNTED', 'REPEATED'])
      expectEqual('the outcome in a later call', outcomesOf(await count(service, [once])), ['REPEATED'])
      const several = Array.from({ length: 10 }, () => event(id, 1))
      const calls = [...several, ...several, ...several].map(async (each) => outcomesOf(await count(service, [each]))[0])
      const outcomes = await Promise.all(calls)
      expectEqual('the number of COUNTED of concurrent calls', outcomes.filter((outcome) => outcome === 'COUNTED').length, 10)
      expectEqual('the number of REPEATED', outcomes.filter((outcome) => outcome === 'REPEATED').length, 20)
      expectEqual('the commentCount', (await posts(audit.nobody, [id]))[0]?.commentCount, 15)
    },
  },
  {
    id: 'count-event-out-of-order',
    sentence: 'An event that would take a counter below 0 is rejected with DELTA_INVALID, and counts when it is sent after the others.',
    async check(audit) {
      const { published, counter, count, posts } = await feed(audit)
      const [author, service] = [await audit.ownViewer(), await counter()]
      const id = await published(author, 'a')
      const [two, minusTwo, minusOne] = [event(id, 2), event(id, -2), event(id, -1)]
      const read = async () => (await posts(audit.nobody, [id]))[0]?.commentCount
      expectEqual('the outcome of -2 before +2', outcomesOf(await count(service, [minusTwo])), ['DELTA_INVALID'])
      expectEqual('the commentCount then', await read(), 0)
      expectEqual('the outcome of +2', outcomesOf(await count(service, [two])), ['COUNTED'])
      expectEqual('the outcome of -2 again', outcomesOf(await count(service, [minusTwo])), ['COUNTED'])
      expectEqual('the outcomes of both again, and of -1', outcomesOf(await count(service, [two, minusTwo, minusOne])), [
        ...['REPEATED', 'REPEATED', 'DELTA_INVALID'],
      ])
      expectEqual('the commentCount', await read(), 0)
    },
  },
]

export const feedStays: readonly Check[] = [
  {
    id: 'feed-stays',
    sentence:
      'After the write-back, posts, follows, filter words and counts are as before, and repeated events and publications are still recognized.',
    async check(audit) {
      const calls = await feed(audit)
      const [author, service, friend] = [await audit.ownViewer(), await calls.counter(), await audit.ownViewer()]
      const reader = await calls.follower(author)
      await calls.setWords(reader, ['spoiler'])
      const input = { clientKey: randomUUID(), text: 'stays' }
      const { post } = await calls.publish(author, input)
      await calls.published(author, 'a spoiler')
      const gone = await calls.published(author, 'gone')
      const secret = await calls.published(author, 'secret', { audience: [friend.id] })
      await calls.published(friend, 'look', { source: post.id })
      await calls.deletePost(author, gone)
      const events = [event(post.id, 4), event(post.id, -1), event(post.id, 7, 'READ')]
      await calls.count(service, events)
      const read = async () => ({
        home: [await calls.homeIds(reader), await calls.homeIds(friend)],
        posts: await calls.posts(reader, [post.id, gone, secret]),
        count: await calls.postCount(reader, author.id),
        following: (await calls.following(reader, reader.id)).entries.map(({ id }) => id),
      })
      const before = await read()
      const counted = { ...post, repostCount: 1, commentCount: 3, readCount: 7 }
      expectEqual('what is read before the write-back', before, {
        home: [[post.id], [secret]],
        posts: [counted, null, null],
        count: 2,
        following: [author.id],
      })
      await audit.quiet()
      expectEqual('what is read after the write-back', await read(), before)
      expectEqual('the outcomes of repeated events', outcomesOf(await calls.count(service, events)), ['REPEATED', 'REPEATED', 'REPEATED'])
      const again = await calls.publish(author, input)
      expectEqual('id and repeated of a repeated publication', [again.post.id, again.repeated], [post.id, true])
      expectEqual('what is read at the end', await read(), before)
    },
  },
]
