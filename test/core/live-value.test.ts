import { expect, test } from 'vitest'
import { fixedValue, followSource, makeHeldValue } from '../../core/live-value.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

test('a listener gets each newer version once, and none that is older or repeated', () => {
  const held = makeHeldValue({ value: 'a', version: 3 }, () => undefined)
  const told: string[] = []
  held.follow(({ value }) => told.push(value))
  held.replace({ value: 'old', version: 2 })
  held.replace({ value: 'same', version: 3 })
  held.replace({ value: 'b', version: 7 })
  held.replace({ value: 'late', version: 5 })
  expect(told).toEqual(['b'])
  expect(held.current()).toEqual({ value: 'b', version: 7 })
})

test('a listener that fails is reported, and the others still get the change', () => {
  const errors: unknown[] = []
  const held = makeHeldValue({ value: 'a', version: 1 }, (error) => errors.push(error))
  const told: number[] = []
  const failure = new Error('listener')
  held.follow(() => {
    throw failure
  })
  held.follow(({ version }) => told.push(version))
  held.replace({ value: 'b', version: 2 })
  expect(errors).toEqual([failure])
  expect(told).toEqual([2])
})

test('a listener that throws is called again at each poll, and its failure is the problem until it succeeds', async () => {
  let stored = { value: 'b', version: 2 }
  const sentences: string[] = []
  const first = { value: 'a', version: 1 }
  const read = () => Promise.resolve(stored)
  const clock = makeSteppedClock()
  const live = followSource({ name: 'the colour', first, read, pollMs: 1_000 }, clock, (sentence) => sentences.push(sentence))
  const told: string[] = []
  const others: string[] = []
  let isFailing = true
  live.follow(({ value }) => {
    told.push(value)
    if (isFailing) throw new Error('no such colour')
  })
  live.follow(({ value }) => others.push(value))
  const sentence = 'no such colour: version 2 of the colour is not in use in each part, and the next poll tries again'
  await live.wake()
  await live.wake()
  expect([told, others, sentences, live.problem()]).toEqual([['b', 'b'], ['b'], [sentence], sentence])
  stored = { value: 'c', version: 3 }
  await live.wake()
  expect([told, others, live.problem()]).toEqual([['b', 'b', 'c'], ['b', 'c'], sentence.replace('2', '3')])
  isFailing = false
  await live.wake()
  await live.wake()
  expect([told, others, live.problem()]).toEqual([['b', 'b', 'c', 'c'], ['b', 'c'], undefined])
  await live.stop()
})

test('one function may follow twice, and ending one of both leaves the other', () => {
  const held = makeHeldValue({ value: 'a', version: 1 }, () => undefined)
  const told: number[] = []
  const listener = ({ version }: { version: number }): void => void told.push(version)
  const stop = held.follow(listener)
  held.follow(listener)
  stop()
  stop()
  held.replace({ value: 'b', version: 2 })
  expect(told).toEqual([2])
})

test('a fixed value has version 0', () => expect(fixedValue('x').current()).toEqual({ value: 'x', version: 0 }))
