import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../core/errors.ts'
import type { Viewer } from '../../../core/viewer.ts'
import { makeOpenLimits, type OpenConnection, type OpenLimitOptions } from '../../../gateway/limits/open-limits.ts'
import { makeSteppedClock } from '../../support/stepped-clock.ts'

const BOUNDS = { openConnections: { address: 3, viewer: 2, process: 8 }, openCost: { address: 30, viewer: 20, process: 80 } }
const viewer = (id: string, actor?: string): Viewer => ({ id, scopes: [], ...(actor === undefined ? {} : { actor }) })

function makeLimits(bounds: OpenLimitOptions = BOUNDS) {
  const warned: object[] = []
  const clock = makeSteppedClock()
  const limits = makeOpenLimits(bounds, clock, { warn: (fields) => warned.push(fields) })
  const open = (address: string, who?: Viewer): OpenConnection => {
    const connection = limits.connect(address)
    if (isTidemarkError(connection)) throw connection
    const full = connection.identify(who)
    if (full !== undefined) {
      connection.close()
      throw full
    }
    return connection
  }
  const take = (connection: OpenConnection, cost: number): (() => void) => {
    const release = connection.take(cost)
    if (isTidemarkError(release)) throw release
    return release
  }
  return { limits, open, take, warned, clock }
}

describe('limits of what is open', () => {
  it('an address has so many connections, an IPv6 network as many, and one that ends makes room', () => {
    const { open } = makeLimits()
    const [first] = ['1', '2', '3'].map((id) => open('10.0.0.1', viewer(id)))
    expect(() => open('10.0.0.1', viewer('4'))).toThrow('this address may have 3 connections open: close some first')
    open('10.0.0.2', viewer('4'))
    first?.close()
    first?.close()
    open('10.0.0.1', viewer('5'))
    expect(() => open('10.0.0.1', viewer('6'))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
    for (const id of ['6', '7', '8']) open(`2001:db8::${id}`, viewer(id))
    expect(() => open('2001:db8::9', viewer('9'))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
  })

  it('a /48 of IPv6 has as many as four addresses', () => {
    const { open } = makeLimits({ ...BOUNDS, openConnections: { address: 3, viewer: 2, process: 100 } })
    const from = (network: number) => open(`2001:db8:7:${network}::1`, viewer(String(network)))
    for (let network = 0; network < 12; network += 1) from(network)
    expect(() => from(12)).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
    open('2001:db8:8::1', viewer('other'))
  })

  it('a viewer has so many connections from all addresses together', () => {
    const { open } = makeLimits()
    open('10.0.0.1', viewer('1'))
    open('10.0.0.2', viewer('1'))
    expect(() => open('10.0.0.3', viewer('1'))).toThrow('this viewer may have 2 connections open')
    open('10.0.0.3', viewer('2'))
  })

  it('clients without a token have half of the process, and those with one all of it', () => {
    const { open } = makeLimits()
    for (const place of [1, 2, 3, 4]) open(`10.0.0.${place}`)
    expect(() => open('10.0.0.5')).toThrow('clients without a token may have 4 connections open: try again later')
    for (const place of [5, 6, 7, 8]) open(`10.0.0.${place}`, viewer(String(place)))
    expect(() => open('10.0.0.9', viewer('9'))).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
  })

  it('when the process is full, the oldest connection without a viewer goes, and no other', () => {
    const { limits, open } = makeLimits()
    const cut: string[] = []
    const silent = (name: string) => limits.connect(`10.1.0.${name}`, undefined, () => void cut.push(name))
    const [first] = ['1', '2', '3'].map(silent)
    for (const place of [1, 2, 3, 4, 5]) open(`10.0.0.${place}`, viewer(String(place)))
    expect(isTidemarkError(first) || first?.identify(viewer('6'))).toBeUndefined()
    open('10.0.0.6', viewer('7'))
    expect(cut).toEqual(['2'])
    open('10.0.0.7', viewer('8'))
    expect(cut).toEqual(['2', '3'])
    expect(() => open('10.0.0.8', viewer('9'))).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
    expect(limits.figures()).toMatchObject({ connections: 8, refused: 3 })
  })

  it('a full address cuts no connection of another', () => {
    const { limits, open } = makeLimits()
    const cut: string[] = []
    for (const name of ['1', '2']) limits.connect(`10.1.0.${name}`, undefined, () => void cut.push(name))
    for (const id of ['1', '2', '3']) open('10.0.0.1', viewer(id))
    for (const id of ['4', '5', '6']) open('10.0.0.2', viewer(id))
    expect(() => open('10.0.0.1', viewer('7'))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
    expect(cut).toEqual([])
  })

  it('a service that acts for viewers counts in the process alone', () => {
    const { open, take } = makeLimits()
    const connections = Array.from({ length: 8 }, (_, place) => open('10.0.0.1', viewer(String(place % 2), 'service')))
    for (const connection of connections) take(connection, 10)
    expect(() => open('10.0.0.2', viewer('9'))).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
  })

  it('an address that many callers share does not count as one', () => {
    const { open } = makeLimits({ ...BOUNDS, sharedAddresses: ['10.0.0.0/8'] })
    for (const id of ['1', '2', '3', '4']) open('10.0.0.1', viewer(id))
    for (const id of ['5', '6', '7']) open('11.0.0.1', viewer(id))
    expect(() => open('11.0.0.1', viewer('8'))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
  })

  it('what subscriptions cost is bounded per address, viewer and process, and what is given back is free again', () => {
    const { open, take } = makeLimits()
    const [one, other] = [open('10.0.0.1', viewer('1')), open('10.0.0.2', viewer('1'))]
    const release = take(one, 15)
    expect(() => take(other, 6)).toThrow('open subscriptions of this viewer may cost 20 points together, and this one costs 6')
    take(other, 5)
    release()
    release()
    expect(() => take(other, 16)).toThrow(expect.objectContaining({ code: 'SUBSCRIPTIONS_TOO_MANY' }))
    take(other, 15)
    const anonymous = open('10.0.0.2')
    expect(() => take(anonymous, 11)).toThrow('open subscriptions of this address may cost 30 points together')
    take(open('10.0.0.3'), 30)
    expect(() => take(open('10.0.0.4'), 11)).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
    take(open('10.0.0.4', viewer('2')), 11)
  })

  it('refusals are logged once a minute with their number', () => {
    const { open, warned, clock } = makeLimits()
    for (const id of ['1', '2', '3']) open('10.0.0.1', viewer(id))
    for (let count = 0; count < 1_000; count += 1) expect(() => open('10.0.0.1')).toThrow()
    clock.advance(60_000)
    expect(() => open('10.0.0.1')).toThrow()
    expect(warned.map((fields) => (fields as { refused: number }).refused)).toEqual([1, 1_000])
  })

  it('with connections and subscriptions opened and closed in any order, no limit is exceeded, and in the end nothing is counted', () => {
    const step = fc.record({
      kind: fc.constantFrom('open', 'take', 'release', 'close'),
      address: fc.constantFrom('a1', 'a2', 'a3'),
      viewer: fc.constantFrom(undefined, '1', '2', '3'),
      service: fc.boolean(),
      cost: fc.integer({ min: 0, max: 15 }),
      place: fc.nat(20),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { limits } = makeLimits()
        const open: { connection: OpenConnection; who: string }[] = []
        const releases: (() => void)[] = []
        for (const each of steps) {
          const chosen = open[each.place % Math.max(1, open.length)]
          if (each.kind === 'open') {
            const connection = limits.connect(each.address)
            if (isTidemarkError(connection)) continue
            const full = connection.identify(each.viewer === undefined ? undefined : viewer(each.viewer, each.service ? 'x' : undefined))
            if (full === undefined) open.push({ connection, who: each.service ? 'service' : (each.viewer ?? 'anonymous') })
            else connection.close()
          } else if (each.kind === 'take') {
            const release = chosen?.connection.take(each.cost)
            if (typeof release === 'function') releases.push(release)
          } else if (each.kind === 'release') releases[each.place % Math.max(1, releases.length)]?.()
          else if (chosen !== undefined) {
            chosen.connection.close()
            open.splice(open.indexOf(chosen), 1)
          }
          expect(limits.figures().connections).toBe(open.length)
          expect(limits.figures().connections).toBeLessThanOrEqual(8)
          expect(limits.figures().cost).toBeLessThanOrEqual(80)
        }
        for (const { connection } of open) connection.close()
        for (const release of releases) release()
        expect(limits.figures()).toMatchObject({ connections: 0, cost: 0 })
        // No count was left behind: each address may have all it may have.
        for (const address of ['a1', 'a2'])
          for (let count = 0; count < 3; count += 1) expect(isTidemarkError(limits.connect(address))).toBe(false)
      }),
    )
  })
})
