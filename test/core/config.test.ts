import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../core/config.ts'

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
    expect(config.businesses.map((business) => business.name)).toEqual(['video', 'article', 'comic'])
    expect(config.history.retentionDays).toBe(90)
  })

  test('later sources win key by key, and leave the other keys alone', () => {
    const config = makeConfig([
      { name: 'file', values: { server: { port: 1, host: '0.0.0.0' } } },
      { name: 'flags', values: { server: { port: 2 } } },
    ])
    expect(config.server).toMatchObject({ port: 2, host: '0.0.0.0' })
  })

  test('a key set is believed in development without an issuer and an audience, and in production with both', () => {
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

  test.each([
    [{ history: { sweepAfterMs: 1_000 } }, 'every key is persisted twice'],
    [{ history: { aggregatorKeysMax: 10 } }, 'no flush is ever full'],
    [{ server: { mode: 'production' } }, 'production needs auth.secret'],
    [{ auth: { secret: 'a'.repeat(32), publicKey: 'b' } }, 'auth: set one of auth.secret'],
    [{ auth: { jwksUrl: 'http://id.example/keys' } }, 'write https://…, or http:// for this machine'],
    [{ server: { mode: 'production' }, auth: { jwksUrl: 'https://id.example/keys' } }, 'auth.jwksUrl needs auth.issuer'],
    [{ server: { mode: 'production' }, auth: { jwksUrl: 'https://id.example/keys', issuer: 'i' } }, 'auth.jwksUrl needs auth.issuer'],
    [{ server: { mode: 'production' }, auth: { jwksUrl: 'https://id.example/keys', audience: 'a' } }, 'auth.jwksUrl needs auth.issuer'],
    [{ auth: { secret: 'a'.repeat(32), identity: { secret: 'a'.repeat(32) } } }, 'auth.identity.secret must differ'],
    [{ auth: { identity: { secret: 'a'.repeat(32), publicKey: 'b' } } }, 'auth.identity: set either secret'],
    [{ server: { cors: { origins: ['*'], credentials: true } } }, 'server.cors: origins "*" with credentials'],
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
  ])('refuses %j with the reason', (values, reason) => {
    expect(mistakesOf(values)).toEqual([expect.stringContaining(reason)])
  })
})
