/** Requests to a graph of all our subgraphs and of the partner in partner.ts: one per subgraph, and one across all of them. */
import { expect } from 'vitest'
import { ask } from '../../harness/deployment/service.ts'

const REPORT = 'mutation ($business: String!) { reportProgress(input: {business: $business, id: "42", position: 600000}) { outcome } }'
const MARK = 'mutation ($business: String!) { setMark(input: { business: $business, id: "42", mark: LIKE }) { outcome } }'
const ISSUE = 'mutation ($business: String!) { recordIssued(input: {business: $business, ids: ["42"]}) { recorded } }'

/** The answer of each Tidemark subgraph about `business`, with its type `entity`, and of the partner about videos. */
export async function expectEverySubgraph(url: string, business = 'video', entity = 'Video'): Promise<void> {
  const answer = async (query: string) => {
    const { data, errors } = await ask(url, '7', query, query.includes('$business') ? { business } : {})
    expect(errors).toBeUndefined()
    return data as unknown
  }
  expect(await answer(REPORT)).toEqual({ reportProgress: { outcome: 'ACCEPTED' } })
  expect(await answer(MARK)).toMatchObject({ setMark: { outcome: expect.any(String) as string } })
  expect(await answer(ISSUE)).toEqual({ recordIssued: { recorded: true } })
  expect(await answer('{ viewerHistory { edges { node { __typename id } } } }')).toEqual({
    viewerHistory: { edges: [{ node: { __typename: entity, id: '42' } }] },
  })
  expect(await answer('query ($business: String!) { subjects(business: $business, ids: ["42"]) { viewerMark } }')).toEqual({
    subjects: [{ viewerMark: 'LIKE' }],
  })
  expect(await answer('query ($business: String!) { unseen(business: $business, candidates: ["42", "43"]) { ids } }')).toEqual({
    unseen: { ids: ['43'] },
  })
  expect(await answer('{ video(id: 42) { title } }')).toEqual({ video: { title: 'title of 42' } })
  if (entity !== 'Video') return
  const video = {
    title: 'title of 42',
    viewerProgress: { position: 600_000 },
    viewerMark: 'LIKE',
    viewerSeen: expect.anything() as unknown,
  }
  expect(await answer('{ video(id: 42) { title viewerProgress { position } viewerMark viewerSeen } }')).toEqual({ video })
}
