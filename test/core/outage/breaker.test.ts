import { describe, expect, it } from 'vitest'
import { makeBreaker } from '../../../core/outage/breaker.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const down = () => Promise.reject(new TidemarkError('LOG_UNAVAILABLE', 'the log is down'))
const turn = () => new Promise((resolve) => setImmediate(resolve))

function setup(patienceMs?: number, checksFirst = false) {
  const clock = makeSteppedClock()
  const state = { up: true, hangs: false, checks: 0, closed: 0 }
  const check = async () => {
    state.checks++
    if (state.hangs) await new Promise(() => undefined)
    if (!state.up) await down()
  }
  const breaker = makeBreaker(
    clock,
    'log',
    check,
    { checkEveryMs: 100, checksFirst, ...(patienceMs === undefined ? {} : { patienceMs }) },
    () => undefined,
  )
  breaker.onClose(() => state.closed++)
  return { clock, breaker, state }
}

describe('a breaker', () => {
  it('lets calls through, and errors unrelated to the availability of the store', async () => {
    const { breaker } = setup()
    expect(await breaker.run(() => Promise.resolve(1))).toBe(1)
    await expect(breaker.run(() => Promise.reject(new TidemarkError('STORE_FULL', 'full')))).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(breaker.isOpen()).toBe(false)
  })

  it('opens at the first failure, and then only checks the store itself', async () => {
    const { clock, breaker, state } = setup()
    state.up = false
    await expect(breaker.run(down)).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    let calls = 0
    await expect(breaker.run(() => Promise.resolve(calls++))).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    expect(calls).toBe(0)
    for (let round = 0; round < 3; round++) {
      clock.advance(100)
      await turn()
    }
    expect(state.checks).toBe(3)
    state.up = true
    clock.advance(100)
    await turn()
    expect(state.closed).toBe(1)
    expect(await breaker.run(() => Promise.resolve('through'))).toBe('through')
    expect(clock.pending()).toBe(0)
  })

  it('treats a call beyond the timeout as an unavailable store', async () => {
    const { clock, breaker } = setup(50)
    const call = breaker.run(() => new Promise(() => undefined))
    clock.advance(50)
    await expect(call).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE', message: expect.stringContaining('did not answer in 50 ms') })
    expect(breaker.isOpen()).toBe(true)
  })

  it('is not opened again by a call of the previous outage', async () => {
    const { clock, breaker } = setup()
    let fail: (error: unknown) => void = () => undefined
    const old = breaker.run(() => new Promise((_, reject) => (fail = reject)))
    await expect(breaker.run(down)).rejects.toThrow()
    clock.advance(100)
    await turn()
    expect(breaker.isOpen()).toBe(false)
    fail(new TidemarkError('LOG_UNAVAILABLE', 'late'))
    await expect(old).rejects.toThrow('late')
    expect(breaker.isOpen()).toBe(false)
  })

  it('repeats a check that was not answered within the timeout', async () => {
    const { clock, breaker, state } = setup(50)
    await expect(breaker.run(down)).rejects.toThrow()
    state.hangs = true
    for (const wait of [100, 50, 100, 50]) {
      clock.advance(wait)
      await turn()
    }
    expect(state.checks).toBe(2)
    expect(breaker.isOpen()).toBe(true)
    state.hangs = false
    clock.advance(100)
    await turn()
    expect(breaker.isOpen()).toBe(false)
  })

  it('makes no more checks once it is stopped', async () => {
    const { clock, breaker } = setup()
    await expect(breaker.run(down)).rejects.toThrow()
    breaker.stop()
    expect(clock.pending()).toBe(0)
  })
})

describe('a breaker that checks first', () => {
  it('stays closed if calls fail on a store that answers, and checks once for all of them', async () => {
    const { clock, breaker, state } = setup(50, true)
    const failed = await Promise.allSettled([breaker.run(down), breaker.run(down)])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(state.checks).toBe(1)
    expect(breaker.isOpen()).toBe(false)
    await breaker.run(() => Promise.resolve())
    await expect(breaker.run(down)).rejects.toThrow()
    expect(state.checks).toBe(2)
    expect([breaker.opened(), clock.pending()]).toEqual([0, 0])
  })

  it('opens at the third failure in a row, although the store answers checks', async () => {
    const { clock, breaker } = setup(50, true)
    const hanging = Array.from({ length: 20 }, () => breaker.run(() => new Promise(() => undefined)))
    clock.advance(50)
    const failed = await Promise.allSettled(hanging)
    expect(failed.every(({ status }) => status === 'rejected')).toBe(true)
    expect([breaker.isOpen(), breaker.opened()]).toEqual([true, 1])
    clock.advance(100)
    await turn()
    expect(breaker.isOpen()).toBe(false)
    for (const isOpen of [false, false, true]) {
      await expect(breaker.run(down)).rejects.toThrow()
      expect(breaker.isOpen()).toBe(isOpen)
    }
    breaker.stop()
  })

  it('stays closed if three calls are late together, and another one was answered meanwhile', async () => {
    const { clock, breaker } = setup(50, true)
    const hanging = Array.from({ length: 3 }, () => breaker.run(() => new Promise(() => undefined)))
    await breaker.run(() => Promise.resolve())
    clock.advance(50)
    await Promise.allSettled(hanging)
    expect(breaker.isOpen()).toBe(false)
  })

  it('stays closed if a call is late on a store that answers', async () => {
    const { clock, breaker } = setup(50, true)
    const late = breaker.run(() => new Promise(() => undefined))
    clock.advance(50)
    await expect(late).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    expect(breaker.isOpen()).toBe(false)
  })

  it('is open when a failed call ends, if the check fails too', async () => {
    const { breaker, state } = setup(50, true)
    state.up = false
    const opens = [breaker.run(down), breaker.run(down)].map((call) => call.catch(() => breaker.isOpen()))
    expect(await Promise.all(opens)).toEqual([true, true])
    expect([breaker.opened(), state.checks]).toEqual([1, 1])
    breaker.stop()
  })

  it('opens if a late call is followed by a late check', async () => {
    const { clock, breaker, state } = setup(50, true)
    state.hangs = true
    const late = breaker.run(() => new Promise(() => undefined)).catch(() => breaker.isOpen())
    clock.advance(50)
    await turn()
    clock.advance(99)
    await turn()
    expect(breaker.isOpen()).toBe(false)
    clock.advance(1)
    expect(await late).toBe(true)
    breaker.stop()
  })
})
