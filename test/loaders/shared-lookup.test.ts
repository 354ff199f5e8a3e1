import { describe, expect, test } from 'vitest'
import { makeSharedLookup } from '../../loaders/lookup/shared.ts'

/** A store whose calls are counted, and end when the test ends them. */
function makeStore() {
  const calls: { keys: readonly string[]; finish(): void; fail(error: Error): void }[] = []
  const load = (keys: readonly string[]) =>
    new Promise<string[]>((resolve, reject) => {
      calls.push({ keys, finish: () => resolve(keys.map((key) => `${key}!`)), fail: reject })
    })
  return { calls, load }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('shared lookup', () => {
  test('the keys of all requests in one turn are one multi-get with each key once', async () => {
    const { calls, load } = makeStore()
    const lookup = makeSharedLookup(load, (key: string) => key)
    const first = lookup(['a', 'b'])
    const second = lookup(['b', 'c'])
    await turn()
    expect(calls.map((call) => call.keys)).toEqual([['a', 'b', 'c']])
    calls[0]?.finish()
    expect(await first).toEqual(['a!', 'b!'])
    expect(await second).toEqual(['b!', 'c!'])
  })

  test('a lookup split into several store calls waits for all of them, and asks for a repeated key once', async () => {
    const { calls, load } = makeStore()
    const lookup = makeSharedLookup(load, (key: string) => key, { callsMax: 4, keysMax: 2 })
    let ended = false
    const page = lookup(['a', 'b', 'a', 'c', 'b'])
    void page.then(() => (ended = true))
    await turn()
    await turn()
    expect(calls.map((call) => call.keys)).toEqual([['a', 'b'], ['c']])
    calls[0]?.finish()
    await turn()
    expect(ended).toBe(false)
    calls[1]?.finish()
    expect(await page).toEqual(['a!', 'b!', 'a!', 'c!', 'b!'])
    expect(await lookup([])).toEqual([])
  })

  test('a lookup never joins a call that began before it, because its answer may be older than an acknowledged write', async () => {
    const { calls, load } = makeStore()
    const lookup = makeSharedLookup(load, (key: string) => key)
    const before = lookup(['a'])
    await turn()
    const after = lookup(['a'])
    await turn()
    expect(calls.map((call) => call.keys)).toEqual([['a'], ['a']])
    calls.forEach((call) => call.finish())
    await Promise.all([before, after])
  })

  test('beyond callsMax lookups wait and leave together when a call ends', async () => {
    const { calls, load } = makeStore()
    const lookup = makeSharedLookup(load, (key: string) => key, { callsMax: 1, keysMax: 10 })
    const lookups = [lookup(['a'])]
    await turn()
    lookups.push(lookup(['b']), lookup(['c', 'b']))
    await turn()
    expect(calls).toHaveLength(1)
    calls[0]?.finish()
    await turn()
    await turn()
    expect(calls.map((call) => call.keys)).toEqual([['a'], ['b', 'c']])
    calls[1]?.finish()
    expect(await Promise.all(lookups)).toEqual([['a!'], ['b!'], ['c!', 'b!']])
  })

  test('a call has at most keysMax keys', async () => {
    const { calls, load } = makeStore()
    const lookup = makeSharedLookup(load, (key: string) => key, { callsMax: 4, keysMax: 2 })
    const found = lookup(['a', 'b', 'c'])
    await turn()
    await turn()
    expect(calls.map((call) => call.keys)).toEqual([['a', 'b'], ['c']])
    calls.forEach((call) => call.finish())
    expect(await found).toEqual(['a!', 'b!', 'c!'])
  })

  test('a failed call fails its own lookups and no later ones', async () => {
    const { calls, load } = makeStore()
    const lookup = makeSharedLookup(load, (key: string) => key, { callsMax: 1, keysMax: 10 })
    const failing = lookup(['a'])
    await turn()
    calls[0]?.fail(new Error('gone'))
    await expect(failing).rejects.toThrow('gone')
    const next = lookup(['a'])
    await turn()
    calls[1]?.finish()
    expect(await next).toEqual(['a!'])
  })
})
