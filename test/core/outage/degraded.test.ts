import { describe, expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import { complete, noteLack, noteOrThrow, UNAVAILABLE, type AnyStoreName, type Degraded } from '../../../core/outage/degraded.ts'

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

describe('a partial answer', () => {
  test('names a store that is down', () => {
    const degraded: Degraded = new Set()
    noteOrThrow(new TidemarkError('RECORD_STORE_UNAVAILABLE', 'down'), 'recordStore', degraded)
    expect([...degraded]).toEqual(['recordStore'])
  })

  test.each([new TidemarkError('HOT_STORE_UNAVAILABLE', 'down'), new TidemarkError('STORE_FULL', 'full'), new Error('a bug')])(
    'is no answer to another failure than an outage of that store: %s',
    (failure) => {
      const degraded: Degraded = new Set()
      expect(() => noteOrThrow(failure, 'recordStore', degraded)).toThrow(failure)
      expect([...degraded]).toEqual([])
    },
  )

  test('names the hot store if it may lack a write of one of the viewers', () => {
    const degraded: Degraded = new Set()
    noteLack([{ viewer: '8' }, { viewer: '9' }], (viewer) => viewer === '7', degraded)
    expect([...degraded]).toEqual([])
    const asked: string[] = []
    const mayLack = (viewer: string) => asked.push(viewer) > 0 && viewer === '7'
    noteLack([{ viewer: '8' }, { viewer: '8' }, { viewer: '7' }], mayLack, degraded)
    expect([...degraded]).toEqual(['hotStore'])
    expect(asked).toEqual(['8', '7'])
  })
})
