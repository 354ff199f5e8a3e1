/** The answers to anonymous callers: public fields of a subject, and an error for each field of a viewer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEvents } from '../../../conformance/changes.ts'
import { ask } from '../../../harness/deployment/service.ts'
import { until } from '../../../harness/until.ts'
import { serve, type Served } from './served.ts'

let served: Served
beforeAll(async () => {
  served = await serve({ thumbup: { windowMs: 100, flushAgeMaxMs: 100, publishEveryMs: 100 } })
  await like('8', '42')
  // Other viewers see a like after a window.
  await until('the like is counted', async () => (await ask(served.service.url, undefined, COUNT)).data?.subjects[0].likeCount === 1)
}, 30_000)
afterAll(() => served.stop())

const COUNT = '{ subjects(business: "video", ids: ["42"]) { likeCount } }'
const LIKE = 'mutation ($id: ID!) { setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome } }'
const like = (viewer: string, id: string) => ask(served.service.url, viewer, LIKE, { id })

const FIELDS = 'id likeCount viewerMark viewerProgress { position } viewerSeen'
const OF_VIEWER = ['viewerMark', 'viewerProgress', 'viewerSeen']
const PUBLIC = { id: '42', likeCount: 1, viewerMark: null, viewerProgress: null, viewerSeen: null }

describe('an anonymous caller gets the public fields of a subject, and UNAUTHENTICATED for each field of a viewer', () => {
  test.each([
    ['of the interface', FIELDS, ''],
    ['in a fragment on the interface', '...S', `fragment S on Subject { ${FIELDS} }`],
    ['in a fragment on the type', '...V', `fragment V on Video { ${FIELDS} }`],
    [
      'in inline fragments on both',
      'id ... on Subject { likeCount viewerMark } ... on Video { viewerProgress { position } viewerSeen }',
      '',
    ],
  ])('%s', async (_name, set, fragment) => {
    const query = `{ subjects(business: "video", ids: ["42"]) { ${set} } } ${fragment}`
    const { data, errors = [] } = await ask(served.service.url, undefined, query)
    expect(data).toEqual({ subjects: [PUBLIC] })
    const places = errors.map(({ path, extensions }) => `${path?.join('.')} ${extensions.code}`)
    expect(new Set(places)).toEqual(new Set(OF_VIEWER.map((field) => `subjects.0.${field} UNAUTHENTICATED`)))
  })

  test('in the events of a subscription', async () => {
    type Event = { data: unknown; errors?: { path: unknown[]; extensions: { code: string } }[] }
    const stop = new AbortController()
    const response = await fetch(served.service.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: `subscription { countsChanged(business: "video", ids: ["43"]) { subjects { ${FIELDS} } } }` }),
      signal: stop.signal,
    })
    await like('8', '43')
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (/^data: \{.*\}$/m.test(text)) break
    }
    stop.abort()
    const event = JSON.parse(/^data: (\{.*\})$/m.exec(text)?.[1] ?? '') as Event
    expect(event.data).toEqual({ countsChanged: { subjects: [{ ...PUBLIC, id: '43' }] } })
    expect(new Set(event.errors?.map(({ path, extensions }) => `${path.join('.')} ${extensions.code}`))).toEqual(
      new Set(OF_VIEWER.map((field) => `countsChanged.subjects.0.${field} UNAUTHENTICATED`)),
    )
  })
})

test('a viewer gets all fields of a subject in a query and in an event', async () => {
  const { data, errors } = await ask(served.service.url, '8', `{ subjects(business: "video", ids: ["42"]) { ${FIELDS} } }`)
  expect(errors).toBeUndefined()
  expect(data).toEqual({ subjects: [{ ...PUBLIC, viewerMark: 'LIKE' }] })
  const query = `subscription { countsChanged(business: "video", ids: ["44"]) { subjects { ${FIELDS} } } }`
  const events = await openEvents<{ subjects: unknown[] }>(served.service.url, { 'x-viewer-id': '9' }, query, {}, 'countsChanged')
  await like('8', '44')
  expect(await events.next(10_000)).toEqual({ subjects: [{ ...PUBLIC, id: '44', viewerMark: 'NONE' }] })
  events.end()
})
