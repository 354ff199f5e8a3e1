/** The service of posts on the hot store of the embedded shape, with steps that fail. `test/e2e/feed.test.ts` has the rules of inputs. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import type { Viewer } from '../../../../core/viewer.ts'
import { openEnvironment } from '../../../../stores/lmdb/environment.ts'
import type { CountEvent } from '../../../../subgraphs/feed/model/counts.ts'
import type { DirtyKey } from '../../../../subgraphs/feed/model/dirty-keys.ts'
import { unpackIds } from '../../../../subgraphs/feed/packed/vector.ts'
import { openLmdbFeedStore } from '../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { makeFeedService } from '../../../../subgraphs/feed/write/service.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'

const REGIONS = 4
const folder = makeFolder()
const environment = openEnvironment(folder.path, { regions: REGIONS, sizeMaxGb: 1 })
const store = openLmdbFeedStore(environment)
const DOWN = new TidemarkError('HOT_STORE_UNAVAILABLE', 'the test says so')

let refusal = DOWN
const failing = new Set<'addToInboxes' | 'removeFromInboxes' | 'count' | 'records'>()
const counted: CountEvent[] = []
const aggregated: DirtyKey[] = []
const orFail = async <T>(step: 'addToInboxes' | 'removeFromInboxes', call: () => Promise<T>): Promise<T> => {
  if (failing.delete(step)) throw DOWN
  return call()
}
const service = makeFeedService(
  systemClock,
  {
    hot: {
      ...store,
      addToInboxes: (...args) => orFail('addToInboxes', () => store.addToInboxes(...args)),
      removeFromInboxes: (...args) => orFail('removeFromInboxes', () => store.removeFromInboxes(...args)),
    },
    async posts(ids, degraded) {
      if (failing.has('records')) degraded.add('recordStore')
      return store.getPostMany(ids)
    },
    async count(events) {
      if (failing.has('count')) return events.map(() => refusal)
      counted.push(...events)
      return events.map(() => 'counted')
    },
    aggregate: (key) => aggregated.push(key),
    onError: (error) => {
      throw error
    },
  },
  { business: 4, regions: REGIONS, keepMs: 3_600_000 },
)

let keys = 0
const author: Viewer = { id: '7', scopes: [] }
const draft = (more: object = {}) => ({ clientKey: `key-${++keys}`, text: 'a', media: [], ...more })
const publish = (input: Parameters<typeof service.publish>[1], degraded: Degraded = new Set()) => service.publish(author, input, degraded)
const inbox = async (viewer: string) => unpackIds((await store.getInboxMany([viewer]))[0]?.added ?? Buffer.alloc(0))
/** An id that only the record store may have. */
const olderThan = (id: string) => String(BigInt(id) - (1n << 40n))

beforeEach(() => {
  failing.clear()
  refusal = DOWN
  counted.length = 0
  aggregated.length = 0
})
afterAll(async () => {
  await environment.close()
  folder.remove()
})

describe('publishing', () => {
  it('a publication that fails at the inboxes is completed by its repetition, with the same post', async () => {
    const input = draft({ audience: ['8', '9'] })
    failing.add('addToInboxes')
    await expect(publish(input)).rejects.toBe(DOWN)
    expect(await inbox('8')).toEqual([])
    const { post, repeated } = await publish(input)
    expect(repeated).toBe(true)
    expect([await inbox('8'), await inbox('9')]).toEqual([[post.id], [post.id]])
    expect(aggregated).toEqual([{ viewer: '7', post: post.id }])
  })

  it('the author has no copy in their inbox, also if they are in the audience', async () => {
    const { post } = await publish(draft({ audience: ['7', '10'] }))
    expect([await inbox('7'), await inbox('10')]).toEqual([[], [post.id]])
  })

  it('a repetition does not count again: stores remember events for an hour only', async () => {
    const input = draft()
    const { post } = await publish(input)
    await publish(input)
    expect(counted).toEqual([{ id: `post:${post.id}`, subject: { business: 65_535, oid: '7' }, counter: 'post', delta: 1 }])
  })

  it('a counter that fails does not fail the publication', async () => {
    failing.add('count')
    const degraded: Degraded = new Set()
    const { repeated } = await publish(draft(), degraded)
    expect([repeated, [...degraded]]).toEqual([false, ['hotStore']])
  })

  it('a source that only the record store may have is not called unknown while that store is down', async () => {
    const { post } = await publish(draft())
    await expect(publish(draft({ source: olderThan(post.id) }))).rejects.toMatchObject({ code: 'POST_UNKNOWN' })
    failing.add('records')
    await expect(publish(draft({ source: olderThan(post.id) }))).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect((await publish(draft({ source: post.id }))).post.source).toBe(post.id)
  })

  it('a repeated share has its first post, also if its source was deleted since, and a new share of it is refused', async () => {
    const { post: source } = await publish(draft())
    const input = draft({ source: source.id })
    const { post } = await publish(input)
    await service.delete(author, source.id, new Set())
    expect(await publish(input)).toEqual({ post, repeated: true })
    await expect(publish({ ...input, text: 'other' })).rejects.toMatchObject({ code: 'CLIENT_KEY_REUSED' })
    await expect(publish(draft({ source: source.id }))).rejects.toMatchObject({ code: 'POST_UNKNOWN' })
  })
})

describe('deleting', () => {
  it('a deletion that fails at the inboxes is completed by its repetition', async () => {
    const { post } = await publish(draft({ audience: ['11'] }))
    expect(await inbox('11')).toEqual([post.id])
    failing.add('removeFromInboxes')
    await expect(service.delete(author, post.id, new Set())).rejects.toBe(DOWN)
    const tombstone = await service.delete(author, post.id, new Set())
    expect([tombstone.deleted, tombstone.text, await inbox('11')]).toEqual([true, '', []])
  })

  it('a deletion takes back what the post counted, once, and after it', async () => {
    const { post: source } = await publish(draft())
    const { post } = await publish(draft({ source: source.id }))
    counted.length = 0
    await service.delete(author, post.id, new Set())
    await service.delete(author, post.id, new Set())
    // The process of the publication may have died before it counted. A deletion that is counted first makes the number of posts too low for
    // a moment. Another deletion could then be refused, because no counter goes below zero.
    expect(counted).toEqual([
      { id: `post:${post.id}`, subject: { business: 65_535, oid: '7' }, counter: 'post', delta: 1 },
      { id: `repost:${post.id}`, subject: { business: 4, oid: source.id }, counter: 'repost', delta: 1 },
      { id: `unpost:${post.id}`, subject: { business: 65_535, oid: '7' }, counter: 'post', delta: -1 },
      { id: `unrepost:${post.id}`, subject: { business: 4, oid: source.id }, counter: 'repost', delta: -1 },
    ])
  })
})

describe('counting', () => {
  const counter: Viewer = { id: 's', scopes: ['counts:write'] }

  it('an event of a post that only the record store may have is refused as unavailable, and the others count', async () => {
    const { post } = await publish(draft())
    failing.add('records')
    const events = [post.id, olderThan(post.id)].map((id) => ({ key: 'k', id, counter: 'READ' as const, delta: 1 }))
    const answers = await service.adjustCounts(counter, events, new Set())
    expect(answers).toMatchObject([{ outcome: 'COUNTED' }, { outcome: 'REJECTED', code: 'RECORD_STORE_UNAVAILABLE' }])
  })

  it('an event that a store refused has the code of that store', async () => {
    const { post } = await publish(draft())
    for (const code of ['HOT_STORE_UNAVAILABLE', 'RECORD_STORE_UNAVAILABLE', 'STORE_FULL'] as const) {
      failing.add('count')
      refusal = new TidemarkError(code, 'the test says so')
      const [answer] = await service.adjustCounts(counter, [{ key: 'k', id: post.id, counter: 'READ', delta: 1 }], new Set())
      expect(answer).toMatchObject({ outcome: 'REJECTED', code })
    }
  })

  it('needs the scope', async () => {
    await expect(service.adjustCounts(author, [], new Set())).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(service.adjustCounts(undefined, [], new Set())).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})
