import { afterEach, describe, expect, test } from 'vitest'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeExistenceFold } from '../../../subgraphs/feed-existence/index.ts'
import { SHAPE, openSeen, seenConfig, serveSeen, type Opened } from './opened.ts'
import { slowDown, turns } from './slow-stores.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function open() {
  const opened = openSeen()
  const served = serveSeen(opened)
  closing.push(opened.close, served.stop)
  const { fold } = makeExistenceFold(opened.clock, opened.plain, seenConfig(), seededRandom(3))
  return { opened, served, foldNow: (viewer: string) => fold(slotOf(opened.clock.now(), SHAPE.slots), [viewer]) }
}

/** Holds the answer of a call of the record store until it is released. */
function holdAnswer(opened: Opened): { begun: Promise<void>; letGo(): void } {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const { records } = opened.stores
  const { getFilters } = records
  let isFirst = true
  records.getFilters = async (keys) => {
    const answer = await getFilters(keys)
    if (!isFirst) return answer
    isFirst = false
    begun.resolve()
    await gate.promise
    return answer
  }
  return { begun: begun.promise, letGo: () => gate.resolve() }
}

describe('a fold between two reads of a reader', () => {
  test('does not bring back a play if the filters in memory are older', async () => {
    const { served, foldNow } = open()
    expect(await served.unseen('7', ['1'])).toEqual(['1'])
    await served.play('7', ['1'])
    expect(await served.unseen('7', ['1'])).toEqual([])
    await foldNow('7')
    expect(await served.unseen('7', ['1'])).toEqual([])
  })

  test('does not bring back a play if it happens between the read of the staged plays and the load of the filters', async () => {
    const { opened, served, foldNow } = open()
    await served.play('7', ['1'])
    opened.before('records.getFilters', async () => {
      opened.before('records.getFilters', undefined)
      await foldNow('7')
    })
    expect(await served.unseen('7', ['1'])).toEqual([])
    expect(await served.unseen('7', ['1'])).toEqual([])
  })

  test('does not bring back a play if an earlier load began before it and ends after it', async () => {
    const opened = openSeen()
    const { begun, letGo } = holdAnswer(opened)
    const served = serveSeen(opened)
    closing.push(opened.close, served.stop)
    const { fold } = makeExistenceFold(opened.clock, opened.plain, seenConfig(), seededRandom(3))
    const early = served.unseen('7', ['1'])
    await begun
    await served.play('7', ['1'])
    await fold(slotOf(opened.clock.now(), SHAPE.slots), ['7'])
    // This read must not join the load that is under way, and the load must not be kept for the next read.
    expect(await served.unseen('7', ['1'])).toEqual([])
    letGo()
    expect(await early).toEqual(['1'])
    expect(await served.unseen('7', ['1'])).toEqual([])
  })
})

describe('readers, players and two workers at once, in any order', () => {
  test.each([1, 2, 3, 4])('no acknowledged play comes back (seed %d)', async (seed) => {
    const random = seededRandom(seed)
    const opened = openSeen()
    slowDown(opened, random)
    const served = serveSeen(opened)
    closing.push(opened.close, served.stop)
    const { fold } = makeExistenceFold(opened.clock, opened.stores, seenConfig(), random)
    const acknowledged = new Set<string>()
    const all = Array.from({ length: 60 }, (_, id) => String(id))
    let playing = true

    async function play(): Promise<void> {
      for (const id of all) {
        await served.play('7', [id])
        acknowledged.add(id)
        await turns(randomBelow(random, 6))
      }
      playing = false
    }
    async function work(): Promise<void> {
      while (playing) {
        const { failed } = await fold(slotOf(opened.clock.now(), SHAPE.slots), ['7'])
        expect(failed).toEqual([])
      }
    }
    async function read(): Promise<void> {
      while (playing) {
        const before = [...acknowledged]
        const back = new Set(await served.unseen('7', all))
        expect(before.filter((id) => back.has(id))).toEqual([])
      }
    }
    await Promise.all([play(), work(), work(), read(), read(), read()])
    expect(await served.unseen('7', all)).toEqual([])
    expect(served.errors).toEqual([])
  })
})
