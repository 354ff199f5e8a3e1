import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { RegionKeys } from '../../writeback/aggregator.ts'
import type { ProgressKey, RewardEvent } from '../../core/domain.ts'
import { makeFlusher, type FlusherOptions } from '../../writeback/flusher.ts'
import { makeSwitchedStores, type SwitchedStores } from '../subgraphs/switched-stores.ts'

const NOW = 1_700_000_000_000

describe('the flusher', () => {
  let stores: SwitchedStores
  let errors: unknown[]
  /** Persist steps under way, by the oid they began with. Each ends when the test ends it. */
  let steps: Map<string, { succeed(): void; fail(error: Error): void }>
  let begun: string[]
  beforeEach(() => {
    stores = makeSwitchedStores()
    errors = []
    steps = new Map()
    begun = []
  })

  function persist(keys: readonly ProgressKey[]): Promise<void> {
    const oid = keys[0]?.oid ?? ''
    begun.push(oid)
    return new Promise((resolve, reject) => {
      steps.set(oid, { succeed: resolve, fail: reject })
    })
  }
  const make = (options: FlusherOptions) => makeFlusher(stores.hot, stores.log, persist, options, (error) => errors.push(error))
  const flushOf = (oid: string, region = 3): RegionKeys => ({ region, keys: [{ viewer: '7', business: 1, oid }] })
  async function settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await turn()
  }
  async function isSettled(flusher: { settled(): Promise<void> }): Promise<boolean> {
    let settled = false
    void flusher.settled().then(() => {
      settled = true
    })
    await settle()
    return settled
  }
  function earnReward(): RewardEvent[] {
    const record = { viewedAt: NOW, since: 0, rank: 1, version: 0, position: 1, duration: 0, device: '', finished: false, deleted: false }
    stores.state.put({ viewer: '7', business: 1, oid: '1', record, decisive: true, day: 5 }, { now: NOW, timelineCap: 10 })
    return pending()
  }
  const pending = () => stores.state.listRewards([0, 1, 2, 3], NOW, 10)

  test('a flush goes to the log, a message per region, and is not persisted as well', async () => {
    const flusher = make({ directMax: 2 })
    flusher.flush([flushOf('a'), flushOf('b', 2)])
    await flusher.settled()
    expect(stores.logState.lag()).toBe(2)
    expect(begun).toEqual([])
    expect(flusher.figures()).toEqual({ messages: 2, direct: 0, left: 0 })
  })

  test('with the log down, flushes up to the limits are persisted or wait, and the others are left', async () => {
    stores.set('log', 'down')
    const flusher = make({ directMax: 2, directWaitingMax: 1 })
    flusher.flush(['a', 'b', 'c', 'd', 'e'].map((oid) => flushOf(oid)))
    await settle()
    expect(begun).toEqual(['a', 'b'])
    expect(flusher.figures()).toEqual({ messages: 0, direct: 0, left: 2 })
    expect(errors).toMatchObject([{ code: 'LOG_UNAVAILABLE' }])
    steps.get('b')?.succeed()
    await settle()
    expect(begun).toEqual(['a', 'b', 'c'])
    flusher.flush([flushOf('f')])
    await settle()
    expect(begun).toEqual(['a', 'b', 'c'])
    for (const oid of ['a', 'c']) steps.get(oid)?.succeed()
    await settle()
    expect(begun).toEqual(['a', 'b', 'c', 'f'])
    steps.get('f')?.succeed()
    await flusher.settled()
    expect(flusher.figures()).toEqual({ messages: 0, direct: 4, left: 2 })
  })

  test('used places are free again afterwards', async () => {
    stores.set('log', 'down')
    const flusher = make({ directMax: 1 })
    for (const oid of ['a', 'b', 'c']) {
      flusher.flush([flushOf(oid)])
      await settle()
      steps.get(oid)?.succeed()
      await flusher.settled()
    }
    expect(flusher.figures()).toEqual({ messages: 0, direct: 3, left: 0 })
  })

  test('a step that fails is reported and left, and a waiting flush takes its place', async () => {
    stores.set('log', 'down')
    const flusher = make({ directMax: 1, directWaitingMax: 5 })
    flusher.flush([flushOf('a'), flushOf('b')])
    await settle()
    steps.get('a')?.fail(new Error('no record store'))
    await settle()
    expect(begun).toEqual(['a', 'b'])
    expect(errors).toMatchObject([{ code: 'LOG_UNAVAILABLE' }, { message: 'no record store' }])
    expect(await isSettled(flusher)).toBe(false)
    steps.get('b')?.succeed()
    await flusher.settled()
    expect(flusher.figures()).toEqual({ messages: 0, direct: 1, left: 1 })
  })

  test('without allowed steps, everything is left', async () => {
    stores.set('log', 'down')
    const flusher = make({ directMax: 0, directWaitingMax: 5 })
    flusher.flush([flushOf('a'), flushOf('b')])
    await flusher.settled()
    expect([begun, flusher.figures().left]).toEqual([[], 2])
  })

  test('it is settled when the last flush is, including those that came meanwhile', async () => {
    stores.set('log', 'down')
    const flusher = make({ directMax: 5 })
    expect(await isSettled(flusher)).toBe(true)
    flusher.flush([flushOf('a')])
    await settle()
    let isSo = false
    const settled = flusher.settled().then(() => {
      isSo = true
    })
    flusher.flush([flushOf('b')])
    await settle()
    steps.get('a')?.succeed()
    await settle()
    expect(isSo).toBe(false)
    steps.get('b')?.succeed()
    await settled
    expect(flusher.figures().direct).toBe(2)
  })

  test('a reward is confirmed after the log has it', async () => {
    const flusher = make({ directMax: 1 })
    flusher.reward(earnReward())
    await flusher.settled()
    expect(stores.logState.rewards).toHaveLength(1)
    expect(stores.calls).toEqual(['log.appendRewards', 'hot.confirmRewards'])
    expect(pending()).toEqual([])
  })

  test('a reward the log did not take stays pending', async () => {
    const flusher = make({ directMax: 1 })
    const rewards = earnReward()
    stores.set('log', 'down')
    flusher.reward(rewards)
    await flusher.settled()
    expect(errors).toMatchObject([{ code: 'LOG_UNAVAILABLE' }])
    expect(pending()).toEqual(rewards)
    expect(stores.calls).toEqual(['log.appendRewards'])
  })

  test('a reward is not confirmed while the log takes its time', async () => {
    const flusher = make({ directMax: 1 })
    const rewards = earnReward()
    stores.set('log', 'hangs')
    flusher.reward(rewards)
    expect(await isSettled(flusher)).toBe(false)
    expect(pending()).toEqual(rewards)
  })
})
