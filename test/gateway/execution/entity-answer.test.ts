import { parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compileEntityList } from '../../../gateway/execution/entities.ts'
import { mergeAnswer } from '../../../gateway/execution/entity-answer.ts'
import { makeRun } from '../../../gateway/execution/run.ts'
import { ask } from '../engine-graph.ts'
import { json } from '../transports/http-subgraph.ts'
import { openRemoteGraph } from '../transports/remote-graph.ts'

const MISTAKE = 'The subgraph did not answer with one entity or null per representation.'

/** The errors of a fetch for three entities. All its fields are null. */
async function errorsOf(answer: object) {
  const { engine } = await openRemoteGraph({ history: (_, response) => json(response, answer) })
  const { data, errors = [] } = await ask(engine, '{ feed { viewerProgress { position } } }')
  expect(data).toEqual({ feed: [{ viewerProgress: null }, { viewerProgress: null }, { viewerProgress: null }] })
  return errors.map(({ message, path }) => [message, path])
}

const error = (...path: unknown[]) => ({ message: 'no', ...(path.length === 0 ? {} : { path }) })

describe('an answer to a fetch of three entities', () => {
  test('an error of one entity does not explain that there are no others', async () => {
    const expected = [
      ['no', ['feed', 0]],
      [MISTAKE, ['feed']],
    ]
    for (const data of [null, {}, { _entities: null }, { _entities: 'none' }])
      expect(await errorsOf({ data, errors: [error('_entities', 0)] })).toEqual(expected)
  })

  test('an error of the list, or of the answer, explains that there are no entities', async () => {
    for (const path of [['_entities'], []])
      for (const data of [null, {}, { _entities: null }])
        expect(await errorsOf({ data, errors: [error(...path)] })).toEqual([['no', ['feed']]])
  })

  test('no error explains a list of another length', async () => {
    for (const path of [['_entities', 0, 'viewerProgress'], ['_entities'], ['elsewhere'], []])
      expect(await errorsOf({ data: { _entities: [null, null] }, errors: [error(...path)] })).toContainEqual([MISTAKE, ['feed']])
  })

  test('an error of an entity that was not asked for concerns the list', async () => {
    for (const index of [3, 7, -1, 0.5, '0'])
      expect(await errorsOf({ data: { _entities: [null, null, null] }, errors: [error('_entities', index)] })).toEqual([['no', ['feed']]])
  })
})

/** A list of the videos at a key of the data. */
function listOf(alias: string, key: string) {
  const field = (name: string) => ({ kind: 'Field', name })
  const requires = [{ kind: 'InlineFragment', typeCondition: 'Video', selections: [field('__typename'), field('id')] }]
  const node = { alias, representationsVariableName: alias, paths: [[{ Field: key }, '@']], requires }
  const document = parse(`{ ${alias}: _entities { ... on Video { likes } } }`)
  return compileEntityList(node as never, document, true, (name) => new Set([name]))
}

const videosOf = (count: number) => Array.from({ length: count }, (_, id) => ({ __typename: 'Video', id }))

test('a list without entities and without an error of its own gets an error beside a failed list', () => {
  const run = makeRun({ one: videosOf(2), two: videosOf(2), none: [] }, {}, {})
  const lists = [listOf('a', 'one'), listOf('b', 'two'), listOf('c', 'none')]
  const batches = lists.map((list) => list.collect(run))
  mergeAnswer(run, lists, batches, { data: null, errors: [{ message: 'no', path: ['a'] }] })
  expect(run.failures.map(({ error: { message }, path }) => [message, path])).toEqual([
    ['no', ['one']],
    [MISTAKE, ['two']],
  ])
  expect(run.lost?.size).toBe(4)
})

test('the data is walked once for all errors of an answer', () => {
  let walks = 0
  const videos = videosOf(1_000)
  const run = makeRun(
    {
      get feed() {
        walks += 1
        return videos
      },
    },
    {},
    {},
  )
  const list = listOf('_entities', 'feed')
  const batch = list.collect(run)
  walks = 0
  const errors = videos.flatMap(({ id }) => [
    { message: 'no', path: ['_entities', id, 'likes'] },
    { message: 'no', path: ['_entities', id] },
    { message: 'no' },
  ])
  mergeAnswer(run, [list], [batch], { data: { _entities: videos.map(() => ({ likes: null })) }, errors })
  expect(walks).toBe(1)
  expect(run.failures.map(({ path }) => path)).toEqual(videos.flatMap(({ id }) => [['feed', id, 'likes'], ['feed', id], ['feed']]))
})
