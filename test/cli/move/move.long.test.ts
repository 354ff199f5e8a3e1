/**
 * `tidemark export` and `import` as an operator runs them: embedded, to distributed, and back. Pages, lists and counts of the API are the same
 * after each move, and so are the rows of the exports.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../../harness/deployment/command.ts'
import { startDeployment, type Deployment } from '../../../harness/deployment/deployment.ts'
import { makeServiceFolder, startService, type Service } from '../../../harness/deployment/service.ts'
import { COUNT, makeFeedClient, newViewer } from '../../support/feed-client.ts'
import { distributedIsHere, embeddedShape, type FeedShape } from '../../support/feed-shapes.ts'

const POST =
  '{ id author { id } text media createdAt restricted source { id } sourceState repostCount commentCount readCount likeCount viewerMark }'
const PAGE = `{ edges { node ${POST} } pageInfo { hasNextPage } }`
const USERS = '{ edges { followedAt node { id } } pageInfo { hasNextPage } }'
const EVERYTHING = `query ($ids: [ID!]!, $user: ID!) { homeFeed(first: 100) ${PAGE} posts(ids: $ids) ${POST} filterWords { words }
  feedUser(id: $user) { postCount followerCount followingCount viewerFollows posts(first: 100) ${PAGE}
    following(first: 100) ${USERS} followers(first: 100) ${USERS} } }`
const MARK = 'mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome } } }'
const SET_WORDS = 'mutation ($words: [String!]!) { setFilterWords(input: {words: $words}) { filterWords { words } } }'

const HISTORY = '{ viewerHistory(first: 100) { edges { viewedAt node { id viewerProgress { position finished } } } } }'
const REPORT = 'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }'

const isDistributedHere = await distributedIsHere()
const folder = mkdtempSync(join(tmpdir(), 'tidemark-move-'))
const viewers = Array.from({ length: 8 }, newViewer)
const at = (index: number): string => viewers[index % viewers.length] as string
const ids: string[] = []
let source: FeedShape
let expected: unknown

/** All that each viewer sees of themselves and of the next two. */
async function seenAt(url: string): Promise<unknown[]> {
  const { data } = makeFeedClient(() => url)
  const answers: unknown[] = []
  for (let index = 0; index < viewers.length; index++) {
    answers.push(await data(at(index), HISTORY))
    for (const user of [0, 1, 2]) answers.push(await data(at(index), EVERYTHING, { ids, user: at(index + user) }))
  }
  return answers
}

beforeAll(async () => {
  source = await embeddedShape()
  const { data, published, follow } = makeFeedClient(() => source.urls[1])
  for (let index = 0; index < viewers.length; index++) {
    await follow(at(index), [at(index + 1), at(index + 3)])
    const reports = Array.from({ length: 30 }, (_, id) => ({ business: 'video', id: String(id), position: 1_000 * id + 60_000 }))
    await data(at(index), REPORT, { reports })
  }
  await data(at(1), 'mutation { deleteHistory(input: {business: "video", ids: ["3"]}) { userErrors { code } } }')
  await data(at(2), 'mutation { updateHistorySettings(input: {paused: true}) { userErrors { code } } }')
  for (let index = 0; index < 30; index++) {
    const restricted = index % 5 === 4 ? { audience: [at(index + 2), at(index + 5)] } : {}
    const shares = index % 7 === 6 && index % 5 !== 4 ? { source: ids.find((_, place) => place % 5 !== 4) } : {}
    const media = index % 3 === 0 ? [`https://img.example/ü-${index}.png`] : []
    ids.push(await published(at(index), { text: `post ${index} "ü" 🙂`, media, ...restricted, ...shares }))
  }
  await data(at(0), SET_WORDS, { words: ['post 13', 'Ünsinn'] })
  const marks = ids.slice(0, 20).map((id, index) => ({ business: 'post', id, mark: index % 4 === 0 ? 'DISLIKE' : 'LIKE' }))
  for (let index = 0; index < 4; index++) await data(at(index), MARK, { marks })
  const events = ids.slice(0, 10).map((id, index) => ({ key: `event-${index}`, id, counter: 'COMMENT', delta: index + 1 }))
  await data('comments', COUNT, { events }, { 'x-viewer-scopes': 'counts:write' })
  await source.settled()
  expected = await seenAt(source.urls[0])
  expect(await source.run('export', '--out', join(folder, 'first'))).toMatchObject({ status: 0, error: '' })
}, 120_000)
afterAll(async () => {
  await source?.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** Rows of both tables, in any order. Versions of settings and staged plays depend on the deployment. */
function rowsIn(name: string): string[] {
  const files = readdirSync(join(folder, name)).filter((file) => file.endsWith('.jsonl'))
  return files
    .flatMap((file) =>
      readFileSync(join(folder, name, file), 'utf8')
        .trim()
        .split('\n'),
    )
    .toSorted()
}

test('an import is refused while the service runs, and changes nothing', async () => {
  const { status, error } = await source.run('import', join(folder, 'first'))
  expect({ status, error }).toEqual({ status: 1, error: expect.stringContaining('DATA_IN_USE: ') })
})

test.skipIf(!isDistributedHere)('a move to the distributed shape and back shows the same everywhere', { timeout: 180_000 }, async () => {
  const deployment: Deployment = await startDeployment({ gateways: 1, markJobs: 1, feedJobs: 1, seenJobs: 1 })
  const empty = makeServiceFolder()
  let service: Service | undefined
  try {
    const config = join(deployment.servers.folder, 'gateway-1', 'tidemark.yaml')
    const run = (...args: string[]) => runCommand(deployment.servers.folder, [...args, '--config', config])
    const refused = await run('import', join(folder, 'first'))
    expect(refused).toMatchObject({ status: 1, error: expect.stringContaining('DATA_IN_USE: processes of this deployment are running') })
    await Promise.all(deployment.roles.map((role) => role.stop()))
    const imported = await run('import', join(folder, 'first'), '--verify')
    expect(imported).toMatchObject({ status: 0, error: '' })
    expect(imported.out).not.toMatch(/[1-9]\d* (newer|missing|different)/)
    expect(await run('export', '--out', join(folder, 'second'), '--form', 'parquet')).toMatchObject({ status: 0, error: '' })
    await Promise.all(deployment.roles.map((role) => role.start()))
    expect(await seenAt(deployment.gateways[0]?.url as string)).toEqual(expected)

    const flags = ['--config', join(empty.folder, 'tidemark.yaml'), '--data', join(empty.folder, 'data')]
    writeFileSync(join(empty.folder, 'tidemark.yaml'), JSON.stringify({}))
    const back = await runCommand(empty.folder, ['import', join(folder, 'second'), '--verify', ...flags])
    expect(back).toMatchObject({ status: 0, error: '' })
    expect(back.out).not.toMatch(/[1-9]\d* (newer|missing|different)/)
    expect(await runCommand(empty.folder, ['export', '--out', join(folder, 'third'), ...flags])).toMatchObject({ status: 0 })
    expect(rowsIn('third')).toEqual(rowsIn('first'))
    service = await startService({ folder: empty.folder })
    expect(await seenAt(service.url)).toEqual(expected)

    // It goes on from there: ids and counts continue.
    const { published, home } = makeFeedClient(() => (service as Service).url)
    const next = await published(at(1), { text: 'next' })
    expect((await home(at(0)))[0]).toBe(next)
  } finally {
    await service?.stop()
    empty.remove()
    await deployment.remove()
  }
})
