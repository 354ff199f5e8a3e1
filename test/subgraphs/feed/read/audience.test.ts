import { beforeEach, describe, expect, it } from 'vitest'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { seededRandom } from '../../../../core/random.ts'
import type { Audience } from '../../../../subgraphs/audience.ts'
import type { Post } from '../../../../subgraphs/feed/model/post.ts'
import { postIdOf, postTick, tickOf } from '../../../../subgraphs/feed/packed/post-id.ts'
import { makePostAudience } from '../../../../subgraphs/feed/read/audience.ts'
import { REGIONS, makeFeedWorld, type FeedWorld } from './feed-world.ts'

const BUSINESS = 4

describe('the audience of posts', () => {
  let world: FeedWorld
  let audience: Audience
  let keys = 0
  beforeEach(() => {
    world = makeFeedWorld({ random: seededRandom(5) })
    audience = openAudience()
  })

  const openAudience = (): Audience => makePostAudience(world.clock, world, { business: BUSINESS, regions: REGIONS })
  const isRestricted = (oid: string, business = BUSINESS): boolean => audience.isRestricted({ business, oid })

  async function publish(author: string, viewers?: string[]): Promise<Post> {
    const draft = { author, text: 'text', media: [], source: undefined, audience: viewers, clientKey: String(keys++) }
    const outcome = await world.hot.publish(draft, world.options())
    if (outcome.status !== 'published') throw new Error(outcome.status)
    return outcome.post
  }

  /** Per question: a viewer and the id of a post. */
  async function ask(...asked: [string, string][]): Promise<{ may: (boolean | null)[]; degraded: string[]; reads: string[] }> {
    const degraded: Degraded = new Set()
    const before = world.calls.length
    const may = await audience.maySeeMany(
      asked.map(([viewer, oid]) => ({ viewer, business: BUSINESS, oid })),
      degraded,
    )
    return { may, degraded: [...degraded].sort(), reads: world.calls.slice(before) }
  }

  it('is asked for restricted posts only: the id of any other subject says that it is public', async () => {
    const restricted = await publish('1', ['2'])
    const open = await publish('1')
    expect([isRestricted(restricted.id), isRestricted(open.id)]).toEqual([true, false])
    expect(isRestricted(restricted.id, 1)).toBe(false)
    for (const id of ['', '42', 'a', `0${restricted.id}`, postIdOf(postTick(tickOf(restricted.id), true), REGIONS)])
      expect(isRestricted(id)).toBe(false)
  })

  it('is the author and the named viewers, and one multi-get answers for many posts and viewers', async () => {
    const [one, other] = [await publish('1', ['2', '3']), await publish('2', ['4'])]
    const { may, degraded, reads } = await ask(
      ['1', one.id],
      ['2', one.id],
      ['3', other.id],
      ['4', other.id],
      ['4', one.id],
      ['2', other.id],
    )
    expect(may).toEqual([true, true, false, true, false, true])
    expect(degraded).toEqual([])
    expect(reads).toEqual(['getPostMany'])
  })

  it('is remembered by the process, also after a deletion', async () => {
    const post = await publish('1', ['2'])
    await ask(['2', post.id])
    await world.hot.delete(post, world.options())
    expect(await ask(['2', post.id], ['3', post.id])).toEqual({ may: [true, false], degraded: [], reads: [] })
    audience = openAudience()
    expect((await ask(['2', post.id], ['3', post.id])).may).toEqual([true, false])
  })

  it('is nobody for an id that was never published, until it is', async () => {
    const first = await publish('1', ['2'])
    const next = postIdOf(postTick(tickOf(first.id) + 1, true), Number(BigInt(first.id) & 0x3fffn))
    expect((await ask(['2', next])).may).toEqual([false])
    expect((await publish('1', ['2'])).id).toBe(next)
    expect((await ask(['2', next])).may).toEqual([true])
  })

  it('is found in the record store while the hot store is down, and unknown otherwise', async () => {
    const stored = await publish('1', ['2'])
    await world.persist()
    const recent = await publish('1', ['2'])
    world.down.hotStore = true
    const { may, degraded } = await ask(['2', stored.id], ['3', stored.id], ['2', recent.id])
    // A viewer outside the audience gets the answer for a post that may not exist.
    expect(may).toEqual([true, null, null])
    expect(degraded).toEqual(['hotStore'])
    world.down.recordStore = true
    expect(await ask(['2', stored.id])).toMatchObject({ may: [true], degraded: [] })
    audience = openAudience()
    expect(await ask(['2', stored.id])).toMatchObject({ may: [null], degraded: ['hotStore', 'recordStore'] })
  })
})
