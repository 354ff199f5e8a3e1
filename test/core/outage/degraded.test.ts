import { describe, expect, test } from 'vitest'
import { complete, UNAVAILABLE, type AnyStoreName, type Degraded } from '../../../core/outage/degraded.ts'

describe('a complete read', () => {
  test('resolves to the answer if no store was lacking', async () => {
    expect(await complete(async () => 7)).toBe(7)
  })

  test.each(Object.keys(UNAVAILABLE) as AnyStoreName[])('rejects with the code of the %s if the answer lacks it', async (store) => {
    const partial = async (degraded: Degraded) => {
      degraded.add(store)
      return 7
    }
    await expect(complete(partial)).rejects.toMatchObject({ code: UNAVAILABLE[store] })
  })

  test('rejects with the error of the read if the read fails', async () => {
    await expect(complete(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug')
  })
})
