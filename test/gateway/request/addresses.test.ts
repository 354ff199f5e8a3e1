import { describe, expect, it } from 'vitest'
import { addressGroup, makeAddressOf } from '../../../gateway/request/addresses.ts'

describe('the address of a request', () => {
  it('is the peer of the connection if no proxy is trusted, with any header of the client', () => {
    const addressOf = makeAddressOf(0)
    expect(addressOf('203.0.113.9', '1.2.3.4')).toBe('203.0.113.9')
    expect(addressOf('::ffff:203.0.113.9', undefined)).toBe('203.0.113.9')
    expect(addressOf(undefined, '1.2.3.4')).toBeUndefined()
  })

  it('behind a number of proxies is the address that the last of them saw, never an entry before it', () => {
    expect(makeAddressOf(1)('10.0.0.1', '6.6.6.6, 203.0.113.9')).toBe('203.0.113.9')
    expect(makeAddressOf(2)('10.0.0.1', '6.6.6.6, 203.0.113.9, 10.0.0.2')).toBe('203.0.113.9')
    expect(makeAddressOf(2)('10.0.0.1', '203.0.113.9')).toBe('203.0.113.9')
    expect(makeAddressOf(1)('10.0.0.1', undefined)).toBe('10.0.0.1')
  })

  it('behind proxies of known addresses is the first address that is not theirs', () => {
    const addressOf = makeAddressOf(['10.0.0.0/8', 'fd00::/8', '192.0.2.1'])
    expect(addressOf('10.0.0.1', '6.6.6.6, 203.0.113.9, 10.2.3.4, 192.0.2.1')).toBe('203.0.113.9')
    expect(addressOf('fd00::1', '2001:db8::7')).toBe('2001:db8::7')
    expect(addressOf('203.0.113.50', '6.6.6.6')).toBe('203.0.113.50')
    expect(addressOf('10.0.0.1', '10.0.0.2')).toBe('10.0.0.2')
  })

  it('is always a valid address, without a port', () => {
    expect(makeAddressOf(2)('10.0.0.1', 'unknown, 203.0.113.9:4711')).toBe('203.0.113.9')
    expect(makeAddressOf(2)('10.0.0.1', '"><script>')).toBe('10.0.0.1')
    expect(makeAddressOf(1)('10.0.0.1', '[2001:db8::7]:80')).toBe('2001:db8::7')
    const startedAt = performance.now()
    makeAddressOf(32)('10.0.0.1', '1.1.1.1,'.repeat(100_000))
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })

  it('is configured with valid addresses only', () => {
    expect(() => makeAddressOf(['10.0.0.0/99'])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => makeAddressOf(['300.1.1.1'])).toThrow('server.trustProxy')
  })
})

it('an IPv6 address counts as its /64 in any notation', () => {
  expect(addressGroup('203.0.113.9')).toBe('203.0.113.9')
  const group = addressGroup('2001:db8:0:1::7')
  expect(group).toBe('2001:db8:0:1::/64')
  expect(addressGroup('2001:0db8:0000:0001:ffff:ffff:ffff:ffff')).toBe(group)
  expect(addressGroup('2001:db8:0:2::7')).not.toBe(group)
  expect(addressGroup('::1')).toBe('0:0:0:0::/64')
  expect(addressGroup('fe80::1%eth0')).toBe('fe80:0:0:0::/64')
})
