/** Copies of keys between two prefixes of one Redis. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { service } from '../../../harness/deployment/services.ts'
import { copyKeys, copyOf, findKey, putKeys, type KeyCopy } from '../../../stores/redis/key-copies.ts'

const url = await service('redis')
const PREFIX = 'copies*'

test('a key that expires between the two commands of its copy is not copied as a key without expiry', () => {
  const bytes = Buffer.from('value')
  expect(copyOf('key', bytes, -2)).toBeUndefined()
  expect(copyOf('key', null, -2)).toBeUndefined()
  expect(copyOf('key', bytes, -1)).toMatchObject({ expiresAt: 0 })
  expect(copyOf('key', bytes, 1_790_000_000_000)).toMatchObject({ expiresAt: 1_790_000_000_000 })
})

describe.skipIf(url === undefined)('copies of keys', () => {
  const options = { urls: [url as string], prefix: PREFIX }
  let client: Redis
  const remove = async (): Promise<void> => {
    const keys = await client.keys('copies*')
    if (keys.length > 0) await client.unlink(keys)
  }
  beforeAll(async () => {
    client = new Redis(url as string)
    await remove()
  })
  afterAll(async () => {
    await remove()
    client.disconnect()
  })

  async function copiesOf(isWanted: (name: string) => boolean): Promise<KeyCopy[]> {
    const all: KeyCopy[] = []
    await copyKeys(options, isWanted, (copies) => Promise.resolve(void all.push(...copies)))
    return all
  }

  test('have the value and the expiry of the wanted keys, and none of another prefix', async () => {
    const expiresAt = Date.now() + 100_000
    await client.zadd(`${PREFIX}:issued:{ü}:1:42`, 1, Buffer.from([0, 255]))
    await client.set(`${PREFIX}{a}y42`, 'day', 'PXAT', String(expiresAt))
    await client.set(`${PREFIX}:other`, '1')
    await client.set(`copies2:issued:{a}:1:42`, '1')
    const copies = await copiesOf((name) => /^(?::issued:|\{a\})/.test(name))
    expect(copies.map(({ key, expiresAt: at }) => [key, at]).toSorted((a, b) => Number(a[1]) - Number(b[1]))).toEqual([
      [`${PREFIX}:issued:{ü}:1:42`, 0],
      [`${PREFIX}{a}y42`, expiresAt],
    ])
    await remove()
    await putKeys(options, copies)
    expect(await client.zscore(`${PREFIX}:issued:{ü}:1:42`, Buffer.from([0, 255]))).toBe('1')
    expect(await client.pexpiretime(`${PREFIX}{a}y42`)).toBe(expiresAt)
  })

  test('a key that has expired meanwhile is not put', async () => {
    await client.set(`${PREFIX}:gone`, '1')
    const [copy] = await copiesOf((name) => name === ':gone')
    await remove()
    await putKeys(options, [{ ...(copy as KeyCopy), expiresAt: 1 }])
    expect(await client.exists(`${PREFIX}:gone`)).toBe(0)
  })

  test('a prefix is empty if it has nothing but the formats of stores and counts of rate limits', async () => {
    await remove()
    for (const key of [`${PREFIX}-meta`, `${PREFIX}:played:meta`, `${PREFIX}:limit:7`, 'copies2:issued:1']) await client.set(key, '1')
    expect(await findKey(options)).toBeUndefined()
    await client.set(`${PREFIX}{a}s42`, '1')
    expect(await findKey(options)).toBe(`${PREFIX}{a}s42`)
  })
})
