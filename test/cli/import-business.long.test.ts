/** `tidemark export-business post` and `import-business`, from embedded stores into empty installations of both shapes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COUNT, makeFeedClient, newViewer } from '../support/feed-client.ts'
import { distributedIsHere, distributedShape, embeddedShape, type FeedShape } from '../support/feed-shapes.ts'

const POST =
  '{ id author { id } text media createdAt restricted source { id } sourceState repostCount commentCount readCount likeCount viewerMark }'
const PAGE = `{ edges { node ${POST} } pageInfo { hasNextPage } }`
const USERS = '{ edges { followedAt node { id } } pageInfo { hasNextPage } }'
const EVERYTHING = `query ($ids: [ID!]!, $user: ID!) { homeFeed(first: 100) ${PAGE} posts(ids: $ids) ${POST} filterWords { words }
  feedUser(id: $user) { postCount followerCount followingCount viewerFollows posts(first: 100) ${PAGE}
    following(first: 100) ${USERS} followers(first: 100) ${USERS} } }`
const MARK = 'mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome } } }'
const SET_WORDS = 'mutation ($words: [String!]!) { setFilterWords(input: {words: $words}) { filterWords { words } } }'

const isDistributedHere = await distributedIsHere()

describe('export-business and import-business', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-export-'))
  const file = join(folder, 'post.jsonl')
  const viewers = Array.from({ length: 12 }, newViewer)
  const at = (index: number): string => viewers[index % viewers.length] as string
  const ids: string[] = []
  let source: FeedShape
  let expected: unknown
  let exported: Awaited<ReturnType<FeedShape['run']>>

  const clientOf = (shape: FeedShape) => makeFeedClient(() => shape.urls[1])

  /** All that each viewer sees of themselves and of the next two. */
  async function seenIn(shape: FeedShape): Promise<unknown[]> {
    const { data } = clientOf(shape)
    const answers: unknown[] = []
    for (let index = 0; index < viewers.length; index++)
      for (const user of [0, 1, 2]) answers.push(await data(at(index), EVERYTHING, { ids, user: at(index + user) }))
    return answers
  }

  beforeAll(async () => {
    source = await embeddedShape()
    const { data, published, follow } = clientOf(source)
    for (let index = 0; index < viewers.length; index++) await follow(at(index), [at(index + 1), at(index + 3)])
    for (let index = 0; index < 60; index++) {
      const restricted = index % 5 === 4 ? { audience: [at(index + 2), at(index + 5)] } : {}
      const shares = index % 7 === 6 && index % 5 !== 4 ? { source: ids.find((_, place) => place % 5 !== 4) } : {}
      const media = index % 3 === 0 ? [`https://img.example/ü-${index}.png`] : []
      ids.push(await published(at(index), { text: `post ${index} "ü" 🙂`, media, ...restricted, ...shares }))
    }
    await data(at(0), SET_WORDS, { words: ['post 13', 'Ünsinn'] })
    const deleted = ids.at(-1) as string
    await data(at(59), 'mutation ($id: ID!) { deletePost(input: {id: $id}) { post { id } } }', { id: deleted })
    const marks = ids.slice(0, 20).map((id, index) => ({ business: 'post', id, mark: index % 4 === 0 ? 'DISLIKE' : 'LIKE' }))
    for (let index = 0; index < 4; index++) await data(at(index), MARK, { marks })
    const events = ids.slice(0, 10).map((id, index) => ({ key: `event-${index}`, id, counter: 'COMMENT', delta: index + 1 }))
    await data('comments', COUNT, { events }, { 'x-viewer-scopes': 'counts:write' })
    await source.settled()
    expected = await seenIn(source)
    exported = await source.run('export-business', 'post', '--out', file)
  }, 120_000)
  afterAll(async () => {
    await source?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  test('the export has each post that is not deleted once, restricted ones with their audience', () => {
    expect({ status: exported.status, error: exported.error }).toMatchObject({ status: 0 })
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const posts = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'post')
    expect(posts).toHaveLength(ids.length - 1)
    expect(new Set(posts.map(({ id }) => id))).toEqual(new Set(ids.slice(0, -1)))
    expect(posts.filter(({ audience }) => audience !== undefined)).toHaveLength(11)
    expect(exported.error).toMatch(/^post: \d+ marks and 0 owners of subjects, and \d+ lines of the feed\n$/)
  })

  const shapes = [
    { name: 'embedded stores', open: embeddedShape, isHere: true },
    { name: 'Redis, Kafka, MariaDB and Memcached', open: distributedShape, isHere: isDistributedHere },
  ]
  for (const { name, open, isHere } of shapes) {
    test.skipIf(!isHere)(
      `an empty installation on ${name} has the same pages, lists and counts after the import`,
      { timeout: 180_000 },
      async () => {
        const target = await open()
        try {
          const lines = readFileSync(file, 'utf8').trim().split('\n')
          // The import of a part is that of a command which was killed.
          const part = join(folder, 'part.jsonl')
          writeFileSync(part, `${lines.slice(0, Math.floor(lines.length / 2)).join('\n')}\n`)
          await target.run('import-business', 'post', part)
          for (let times = 0; times < 2; times++) {
            const { status, out, error } = await target.run('import-business', 'post', file)
            expect({ status, out, error }).toEqual({ status: 0, out: `post: ${lines.length} lines imported\n`, error: '' })
          }
          expect(await seenIn(target)).toEqual(expected)
          const again = join(folder, 'again.jsonl')
          await target.run('export-business', 'post', '--out', again)
          expect(readFileSync(again, 'utf8').trim().split('\n').toSorted()).toEqual(lines.toSorted())

          // It goes on from there: ids and counts continue.
          const { data, published, home } = clientOf(target)
          const next = await published(at(1), { text: 'next' })
          expect((await home(at(0)))[0]).toBe(next)
          const user = { ids: [], user: at(1) }
          const { feedUser } = await data(at(0), EVERYTHING, user)
          const before = (await clientOf(source).data(at(0), EVERYTHING, user)).feedUser
          expect(feedUser.postCount).toBe(before.postCount + 1)
        } finally {
          await target.remove()
        }
      },
    )
  }

  test('counts of posts and reposts are those of the posts in the file, also if its counters are newer or missing', async () => {
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const posts = lines.map((line) => JSON.parse(line)).filter(({ kind, audience }) => kind === 'post' && audience === undefined)
    const shares = posts.find((post) => post.source !== undefined)
    const author = posts.find((post) => post !== shares && post.author !== shares.author).author
    const without = lines
      .filter((line) => !line.includes(shares.id) && !line.startsWith(`{"kind":"user-count","id":"${author}"`))
      .filter((line) => !line.startsWith(`{"kind":"count","id":"${shares.source}"`))
    const changed = join(folder, 'newer.jsonl')
    writeFileSync(changed, `${without.join('\n')}\n`)
    const target = await embeddedShape()
    try {
      await target.run('import-business', 'post', changed)
      const postCount = async (user: string) => (await clientOf(target).data(at(0), EVERYTHING, { ids: [], user })).feedUser.postCount
      const written = (user: string) => posts.filter((post) => post.author === user).length
      expect([await postCount(author), await postCount(shares.author)]).toEqual([written(author), written(shares.author) - 1])
      const [source] = (await clientOf(target).data(at(0), EVERYTHING, { ids: [shares.source], user: author })).posts
      expect(source.repostCount).toBe(posts.filter((post) => post.source === shares.source).length - 1)
    } finally {
      await target.remove()
    }
  })

  test.each([
    ['{"kind":"post"', 'wrong.jsonl:1 is not JSON'],
    ['{"kind":"like","id":"1"}', 'wrong.jsonl:1 is not a line of an export: kind: "like" is not possible: say mark or owner or post or '],
    ['7', 'wrong.jsonl:1 is not a line of an export: it is not a JSON object'],
    ['{"kind":"owner","id":"1","owner":"2","more":1}', 'wrong.jsonl:1 is not a line of an export: remove more'],
    ['{"kind":"follow","viewer":"","id":"1","markedAt":5}', 'wrong.jsonl:1 is not a line of an export'],
    ['{"kind":"post","id":"5","author":"7","text":"a","media":[],"clientKey":"k","version":1}', 'number of regions'],
  ])('the line %s ends the import with a sentence', async (line, sentence) => {
    const wrong = join(folder, 'wrong.jsonl')
    writeFileSync(wrong, `${line}\n`)
    const { status, error } = await source.run('import-business', 'post', wrong)
    expect(status).toBe(1)
    expect(error).toContain(sentence)
  })

  test('a restricted post without its audience, and a feed for another business, are refused', async () => {
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const { audience, ...post } = JSON.parse(lines.find((line) => line.includes('"audience"')) as string)
    expect(audience).toHaveLength(2)
    const wrong = join(folder, 'wrong.jsonl')
    writeFileSync(wrong, `${JSON.stringify(post)}\n`)
    expect((await source.run('import-business', 'post', wrong)).error).toContain('has no audience')
    expect((await source.run('import-business', 'video', file)).error).toContain('is not the business of posts')
  })
})
