import { describe, expect, it } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import { makePartBreaker } from '../../../core/outage/part-breaker.ts'
import { PartOutage, apartIfPartIsOut } from '../../../core/outage/part-outage.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const failure = new TidemarkError('HOT_STORE_UNAVAILABLE', 'a part is out')

/** Viewers "00" to "99": the first digit is the part. `out`: the parts that fail. */
function setup(parted = true) {
  const clock = makeSteppedClock()
  const out = new Set<number>()
  const asked: (number | undefined)[] = []
  const partOf = (viewer: string) => Number(viewer[0])
  const store = {
    async check(part?: number) {
      asked.push(part)
      if (part === undefined ? out.size > 0 : out.has(part)) throw failure
    },
    ...(parted ? { partOf } : {}),
  }
  const told: unknown[] = []
  const breaker = makePartBreaker(clock, store, { checkEveryMs: 100 }, (error) => told.push(error))
  let calls = 0
  const call = (...viewers: string[]) =>
    breaker.run(viewers, async () => {
      calls++
      if (viewers.some((viewer) => out.has(partOf(viewer)))) throw new PartOutage(failure, (viewer) => out.has(partOf(viewer)))
      return viewers
    })
  return { clock, breaker, out, asked, told, call, calls: () => calls }
}

describe('a breaker of a store in parts', () => {
  it('opens for the viewers of the failed part, and for no others', async () => {
    const { breaker, out, call, calls } = setup()
    out.add(1)
    await expect(call('10')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect([breaker.isOpenFor('11'), breaker.isOpenFor('20'), breaker.isOpen(), breaker.isOpenForAll()]).toEqual([true, false, true, false])
    const before = calls()
    await expect(call('12')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(calls()).toBe(before)
    expect(await call('20')).toEqual(['20'])
  })

  it('on a call for viewers of several parts, opens for those of the failed part', async () => {
    const { breaker, out, call } = setup()
    out.add(1)
    await expect(call('10', '20', '30')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(['1', '2', '3'].map((part) => breaker.isOpenFor(`${part}0`))).toEqual([true, false, false])
  })

  it('refuses a call for several viewers if one of their parts is unavailable, and names the affected viewers', async () => {
    const { out, call, calls } = setup()
    out.add(1)
    await expect(call('10')).rejects.toThrow()
    const before = calls()
    const refusal: unknown = await call('10', '20').catch((error: unknown) => error)
    expect(calls()).toBe(before)
    expect(refusal).toBeInstanceOf(PartOutage)
    expect(['11', '20'].map((viewer) => (refusal as PartOutage).concerns(viewer))).toEqual([true, false])
  })

  it('checks only the unavailable part, and closes when it answers', async () => {
    const { clock, breaker, out, asked, call, told } = setup()
    let closed = 0
    breaker.onClose(() => closed++)
    out.add(1).add(2)
    await expect(call('10')).rejects.toThrow()
    await expect(call('20')).rejects.toThrow()
    expect([breaker.opened(), told.length]).toEqual([1, 2])
    out.delete(1)
    clock.advance(100)
    await turn()
    expect(asked.toSorted((a = 0, b = 0) => a - b)).toEqual([1, 2])
    expect([breaker.isOpenFor('10'), breaker.isOpenFor('20'), closed]).toEqual([false, true, 1])
    breaker.stop()
    expect(clock.pending()).toBe(0)
  })

  it('is open for many viewers only if more than a tenth of the called parts are down', async () => {
    const { breaker, out, call } = setup()
    expect(breaker.isOpenForMany()).toBe(false)
    for (let part = 0; part < 10; part++) await call(`${part}0`)
    for (const [part, isMany] of [
      [1, false],
      [2, true],
    ] as const) {
      out.add(part)
      await expect(call(`${part}0`)).rejects.toThrow()
      expect([breaker.isOpen(), breaker.isOpenForMany()]).toEqual([true, isMany])
    }
    breaker.stop()
    const whole = setup(false)
    whole.out.add(1)
    await expect(whole.call('10')).rejects.toThrow()
    expect(whole.breaker.isOpenForMany()).toBe(true)
    whole.breaker.stop()
  })

  it('is a single breaker for a store without parts', async () => {
    const { clock, breaker, out, asked, call } = setup(false)
    out.add(1)
    await expect(call('10', '20')).rejects.toThrow()
    expect([breaker.isOpenFor('20'), breaker.isOpenForAll()]).toEqual([true, true])
    await expect(call('30')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    clock.advance(100)
    await turn()
    expect(asked).toEqual([undefined])
    breaker.stop()
  })
})

describe('splitting a call by an unavailable part', () => {
  const items = ['10', '20', '11', '30'].map((viewer) => ({ viewer }))

  it('answers in order, with one call if all parts are available', async () => {
    let calls = 0
    const answers = await apartIfPartIsOut(items, async (some) => {
      calls++
      return some.map(({ viewer }) => viewer)
    })
    expect([answers, calls]).toEqual([['10', '20', '11', '30'], 1])
  })

  it('lets unaffected items continue separately', async () => {
    const isOut = (viewer: string) => viewer.startsWith('1')
    const answers = await apartIfPartIsOut(items, async (some) => {
      const concerned = some.filter(({ viewer }) => isOut(viewer)).length
      if (concerned > 0 && concerned < some.length) throw new PartOutage(failure, isOut)
      return some.map(({ viewer }) => (concerned > 0 ? `without ${viewer}` : viewer))
    })
    expect(answers).toEqual(['without 10', '20', 'without 11', '30'])
  })

  it('rejects with any other error, and with one that affects all or none of the items', async () => {
    for (const error of [failure, new PartOutage(failure, () => true), new PartOutage(failure, () => false)]) {
      await expect(apartIfPartIsOut(items, () => Promise.reject(error))).rejects.toBe(error)
    }
  })
})
