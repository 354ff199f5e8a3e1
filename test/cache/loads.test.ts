import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Stamped } from '../../cache/tiered-cache.ts'
import { memoryCache, stamped } from './recording.ts'

/** A load that waits until it is released, and counts its calls. */
function slowLoad(valueOf: (key: string) => Stamped | undefined = (key) => stamped(key)) {
  const loaded: string[] = []
  const gate = Promise.withResolvers<void>()
  const load = async (keys: readonly string[]) => {
    loaded.push(...keys)
    await gate.promise
    return keys.map(valueOf)
  }
  return { load, loaded, release: () => gate.resolve() }
}

describe('loads', () => {
  test('1,000 concurrent reads of a cold key load it once', async () => {
    const cache = memoryCache()
    const { load, loaded, release } = slowLoad()
    const reads = Array.from({ length: 1_000 }, () => cache.getMany(['k'], load))
    release()
    for (const [value] of await Promise.all(reads)) expect(value?.value.toString()).toBe('k')
    expect(loaded).toEqual(['k'])
    expect(cache.figures().classes['k']).toMatchObject({ misses: 1_000, joined: 999, loaded: 1, calls: 1_000 })
    await cache.stop()
  })

  test('a key that is repeated in one call is loaded once and answered in each place', async () => {
    const cache = memoryCache()
    const { load, loaded, release } = slowLoad()
    release()
    const values = await cache.getMany(['a', 'b', 'a'], load)
    expect(values.map((each) => each?.value.toString())).toEqual(['a', 'b', 'a'])
    expect(loaded).toEqual(['a', 'b'])
    await cache.stop()
  })

  test('a read that knows of a later change does not join a load that began before it', async () => {
    const cache = memoryCache()
    const [earlier, later] = [slowLoad(() => stamped('old', 1)), slowLoad(() => stamped('new', 2))]
    const first = cache.getMany(['k'], earlier.load, () => 1)
    const second = cache.getMany(['k'], later.load, () => 2)
    later.release()
    expect((await second)[0]?.value.toString()).toBe('new')
    earlier.release()
    expect((await first)[0]?.value.toString()).toBe('old')
    // The fill of the earlier load came last, and did not replace the newer value.
    const [kept] = await cache.getMany(['k'], earlier.load, () => 2)
    expect(kept?.value.toString()).toBe('new')
    expect(earlier.loaded).toEqual(['k'])
    await cache.stop()
  })

  test('a load that began before a write of this process is not joined after the write', async () => {
    const cache = memoryCache()
    const { load, release } = slowLoad(() => stamped('old', 1))
    const first = cache.getMany(['k'], load)
    await cache.set('k', stamped('written', 2))
    const [value] = await cache.getMany(['k'], load)
    expect(value?.value.toString()).toBe('written')
    release()
    await first
    expect((await cache.getMany(['k'], load))[0]?.value.toString()).toBe('written')
    await cache.stop()
  })

  test('a load that began before a write of this process is not joined, even if the pools have lost the written value', async () => {
    const cache = memoryCache({ ttlMs: 1 })
    const [earlier, later] = [slowLoad(() => stamped('old', 1)), slowLoad(() => stamped('new', 2))]
    const first = cache.getMany(['k'], earlier.load)
    await Promise.resolve()
    await cache.set('k', stamped('written', 2))
    await sleep(20)
    const second = cache.getMany(['k'], later.load)
    later.release()
    expect((await second)[0]?.value.toString()).toBe('new')
    earlier.release()
    await first
    await cache.stop()
  })

  test('an absent value is remembered, until a change is noted or this process writes it', async () => {
    const cache = memoryCache({ negativeTtlMs: 60_000 })
    const { load, loaded, release } = slowLoad(() => undefined)
    release()
    for (let i = 0; i < 3; i++) expect(await cache.getMany(['k'], load, () => 1)).toEqual([undefined])
    expect(loaded).toEqual(['k'])
    expect(cache.figures().classes['k']).toMatchObject({ absent: 2, loaded: 1 })
    await cache.getMany(['k'], load, () => 2)
    expect(loaded).toEqual(['k', 'k'])
    await cache.set('k', stamped('v', 3))
    expect((await cache.getMany(['k'], load, () => 2))[0]?.value.toString()).toBe('v')
    await cache.stop()
  })

  test('a value that is too old for the pools is shared by concurrent calls only', async () => {
    const cache = memoryCache()
    const { load, loaded, release } = slowLoad(() => stamped('incomplete', -1))
    const reads = Promise.all([cache.getMany(['k'], load, () => 0), cache.getMany(['k'], load, () => 0)])
    release()
    expect((await reads).map(([value]) => value?.value.toString())).toEqual(['incomplete', 'incomplete'])
    expect(loaded).toEqual(['k'])
    expect(
      (
        await cache.getMany(
          ['k'],
          async () => [stamped('whole', 1)],
          () => 0,
        )
      )[0]?.value.toString(),
    ).toBe('whole')
    await cache.stop()
  })

  test('a load that fails rejects the calls that share it, and the next call loads again', async () => {
    const cache = memoryCache()
    let calls = 0
    const failing = () => Promise.reject(new Error(`failure ${++calls}`))
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => cache.getMany(['k'], failing)))
    expect(answers.map((each) => each.status === 'rejected' && String(each.reason))).toEqual(
      Array.from({ length: 10 }, () => 'Error: failure 1'),
    )
    expect((await cache.getMany(['k'], async () => [stamped('v')]))[0]?.value.toString()).toBe('v')
    await cache.stop()
  })

  test('a call whose shared load fails ends after its own load has filled the pools', async () => {
    const cache = memoryCache()
    const gate = Promise.withResolvers<void>()
    const shared = cache.getMany(['shared'], () => Promise.reject(new Error('the shared load failed')))
    const both = cache.getMany(['shared', 'own'], async () => {
      await gate.promise
      return [stamped('own')]
    })
    let isOver = false
    void both.catch(() => (isOver = true))
    await expect(shared).rejects.toThrow('the shared load failed')
    await sleep(10)
    expect(isOver).toBe(false)
    gate.resolve()
    await expect(both).rejects.toThrow('the shared load failed')
    expect((await cache.getMany(['own'], () => Promise.reject(new Error('not needed'))))[0]?.value.toString()).toBe('own')
    await cache.stop()
  })

  test('no more loads run at once than allowed', async () => {
    const cache = memoryCache({ loadsAtOnce: 3 })
    let [running, most] = [0, 0]
    const load = async (keys: readonly string[]) => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 2))
      running--
      return keys.map((key) => stamped(key))
    }
    await Promise.all(Array.from({ length: 30 }, (_, at) => cache.getMany([`k${at}`], load)))
    expect(most).toBe(3)
    await cache.stop()
  })
})
