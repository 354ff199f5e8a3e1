/** The guarded stores of the feed: calls for a part that is down are refused without reaching the store, and other parts are served. */
import { expect, test } from 'vitest'
import { TidemarkError } from '../../../../core/errors.ts'
import { PartOutage } from '../../../../core/outage/part-outage.ts'
import { regionOf } from '../../../../core/regions.ts'
import { regionOfPost } from '../../../../subgraphs/feed/packed/post-id.ts'
import { guardFeedStores } from '../../../../subgraphs/feed/stores/guarded.ts'
import type { FeedHotStore } from '../../../../subgraphs/feed/stores/hot-store.ts'
import type { FeedRecords } from '../../../../subgraphs/feed/stores/record-store.ts'
import { makeFeedStoreModel } from '../../../../harness/models/feed/hot-store-model.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'
import { draftOf, optionsAt, publishOne } from '../../../contracts/feed/posts.ts'

const REGIONS = 4
const OUT = 3

/** Region 3 fails while `isOut()`. `reached` has the name of each call that reaches the store. */
function guarded(isOut: () => boolean) {
  const reached: string[] = []
  const model = makeFeedStoreModel(REGIONS)
  const partOf = (viewer: string): number => regionOf(viewer, REGIONS)
  const failing = Object.fromEntries(
    Object.entries(model).map(([name, method]: [string, (...args: never[]) => Promise<unknown>]) => [
      name,
      async (...args: never[]) => {
        reached.push(name)
        if (isOut() && name !== 'check') {
          throw new PartOutage(new TidemarkError('HOT_STORE_UNAVAILABLE', 'a part is out'), (viewer) => partOf(viewer) === OUT)
        }
        return method(...args)
      },
    ]),
  ) as unknown as FeedHotStore
  const hot: FeedHotStore = { ...failing, partOf, check: () => Promise.reject(new TidemarkError('HOT_STORE_UNAVAILABLE', 'still out')) }
  const unused = {} as never
  return { reached, model, ...guardFeedStores(makeSteppedClock(), { hot, log: unused, records: unused }, {}, () => undefined) }
}

test('while a part is down, its calls are refused without reaching the store, and those of other parts are made', async () => {
  let isOut = false
  const { hot, model, reached, breakers, stop } = guarded(() => isOut)
  const [there, lost] = [await publishOne(model, draftOf('2')), await publishOne(model, draftOf('3'))]
  isOut = true
  await expect(hot.publish(draftOf('3'), optionsAt())).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  expect(breakers.hotStore.isOpenFor('3')).toBe(true)
  reached.length = 0
  for (const call of [
    () => hot.publish(draftOf('3'), optionsAt()),
    () => hot.delete(lost, optionsAt()),
    () => hot.addToInboxes(there.id, ['2', '3'], optionsAt()),
    () => hot.removeFromInboxes(there.id, ['3'], optionsAt()),
    () => hot.setWords('3', [], optionsAt()),
    () => hot.getWords('3'),
    () => hot.getPostMany([there.id, lost.id]),
    () => hot.getOutboxMany(['2', '3']),
    () => hot.getInboxMany(['3']),
    () => hot.listChanges(new Map([[3, 0]])),
    () => hot.noteChange('3', 'g3', optionsAt()),
  ])
    await expect(call()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  expect(reached).toEqual([])
  const failure: unknown = await hot.getPostMany([there.id, lost.id]).catch((error: unknown) => error)
  expect([there, lost].map(({ id }) => (failure as PartOutage).concerns(String(regionOfPost(id))))).toEqual([false, true])
  isOut = false
  expect(await hot.getPostMany([there.id])).toEqual([there])
  expect(await hot.getOutboxMany(['2'])).toHaveLength(1)
  stop()
})

test('reads of the record store are counted, and lookups do not wait for pages', async () => {
  const order: string[] = []
  const read = (name: string) => async () => {
    order.push(name)
    await Promise.resolve()
    return []
  }
  const records = {
    readsAtOnceMax: 1,
    getPostMany: read('posts'),
    getWordsMany: read('words'),
    listOutboxMany: read('outboxes'),
    listInboxMany: read('inboxes'),
  } as unknown as FeedRecords
  const unused = {} as never
  const guardedStores = guardFeedStores(makeSteppedClock(), { hot: unused, log: unused, records }, {}, () => undefined)
  const reads = guardedStores.records
  const pages = ['1', '2', '3', '4', '5', '6'].map((author) => reads.listOutboxMany([author], undefined, 10))
  await Promise.all([...pages, reads.listInboxMany(['1'], undefined, 10), reads.getPostMany(['1']), reads.getWordsMany(['1'])])
  expect(guardedStores.recordReads().made).toBe(9)
  expect(order).toHaveLength(9)
  // Lookups take turns with the pages that came before them.
  expect(order.indexOf('posts')).toBeLessThan(4)
  expect(order.indexOf('words')).toBeLessThan(6)
  guardedStores.stop()
})
