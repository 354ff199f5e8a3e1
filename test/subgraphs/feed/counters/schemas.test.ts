import { expect, test } from 'vitest'
import { makeConfig } from '../../../../config/config.ts'
import { FOLLOW_BUSINESS } from '../../../../config/feed.ts'
import { counterSchemasOf } from '../../../../subgraphs/feed/counters/schemas.ts'

const video = { number: 1, name: 'video', entity: 'Video' }
const post = { number: 4, name: 'post', entity: 'Post' }

const namesOf = (businesses: object[]) => {
  const schemas = counterSchemasOf(makeConfig([{ name: 'test', values: { businesses } }]))
  return Object.fromEntries(
    Array.from(schemas, ([number, { names, widths }]) => [number, names.map((name, at) => `${name}:${widths[at]}`)]),
  )
}

test('posts and users have their counters, other businesses those of the configuration', () => {
  expect(namesOf([{ ...video, counters: { view: 40 } }, post])).toEqual({
    1: ['view:40'],
    4: ['repost:24', 'comment:20', 'read:32'],
    [FOLLOW_BUSINESS]: ['post:24'],
  })
})

test('posts may have more counters, and wider ones', () => {
  expect(namesOf([video, { ...post, counters: { comment: 24, tip: 16 } }])[4]).toEqual(['repost:24', 'comment:24', 'read:32', 'tip:16'])
})

test.each([[{ View: 4 }], [{ view: 0 }], [{ view: 49 }], [{ view: 'many' }]])('counters %j are refused at the start', (counters) => {
  expect(() => namesOf([{ ...video, counters }])).toThrow(/businesses: video: counters/)
})
