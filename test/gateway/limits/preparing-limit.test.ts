import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../gateway/request/caller.ts'
import { makePreparingLimit, preparingError } from '../../../gateway/limits/preparing-limit.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const from = (address: string, viewer?: string): Caller => ({
  viewer: viewer === undefined ? undefined : { id: viewer, scopes: [] },
  client: undefined,
  address,
})

function open() {
  const clock = makeSteppedClock()
  const limit = makePreparingLimit({ points: 2_000, perSeconds: 100 }, clock)
  const prepare = (caller: Caller, ms: number, length = 100) => {
    const taken = limit.take(caller, length)
    if ('retryAfterMs' in taken) return taken
    taken.spent(ms)
    return 'prepared'
  }
  return { clock, limit, prepare }
}

describe('the limit of preparing', () => {
  it('refuses a caller without points, names the time to wait, and then lets the caller in', () => {
    const { clock, prepare } = open()
    expect(prepare(from('10.0.0.1'), 101)).toBe('prepared')
    const refused = prepare(from('10.0.0.1'), 1)
    expect(refused).toEqual({ who: 'address', retryAfterMs: 1_050 })
    clock.advance(999)
    expect(prepare(from('10.0.0.1'), 1)).toMatchObject({ who: 'address' })
    clock.advance(51)
    expect(prepare(from('10.0.0.1'), 1)).toBe('prepared')
  })

  it('of one viewer or address does not affect others', () => {
    const { prepare } = open()
    expect(prepare(from('10.0.0.1'), 200)).toBe('prepared')
    expect(prepare(from('10.0.0.2'), 1)).toBe('prepared')
    expect(prepare(from('10.0.0.1', '7'), 200)).toBe('prepared')
    expect(prepare(from('10.0.0.9', '7'), 1)).toMatchObject({ who: 'viewer' })
    expect(prepare(from('10.0.0.1', '8'), 1)).toBe('prepared')
  })

  it('of a /48 of IPv6 is four times that of an address', () => {
    const { prepare } = open()
    let prepared = 0
    for (let network = 0; network < 100; network += 1)
      if (prepare(from(`2001:db8:7:${network.toString(16)}::1`), 50) === 'prepared') prepared += 1
    expect(prepared).toBe(8)
    expect(prepare(from('2001:db8:8::1'), 1)).toBe('prepared')
  })

  it('counts an IPv6 network as one address', () => {
    const { prepare } = open()
    expect(prepare(from('2001:db8::1'), 200)).toBe('prepared')
    expect(prepare(from('2001:db8::2'), 1)).toMatchObject({ who: 'address' })
  })

  it('takes an estimate at the start, so parallel texts do not spend the same points', () => {
    const { limit } = open()
    const begun = Array.from({ length: 64 }, () => limit.take(from('10.0.0.1'), 5_000)).filter((taken) => 'spent' in taken)
    expect(begun).toHaveLength(4)
    for (const taken of begun) if ('spent' in taken) taken.spent(1)
    expect('spent' in limit.take(from('10.0.0.1'), 5_000)).toBe(true)
  })

  it('refuses with a code, a time and a sentence', () => {
    const error = preparingError({ who: 'address', retryAfterMs: 1_500 })
    expect(error.extensions).toEqual({ code: 'RATE_LIMITED', retryAfterMs: 1_500 })
    expect(error.message).toContain('ask again in 2 s')
  })
})
