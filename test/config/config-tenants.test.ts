import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { tenantMistakes } from '../../config/thumbup.ts'

const storesOf = (stores: object) => makeConfig([{ name: 'test', values: { stores } }]).stores
const common = storesOf({ data: '/data/main' })
const distributed = storesOf({
  redis: { urls: ['redis://cache:6379'] },
  kafka: { brokers: ['broker:9092'] },
  mysql: { url: 'mysql://tidemark:secret@records/tidemark' },
})
const tenant = (name: string, stores: { data?: string }) => ({
  name,
  thumbup: { enabled: true, dislikes: true, likesCap: 1_000, deleted: false, stores },
})

test.each([
  ['as it stands', '/data/main'],
  ['with a dot', '/data/main/.'],
  ['by a way round', '/data/x/../main/'],
])('a tenant cannot use the common folder, %s', (_, data) => {
  expect(tenantMistakes([tenant('article', { data })], common)).toEqual([
    'businesses: article: thumbup.stores.data is that of stores.data: give it a folder of its own',
  ])
})

test('two tenants cannot share a folder', () => {
  expect(tenantMistakes([tenant('article', { data: '/data/own' }), tenant('comic', { data: '/data/./own' })], common)).toEqual([
    'businesses: comic: thumbup.stores.data is that of article: give it a folder of its own',
  ])
})

test('settings of the other shape are refused', () => {
  expect(tenantMistakes([tenant('article', { data: '/data/own' })], distributed)).toEqual([
    'businesses: article: thumbup.stores.data is for the embedded shape: give redis, mysql or both',
  ])
  expect(tenantMistakes([tenant('article', {})], distributed)).toEqual([
    'businesses: article: thumbup.stores is empty: give redis, mysql or both, or leave it out',
  ])
})

test('stores without settings are reported as empty, instead of as of the other shape', () => {
  expect(tenantMistakes([tenant('article', {})], common)).toEqual([
    'businesses: article: thumbup.stores is empty: give data, a folder of its own, or leave it out',
  ])
})

/** The mistakes in these own stores of the businesses `article` and `comic`. */
function mistakesOf(...own: object[]): string[] {
  const businesses = own.map((stores, at) => ({
    ...{ number: 1 + at, name: ['article', 'comic'][at], entity: ['Article', 'Comic'][at] },
    thumbup: { stores },
  }))
  try {
    makeConfig([{ name: 'test', values: { businesses, stores: distributed } }])
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

test.each([
  ['as it stands', 'redis://cache:6379'],
  ['without its port', 'redis://cache'],
  ['with its database number', 'redis://CACHE/0'],
  ['with an account', 'redis://article:secret@cache:6379'],
])('the common Redis is not accepted as an own Redis, %s', (_, url) => {
  expect(mistakesOf({ redis: { urls: [url] } })).toEqual([
    'businesses: article: thumbup.stores.redis is that of stores.redis: give it another server, prefix or database number, or leave it out to share',
  ])
})

test.each(['mysql://tidemark@records/tidemark', 'mysql://other:secret@records:3306/tidemark'])(
  'the common schema is not accepted as an own schema: %s',
  (url) => {
    expect(mistakesOf({ mysql: { url } })).toEqual([
      'businesses: article: thumbup.stores.mysql is that of stores.mysql: give it another server, schema, or leave it out to share',
    ])
  },
)

test('two businesses cannot have the same own Redis or schema', () => {
  const own = { redis: { urls: ['redis://127.0.0.1:7000'] }, mysql: { url: 'mysql://a@localhost/own' } }
  const other = { redis: { urls: ['redis://far:1', 'redis://localhost:7000'] }, mysql: { url: 'mysql://b@127.0.0.1/own' } }
  expect(mistakesOf(own, other)).toEqual([
    expect.stringMatching(/^businesses: comic: thumbup.stores.redis is that of article:/),
    expect.stringMatching(/^businesses: comic: thumbup.stores.mysql is that of article:/),
  ])
})

test('another database number, prefix or schema of the same server is accepted as own', () => {
  expect(mistakesOf({ redis: { urls: ['redis://cache/1'] }, mysql: { url: 'mysql://tidemark@records/article' } })).toEqual([])
  expect(mistakesOf({ redis: { urls: ['redis://cache'], prefix: 'article' } })).toEqual([])
})

test.each([
  ['a database that is no number', { redis: { urls: ['redis://h/x'] } }, 'redis: "/x" in h/x is not a database number: use 0 to 15'],
  [
    'a database number of a Cluster',
    { redis: { urls: ['redis://a/1', 'redis://b/1'] } },
    'redis: a Cluster has database 0 only, and 1 is named',
  ],
  ['no address', { redis: { urls: ['redis://:7000'] } }, 'redis: :7000 is not an address of a Redis server'],
  [
    'a password with a bare %',
    { redis: { urls: ['redis://u:a%zb@h'] } },
    'redis: the credentials in the address of h have a % that begins no code',
  ],
  ['a parameter of Redis', { redis: { urls: ['redis://h?db=3'] } }, 'redis: the address of h has parameters'],
  ['a brace in a prefix', { redis: { urls: ['redis://h'], prefix: 'a{b' } }, 'redis.prefix "a{b" has a brace'],
  [
    'the same of a second',
    { redis: { urls: ['redis://h'], second: { urls: ['redis://i/y'] } } },
    'redis.second: "/y" in i/y is not a database',
  ],
  ['a parameter', { mysql: { url: 'mysql://u:secret@h/d?ssl=1' } }, 'mysql.url has parameters'],
  ['no database', { mysql: { url: 'mysql://u@h' } }, 'mysql.url names no database'],
  [
    'TLS to an address',
    { mysql: { url: 'mysql://u@10.0.0.1/d', tls: {} } },
    'mysql.url names the address 10.0.0.1, and tls needs the name',
  ],
])('an impossible address is refused with the name of its setting, for a business and for all: %s', (_, own, sentence) => {
  expect(mistakesOf(own)).toEqual([expect.stringContaining(`businesses: article: thumbup.stores.${sentence}`)])
  const stores = { redis: { urls: ['redis://all'] }, kafka: { brokers: ['all:1'] }, mysql: { url: 'mysql://u@all/d' }, ...own }
  expect(() => makeConfig([{ name: 'test', values: { stores } }])).toThrow(`stores.${sentence}`)
  expect(mistakesOf(own).join()).not.toContain('secret')
})

describe('a second Redis for counts', () => {
  const two = {
    ...{ kafka: { brokers: ['all:1'] }, mysql: { url: 'mysql://u@all/d' } },
    redis: { urls: ['redis://a'], second: { urls: ['redis://b'] } },
  }
  function told(redis: object | undefined, common: object = two) {
    const thumbup = redis && { stores: { redis } }
    try {
      makeConfig([{ name: 'test', values: { businesses: [{ number: 1, name: 'article', entity: 'Article', thumbup }], stores: common } }])
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const [own, second] = ['businesses: article: thumbup.stores.redis', 'businesses: article: thumbup.stores.redis.second']

  test.each([
    ['the second of all', { urls: ['redis://b:6379'] }, `${own} is that of stores.redis.second: give it another server`],
    [
      'as its second the first of all',
      { urls: ['redis://c'], second: { urls: ['redis://A./0'] } },
      `${second} is that of stores.redis: give`,
    ],
    [
      'as its second the second of all',
      { urls: ['redis://c'], second: { urls: ['redis://b'] } },
      `${second} is that of stores.redis.second`,
    ],
    ['as its second its own first', { urls: ['redis://c'], second: { urls: ['redis://c:6379'] } }, `${second} is that of article: give`],
  ])('of a business cannot be %s', (_, redis, sentence) => expect(told(redis)).toContain(sentence))

  test('cannot be the first', () => {
    const same = { ...two, redis: { urls: ['redis://a'], second: { urls: ['redis://a'] } } }
    expect(told(undefined, same)).toMatch(/^stores.redis.second is that of stores.redis: .* or leave it out$/)
  })

  test('differs from the first by its prefix or number', () => {
    expect(told({ urls: ['redis://c'], second: { urls: ['redis://c/1'] } })).toBe('')
    expect(told({ urls: ['redis://b'], prefix: 'own', second: { urls: ['redis://a'], prefix: 'own' } })).toBe('')
  })
})

test.each([
  ['a dot behind the name', { redis: { urls: ['redis://cache.:6379'] } }, 'thumbup.stores.redis is that of stores.redis'],
  ['an encoded letter', { mysql: { url: 'mysql://t@RECORDS./tide%6dark' } }, 'thumbup.stores.mysql is that of stores.mysql'],
])('the same place with another spelling is detected: %s', (_, stores, sentence) => {
  expect(mistakesOf(stores)).toEqual([expect.stringContaining(sentence)])
})
