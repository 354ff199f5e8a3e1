/** `tidemark viewer erase` for the feed in both shapes, beside the service, as an operator runs it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../harness/deployment/service.ts'
import { FOLLOW, makeFeedClient, newViewer } from '../support/feed-client.ts'
import { distributedIsHere, distributedShape, embeddedShape, type FeedShape } from '../support/feed-shapes.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const USERS = '{ edges { node { id } } }'
const USER = `query ($id: ID!) { feedUser(id: $id) { postCount followerCount followingCount
  posts { edges { node { id } } } followers ${USERS} following ${USERS} } }`
const OWN_WORDS = '{ filterWords { words } }'
const SET_WORDS = 'mutation ($words: [String!]!) { setFilterWords(input: {words: $words}) { filterWords { words } } }'

type Users = { edges: { node: { id: string } }[] }
const idsOf = ({ edges }: Users): string[] => edges.map(({ node }) => node.id)
const NOBODY = { postCount: 0, followerCount: 0, followingCount: 0, posts: [], followers: [], following: [] }

const shapes = [
  { name: 'on embedded stores', open: embeddedShape, isHere: true },
  { name: 'on Redis, Kafka, MariaDB and Memcached', open: distributedShape, isHere: await distributedIsHere() },
]

for (const { name, open, isHere } of shapes) {
  describe.skipIf(!isHere)(`the erasure of a feed ${name}`, () => {
    let shape: FeedShape
    beforeAll(async () => {
      shape = await open()
    })
    afterAll(() => shape?.remove())

    const clients = [makeFeedClient(() => shape.urls[0]), makeFeedClient(() => shape.urls[1])]
    const [{ data, published, follow, home, posts }, second] = clients as [(typeof clients)[number], (typeof clients)[number]]
    const user = async (viewer: string | undefined, id: string) => {
      const { posts: own, followers, following, ...counts } = (await data(viewer, USER, { id })).feedUser
      return { ...counts, posts: idsOf(own), followers: followers && idsOf(followers), following: following && idsOf(following) }
    }
    const shown = async (viewer: string, ids: string[]) =>
      (await posts(viewer, ids)).flatMap((post: { text: string } | null) => post?.text ?? [])

    test(
      'nothing of the viewer is in any list, page, count or lookup afterwards, and others keep what is theirs',
      { timeout: 400_000 },
      async () => {
        const [viewer, author, friend, fan, late] = [newViewer(), newViewer(), newViewer(), newViewer(), newViewer()]
        // Persisted before the erasure.
        const old = await published(viewer, { text: 'old' })
        const secret = await published(viewer, { text: 'secret', audience: [author] })
        const sent = await published(author, { text: 'sent', audience: [viewer, friend] })
        const alone = await published(author, { text: 'alone', audience: [viewer] })
        await follow(viewer, [author, friend])
        await follow(fan, [viewer, author])
        await data(viewer, SET_WORDS, { words: ['spoiler'] })
        const share = await published(friend, { text: 'share', source: old })
        await shape.settled()
        // Not persisted yet, and in the caches of both processes.
        const fresh = await published(viewer, { text: 'fresh' })
        const whisper = await published(viewer, { text: 'whisper', audience: [fan] })
        const just = await published(author, { text: 'just', audience: [viewer] })
        await follow(late, [viewer])
        for (const client of clients) {
          expect(await client.home(fan)).toEqual([whisper, fresh, old])
          expect(await client.home(viewer)).toEqual([just, share, alone, sent])
          expect(await client.posts(viewer, [sent, alone, just])).toMatchObject([{ text: 'sent' }, { text: 'alone' }, { text: 'just' }])
        }

        const inspected = async (id: string) => (await shape.run('inspect', 'viewer', id)).out.split('\n')
        expect(await inspected(viewer)).toEqual(
          expect.arrayContaining([
            expect.stringMatching(`published post ${old}: public$`),
            expect.stringMatching(`published post ${whisper}: for 1 viewer$`),
            'filter words: spoiler',
            'counters: post 2',
          ]),
        )
        const inbox = (await inspected(viewer)).find((line) => line.startsWith('inbox: '))
        expect(inbox?.match(/post \d+/g)?.toSorted()).toEqual([sent, alone, just].map((id) => `post ${id}`))
        expect(await inspected(friend)).toContainEqual(expect.stringMatching(`published post ${share}: public, shares post ${old}$`))

        const { status, out, error } = await shape.run('viewer', 'erase', viewer)
        expect({ status, error }).toEqual({ status: 0, error: '' })
        // 4 posts, 3 of others, the words, 2 follows, 2 of followers.
        expect(out).toContain('feed: posts, inbox, filter words and follows  12 removed\n')
        expect(out).toContain('erasure         COMPLETE\n')

        for (const client of clients) {
          for (const reader of [fan, late, author]) expect(await client.home(reader)).not.toEqual(expect.arrayContaining([old]))
          expect([await client.home(fan), await client.home(late), await client.home(viewer)]).toEqual([[], [], []])
          for (const reader of [author, fan, viewer])
            expect(await client.posts(reader, [old, secret, fresh, whisper])).toEqual([null, null, null, null])
          expect(await client.posts(viewer, [sent, alone, just])).toEqual([null, null, null])
          expect((await client.data(viewer, OWN_WORDS)).filterWords.words).toEqual([])
          expect(await client.posts(fan, [share])).toMatchObject([{ text: 'share', source: null, sourceState: 'DELETED' }])
        }
        expect(await shown(friend, [sent, share])).toEqual(['sent', 'share'])
        expect(await shown(author, [sent, alone, just])).toEqual(['sent', 'alone', 'just'])

        await shape.settled()
        for (const reader of [viewer, fan]) expect(await user(reader, viewer)).toEqual(NOBODY)
        for (const followed of [author, friend]) expect((await user(viewer, followed)).followers).not.toContain(viewer)
        expect(await user(friend, author)).toMatchObject({ followerCount: 1, followers: [fan], postCount: 0 })
        expect(await user(friend, fan)).toMatchObject({ followingCount: 1, following: [author] })
        const stores = await shape.openStores()
        try {
          expect(await stores.feed?.records.listPosts(undefined, 10, viewer)).toEqual([])
          expect((await stores.feed?.records.listInboxMany([viewer], undefined, 10))?.[0]?.ids).toHaveLength(0)
          const audiences = (await stores.feed?.records.getPostMany([sent, alone, just]))?.map((post) => post?.audience)
          expect(audiences).toEqual([[friend], [], []])
        } finally {
          await stores.close()
        }
        // The reads above left cached values in the hot stores, which say that the viewer has nothing.
        const again = await shape.run('viewer', 'erase', viewer)
        const places = [...again.out.matchAll(/^(.*) {2}\d+ removed$/gm)].map(([, place]) => place)
        expect({ status: again.status, places }).toEqual({ status: 0, places: ['feed: hot store', 'marks: hot store'] })
        expect((await shape.run('viewer', 'erase', viewer, '--verify')).status).toBe(0)
        expect((await shape.run('viewer', 'erase', viewer)).out).toMatch(/^nothing was stored of the viewer$/m)
        expect(await inspected(viewer)).toContain('nothing in the feed')

        // A new life.
        const born = await published(viewer, { text: 'born' })
        await follow(viewer, [author])
        await follow(fan, [viewer])
        const letter = await published(author, { text: 'letter', audience: [viewer] })
        expect(await second.home(viewer)).toEqual([letter])
        expect(await second.home(fan)).toEqual([born])
        await shape.settled()
        expect(await user(fan, viewer)).toEqual({
          ...NOBODY,
          ...{ postCount: 1, posts: [born], followerCount: 1, followers: [fan], followingCount: 1, following: [author] },
        })
      },
    )

    test('an erasure that is killed at any moment is finished by the next one', { timeout: 400_000 }, async () => {
      const [viewer, author] = [newViewer(), newViewer()]
      const fans = Array.from({ length: 40 }, newViewer)
      const own: string[] = []
      const received: string[] = []
      for (let at = 0; at < 120; at++) {
        own.push(await published(viewer, { text: `own ${at}`, ...(at % 2 === 0 && { audience: [fans[0]] }) }))
        received.push(await published(author, { text: `to ${at}`, audience: [viewer, fans[0]] }))
      }
      for (const fan of fans) await follow(fan, [viewer])
      await data(viewer, FOLLOW, { ids: fans })
      const fan = fans[0] as string
      const left = async () => (await shown(viewer, own)).length
      const killed: number[] = []
      for (let before = own.length; before > 0 && killed.length < 3; killed.push(before)) {
        const child = execFile(process.execPath, [COMMAND, 'viewer', 'erase', viewer, ...shape.flags])
        const ended = new Promise((resolve) => child.once('exit', resolve))
        while (child.exitCode === null && (await left()) === before);
        child.kill('SIGKILL')
        await ended
        before = await left()
      }
      // At least one was killed between two posts.
      expect(killed.some((posts) => posts > 0 && posts < own.length)).toBe(true)
      for (const pause of [1_000, 1_200, 1_400]) {
        const child = execFile(process.execPath, [COMMAND, 'viewer', 'erase', viewer, ...shape.flags])
        const ended = new Promise((resolve) => child.once('exit', resolve))
        await Promise.race([sleep(pause), ended])
        child.kill('SIGKILL')
        await ended
      }
      // A sweep may persist later what a killed process left. The command then says so.
      const isFinished = async (): Promise<boolean> => {
        const { status, error } = await shape.run('viewer', 'erase', viewer)
        if (status !== 0) expect(error).toMatch(/^ERASURE_INCOMPLETE: .*Run the command again later$/m)
        return status === 0
      }
      await expect.poll(isFinished, { timeout: 60_000, interval: 2_000 }).toBe(true)
      expect((await shape.run('viewer', 'erase', viewer, '--verify')).status).toBe(0)
      expect(await home(viewer)).toEqual([])
      await shape.settled()
      expect(await user(author, viewer)).toEqual(NOBODY)
      expect((await user(author, fan)).followingCount).toBe(0)
      expect(await shown(fan, own)).toEqual([])
      expect(await shown(viewer, received)).toEqual([])
      expect(await shown(fan, received)).toHaveLength(received.length)
    })

    test('an unusable id is refused with a sentence', async () => {
      const { status, error } = await shape.run('viewer', 'erase', 'x'.repeat(65))
      expect(status).toBe(1)
      expect(error).toMatch(/^ID_INVALID: /)
      expect((await ask(shape.urls[0], 'x', OWN_WORDS)).errors).toBeUndefined()
    })
  })
}
