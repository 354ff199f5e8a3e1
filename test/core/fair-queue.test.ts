import { expect, test } from 'vitest'
import { makeFairQueue } from '../../core/fair-queue.ts'

function drained(queue: { shift(): string | undefined }): string[] {
  const items: string[] = []
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item)
  return items
}

test('lanes take turns, and the items of a lane keep their order', () => {
  const queue = makeFairQueue<string>(100)
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item)
  queue.push('b', 'b1')
  queue.push('c', 'c1')
  queue.push('b', 'b2')
  expect(drained(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  expect(queue.size()).toBe(0)
})

test('a full queue drops the oldest item of its longest lane, and no item of another', () => {
  const queue = makeFairQueue<string>(3)
  expect(['a1', 'a2', 'a3'].map((item) => queue.push('a', item))).toEqual([undefined, undefined, undefined])
  expect(queue.push('b', 'b1')).toBe('a1')
  expect(queue.push('a', 'a4')).toBe('a2')
  expect(drained(queue)).toEqual(['a3', 'b1', 'a4'])
})

test('a removed item has no turn', () => {
  const queue = makeFairQueue<string>(10)
  queue.push('a', 'a1')
  queue.push('a', 'a2')
  queue.push('b', 'b1')
  queue.remove('a', 'a1')
  queue.remove('b', 'b1')
  queue.remove('b', 'b1')
  expect([queue.size(), queue.lengthOf('a'), queue.lengthOf('b')]).toEqual([1, 1, 0])
  expect(drained(queue)).toEqual(['a2'])
})
