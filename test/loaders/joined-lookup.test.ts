import { describe, expect, test } from 'vitest'
import { makeJoinedLookup } from '../../loaders/lookup/joined.ts'

type Call = { keys: readonly string[]; finish(): void; fail(error: Error): void }

/** A store whose calls end when the test ends them. */
function makeStore() {
  const calls: Call[] = []
  const load = (keys: readonly string[]) =>
    new Promise<string[]>((resolve, reject) => {
      calls.push({ keys, finish: () => resolve(keys.map((key) => `${key}!`)), fail: reject })
    })
  return { calls, load }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('joined lookups', () => {
  test('of one turn are one call, and each gets the values of its own keys', async () => {
    const { calls, load } = makeStore()
    const lookup = makeJoinedLookup(load)
    const pages = [lookup(['a', 'b']), lookup(['b', 'c'])]
    await turn()
    expect(calls.map(({ keys }) => keys)).toEqual([['a', 'b', 'b', 'c']])
    calls[0]?.finish()
    expect(await Promise.all(pages)).toEqual([
      ['a!', 'b!'],
      ['b!', 'c!'],
    ])
    expect(await lookup([])).toEqual([])
  })

  test('never join a call that began before them', async () => {
    const { calls, load } = makeStore()
    const lookup = makeJoinedLookup(load)
    const before = lookup(['a'])
    await turn()
    const after = lookup(['a'])
    await turn()
    expect(calls).toHaveLength(2)
    calls.forEach((call) => call.finish())
    expect(await Promise.all([before, after])).toEqual([['a!'], ['a!']])
  })

  test('wait beyond callsMax calls, stay whole, and leave with at most keysMax keys if they are several', async () => {
    const { calls, load } = makeStore()
    const lookup = makeJoinedLookup(load, { callsMax: 1, keysMax: 3 })
    const pages = [lookup(['a', 'b', 'c', 'd']), lookup(['e', 'f']), lookup(['g', 'h'])]
    for (let call = 0; call < 3; call++) {
      await turn()
      expect(calls).toHaveLength(call + 1)
      calls[call]?.finish()
      await turn()
    }
    expect(calls.map(({ keys }) => keys)).toEqual([
      ['a', 'b', 'c', 'd'],
      ['e', 'f'],
      ['g', 'h'],
    ])
    expect((await Promise.all(pages)).map((page) => page.length)).toEqual([4, 2, 2])
  })

  test('fail with their call, and later ones do not', async () => {
    const { calls, load } = makeStore()
    const lookup = makeJoinedLookup(load, { callsMax: 1, keysMax: 10 })
    const failing = [lookup(['a']), lookup(['b'])]
    await turn()
    calls[0]?.fail(new Error('gone'))
    for (const page of failing) await expect(page).rejects.toThrow('gone')
    const next = lookup(['a'])
    await turn()
    calls[1]?.finish()
    expect(await next).toEqual(['a!'])
  })
})
