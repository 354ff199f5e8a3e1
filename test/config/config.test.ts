import { buildASTSchema, parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { ourSubgraphs } from '../../subgraphs/catalog.ts'

const mistakesOf = (values: unknown): string[] => {
  try {
    makeConfig([{ name: 'test', values }])
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

describe('configuration', () => {
  test('works without a file', () => {
    const config = makeConfig([])
    expect(config.server.port).toBe(4000)
    expect(config.businesses.map((business) => business.name)).toEqual(['video', 'article', 'comic', 'post'])
    expect(config.history.retentionDays).toBe(90)
  })

  test('later sources win key by key, and leave the other keys alone', () => {
    const config = makeConfig([
      { name: 'file', values: { server: { port: 1, host: '0.0.0.0' } } },
      { name: 'flags', values: { server: { port: 2 } } },
    ])
    expect(config.server).toMatchObject({ port: 2, host: '0.0.0.0' })
  })

  test('a key set is accepted in development without an issuer and an audience, and in production with both', () => {
    const jwksUrl = 'https://id.example/keys'
    expect(mistakesOf({ auth: { jwksUrl } })).toEqual([])
    expect(mistakesOf({ server: { mode: 'production' }, auth: { jwksUrl, issuer: 'i', audience: 'a' } })).toEqual([])
  })

  test('is frozen all the way down', () => {
    const config = makeConfig([])
    expect(Object.isFrozen(config.businesses[0])).toBe(true)
  })

  test('every mistake is one sentence that begins with the path of its key', () => {
    const mistakes = mistakesOf({ server: { port: 70_000, colour: 'red' }, history: { timelineCap: 'many' } })
    expect(mistakes).toHaveLength(3)
    expect(mistakes.some((each) => each.startsWith('server.port: '))).toBe(true)
    expect(mistakes.some((each) => each.startsWith('server.colour is not a setting'))).toBe(true)
    expect(mistakes.some((each) => each.startsWith('history.timelineCap: '))).toBe(true)
  })

  test('a mistake in a business is reported with the name of the business, or with its position if the name is invalid', () => {
    const video = { number: 1, name: 'video', entity: 'Video' }
    const article = { number: 2, name: 'article', entity: 'Article', thumbup: { likesCap: 1, stores: { mysql: { url: 'hidden' } } } }
    const told = mistakesOf({ businesses: [video, { ...article, colour: 'red' }] })
    expect(told).toEqual([
      expect.stringMatching(/^businesses: article: thumbup.likesCap: 1 is not possible: give at least 10 \(/),
      expect.stringMatching(/^businesses: article: thumbup.stores.mysql.url: write mysql:/),
      expect.stringMatching(/^businesses: article: colour is not a setting/),
    ])
    expect(told.join()).not.toContain('hidden')
    const unnamed = mistakesOf({ businesses: [{ ...article, name: 'Article!' }, { ...article, name: 'video' }, video] })
    expect(unnamed).toEqual(
      expect.arrayContaining([expect.stringMatching(/^businesses.0.name: /), expect.stringMatching(/^businesses.1.thumbup.likesCap: /)]),
    )
  })

  test('a change feed of a database is refused without a database', () => {
    const thumbup = { changes: { feed: 'binlog' } }
    const stores = { redis: { urls: ['redis://a'] }, kafka: { brokers: ['b:1'] }, mysql: { url: 'mysql://c/d' } }
    expect(mistakesOf({ thumbup })).toEqual([expect.stringMatching(/^thumbup.changes.feed: binlog follows a database of the distributed/)])
    expect(mistakesOf({ thumbup, stores })).toEqual([])
  })

  test.each([
    [{ history: { sweepAfterMs: 1_000 } }, 'every key is persisted twice'],
    [{ history: { aggregatorKeysMax: 10 } }, 'no flush is ever full'],
    [{ auth: { secret: 'a'.repeat(32), publicKey: 'b' } }, 'auth: set one of auth.secret'],
    [{ auth: { jwksUrl: 'http://id.example/keys' } }, 'write https://…, or http:// for this machine'],
    [{ server: { mode: 'production' }, auth: { jwksUrl: 'https://id.example/keys' } }, 'auth.jwksUrl needs auth.issuer'],
    [{ server: { mode: 'production' }, auth: { jwksUrl: 'https://id.example/keys', issuer: 'i' } }, 'auth.jwksUrl needs auth.issuer'],
    [{ server: { mode: 'production' }, auth: { jwksUrl: 'https://id.example/keys', audience: 'a' } }, 'auth.jwksUrl needs auth.issuer'],
    [{ auth: { secret: 'a'.repeat(32), identity: { secret: 'a'.repeat(32) } } }, 'auth.identity.secret must differ'],
    [{ auth: { identity: { secret: 'a'.repeat(32), publicKey: 'b' } } }, 'auth.identity: set either secret'],
    [{ server: { cors: { origins: ['*'], credentials: true } } }, 'server.cors: origins "*" with credentials'],
    [{ server: { port: 4000, admin: { port: 4000 } } }, 'server.admin.port: 4000 is the port of the API'],
    [{ server: { port: 4000, admin: { host: '0.0.0.0', port: 4000 } } }, 'server.admin.port: 4000 is the port of the API'],
    [{ server: { admin: { host: '127.0.0.1' } } }, 'server.admin.port'],
    [{ server: { logLevel: 'warn', accessLog: true } }, 'server.logLevel "warn" drops them'],
    [{ server: { logLevel: 'loud' } }, 'server.logLevel'],
    [{ server: { cors: { origins: ['https://a.example/path'] } } }, 'write https://host[:port] without a path'],
    [{ server: { forwardHeaders: ['tidemark-identity'] } }, 'server.forwardHeaders: tidemark-identity'],
    [{ limits: { abuse: { refusals: 1, perSeconds: 1, blockSeconds: 1 } } }, 'limits.abuse counts refusals'],
    [
      {
        businesses: [
          { number: 1, name: 'video', entity: 'Video' },
          { number: 1, name: 'film', entity: 'Film' },
        ],
      },
      'the number 1 occurs twice',
    ],
    [{ businesses: [{ number: 1, name: 'video', entity: 'Query' }] }, 'is a type of Tidemark'],
    [{ limits: { viewer: { points: 0, perSeconds: 1 } } }, 'limits.viewer.points: 0 is not possible: give at least 1'],
  ])('refuses %j with the reason', (values, reason) => {
    expect(mistakesOf(values)).toEqual([expect.stringContaining(reason)])
  })

  test('refuses an entity with the name of a type of any subgraph', () => {
    const config = makeConfig([])
    const entities = new Set(config.businesses.map(({ entity }) => entity))
    const types = ourSubgraphs(config)
      .flatMap(({ sdl }) => Object.keys(buildASTSchema(parse(sdl), { assumeValidSDL: true }).getTypeMap()))
      .filter((name) => !name.startsWith('_') && !entities.has(name))
    expect(types).toEqual(expect.arrayContaining(['Subject', 'Progress', 'User', 'Unseen', 'UserError', 'BigCount', 'ID']))
    for (const entity of new Set(types))
      expect(mistakesOf({ businesses: [{ number: 1, name: 'video', entity }] }), entity).toEqual([
        `businesses: the entity ${entity} is a type of Tidemark's own; choose another name`,
      ])
  })

  test('names each wrong member of a mapping that may also be "none"', () => {
    expect(mistakesOf({ limits: { viewer: { points: 0 } } })).toEqual([
      expect.stringContaining('limits.viewer.points: 0 is not possible: give at least 1'),
      expect.stringContaining('limits.viewer.perSeconds: it is missing: give a number'),
    ])
    expect(mistakesOf({ limits: { viewer: 7 } })).toEqual([expect.stringContaining('limits.viewer: 7 is not possible: give points')])
  })

  test('reports a relation beside another wrong setting of its section', () => {
    const history = { flushAgeMaxMs: 60_000, sweepAfterMs: 1_000, timelineCap: 0 }
    expect(mistakesOf({ history })).toEqual([
      expect.stringContaining('history.timelineCap'),
      expect.stringContaining('history.sweepAfterMs (1000) must exceed'),
    ])
  })

  test('reports no relation that names a wrong setting', () => {
    expect(mistakesOf({ history: { flushAgeMaxMs: 0, sweepAfterMs: 1_000 } })).toEqual([expect.stringContaining('history.flushAgeMaxMs')])
    const abuse = { refusals: 1, perSeconds: 1, blockSeconds: 1 }
    expect(mistakesOf({ server: { mode: 'live' }, limits: { abuse } })).toEqual([expect.stringContaining('server.mode')])
    expect(mistakesOf({ limits: { abuse, service: 7 } })).toEqual([expect.stringContaining('limits.service')])
  })
})
