/** What a gateway relies on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { graphql } from 'graphql'
import { schema } from './subgraph.js'

const ask = async (source, variableValues) => {
  const { data, errors } = await graphql({ schema, source, variableValues })
  assert.equal(errors, undefined)
  return JSON.parse(JSON.stringify(data))
}
const ENTITIES = `query ($representations: [_Any!]!) {
  _entities(representations: $representations) { ... on Video { title author { name } duration } ... on User { name avatar } }
}`

test('entities come in the order they were asked for, null where there is none', async () => {
  const representations = [
    { __typename: 'Video', id: '42' },
    { __typename: 'Video', id: 'none' },
    { __typename: 'User', id: 'u1' },
  ]
  assert.deepEqual(await ask(ENTITIES, { representations }), {
    _entities: [
      { title: 'Currents, part 5', author: { name: 'Barbara' }, duration: 3_060_000 },
      null,
      { name: 'Ada', avatar: 'https://partner.example/avatars/u1.png' },
    ],
  })
})

test('a page begins after the id given and is never longer than 100', async () => {
  const { videos } = await ask('{ videos(first: 2, after: "10") { id } }')
  assert.deepEqual(videos, [{ id: '11' }, { id: '12' }])
  assert.equal((await ask('{ videos(first: 100000) { id } }')).videos.length, 100)
})

test('its SDL can be asked for', async () => {
  const { _service } = await ask('{ _service { sdl } }')
  assert.match(_service.sdl, /type Video\s+@key\(fields: "id"\)/)
})
