import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../core/errors.ts'
import type { Viewer } from '../../../core/viewer.ts'
import type { OpenLimitOptions } from '../../../gateway/limits/open-counts.ts'
import { makeOpenLimits, type OpenConnection } from '../../../gateway/limits/open-limits.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const BOUNDS = { openConnections: { address: 3, viewer: 2, process: 8 }, openCost: { address: 30, viewer: 20, process: 80 } }
const viewer = (id: string, actor?: string): Viewer => ({ id, scopes: [], ...(actor === undefined ? {} : { actor }) })

function makeLimits(bounds: OpenLimitOptions = BOUNDS) {
  const warned: object[] = []
  const clock = makeSteppedClock()
  const limits = makeOpenLimits(bounds, clock, { warn: (fields) => warned.push(fields) })
  const open = (address: string, who?: Viewer): OpenConnection => {
    const connection = limits.connect(address, { viewer: who })
    if (isTidemarkError(connection)) throw connection
    return connection
  }
  const connect = (address: string, cut = () => {}): OpenConnection => {
    const connection = limits.connect(address, { cut })
    if (isTidemarkError(connection)) throw connection
    return connection
  }
  const take = (connection: OpenConnection, cost: number): (() => void) => {
    const release = connection.take(cost)
    if (isTidemarkError(release)) throw release
    return release
  }
  return { limits, open, connect, take, warned, clock }
}

describe('limits of open connections', () => {
  it('an address has a limit of connections, an IPv6 network has the same, and a closed connection makes room', () => {
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

  it('clients without a token have as many in a /48 of IPv6 as in four addresses, and clients with a token are not counted there', () => {
    const { open, connect, take } = makeLimits({
      openConnections: { address: 3, viewer: 2, process: 100 },
      openCost: { address: 30, viewer: 20, process: 1_000 },
    })
    const address = (network: number) => `2001:db8:7:${network.toString(16)}::1`
    for (let network = 0; network < 12; network += 1) take(open(address(network)), 10)
    expect(() => open(address(12))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
    expect(connect(address(13)).identify(undefined)).toMatchObject({ code: 'CONNECTIONS_TOO_MANY' })
    for (let network = 13; network < 26; network += 1) take(open(address(network), viewer(String(network))), 10)
    const late = connect(address(26))
    expect(late.identify(viewer('26'))).toBeUndefined()
    take(late, 20)
    take(open('2001:db8:8::1'), 20)
  })

  it('if a /48 has too many connections without a viewer, only its oldest is cut for the new one', () => {
    const { connect, limits } = makeLimits({ ...BOUNDS, openConnections: { address: 3, viewer: 2, process: 100 } })
    const cut: string[] = []
    const silent = (address: string) => connect(address, () => void cut.push(address))
    silent('10.1.0.1')
    const site = Array.from({ length: 12 }, (_, network) => silent(`2001:db8:7:${network}::1`))
    silent('2001:db8:7:12::1')
    expect(cut).toEqual(['2001:db8:7:0::1'])
    site[1]?.verify()
    silent('2001:db8:7:13::1')
    expect(cut).toEqual(['2001:db8:7:0::1', '2001:db8:7:2::1'])
    expect(limits.figures().connections).toBe(13)
  })

  it.each(['10.1.0.1', '2001:db8::1'])('%s is still limited after its only connection was cut for its next one', (address) => {
    const { open, connect } = makeLimits()
    connect(address)
    const others = Array.from({ length: 7 }, () => open('10.0.0.1', viewer('1', 'service')))
    const next = connect(address)
    for (const other of others) other.close()
    connect(address)
    next.close()
    for (const id of ['2', '3']) open(address, viewer(id))
    expect(() => connect(address)).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
  })

  it('an address is still limited after a subscription of its closed connection has ended', () => {
    const { open, take } = makeLimits()
    const first = open('10.0.0.1', viewer('1'))
    first.close()
    for (const id of ['1', '2', '3']) open('10.0.0.1', viewer(id))
    take(first, 1)()
    expect(() => open('10.0.0.1', viewer('4'))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
  })

  it('a connection that is being verified is cut only if no connection is silent', () => {
    const { open, connect } = makeLimits({ ...BOUNDS, openConnections: { address: 3, viewer: 2, process: 2 } })
    const cut: string[] = []
    connect('10.1.0.1', () => void cut.push('verifying')).verify()
    connect('10.1.0.2', () => void cut.push('silent'))
    open('10.0.0.1', viewer('1'))
    open('10.0.0.2', viewer('2'))
    expect(cut).toEqual(['silent', 'verifying'])
    expect(() => open('10.0.0.3', viewer('3'))).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
  })

  it('a client that is refused for its connections or its cost cuts no other', () => {
    const { limits, open, connect } = makeLimits()
    const cut: string[] = []
    for (const place of [1, 2]) open(`10.0.0.${place}`, viewer('1'))
    for (const place of [3, 4, 5, 6]) open(`10.0.0.${place}`)
    for (const place of [7, 8]) connect(`10.0.0.${place}`, () => void cut.push('silent'))
    expect(() => open('10.0.0.9', viewer('1'))).toThrow('this viewer may have 2 connections open')
    expect(() => open('10.0.0.9')).toThrow('clients without a token may have 4 connections open')
    expect(limits.connect('10.0.0.9', { viewer: viewer('2'), cost: 21 })).toMatchObject({ code: 'SUBSCRIPTIONS_TOO_MANY' })
    expect(cut).toEqual([])
    open('10.0.0.9', viewer('2'))
    expect(cut).toEqual(['silent'])
  })

  it('a viewer has one limit of connections for all addresses', () => {
    const { open } = makeLimits()
    open('10.0.0.1', viewer('1'))
    open('10.0.0.2', viewer('1'))
    expect(() => open('10.0.0.3', viewer('1'))).toThrow('this viewer may have 2 connections open')
    open('10.0.0.3', viewer('2'))
  })

  it('clients without a token may use half of the process, and clients with a token all of it', () => {
    const { open } = makeLimits()
    for (const place of [1, 2, 3, 4]) open(`10.0.0.${place}`)
    expect(() => open('10.0.0.5')).toThrow('clients without a token may have 4 connections open: try again later')
    for (const place of [5, 6, 7, 8]) open(`10.0.0.${place}`, viewer(String(place)))
    expect(() => open('10.0.0.9', viewer('9'))).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
  })

  it('if the process is full, only the oldest connection without a viewer is cut', () => {
    const { limits, open, connect } = makeLimits()
    const cut: string[] = []
    const silent = (name: string) => connect(`10.1.0.${name}`, () => void cut.push(name))
    const [first] = ['1', '2', '3'].map(silent)
    for (const place of [1, 2, 3, 4, 5]) open(`10.0.0.${place}`, viewer(String(place)))
    expect(first?.identify(viewer('6'))).toBeUndefined()
    open('10.0.0.6', viewer('7'))
    expect(cut).toEqual(['2'])
    open('10.0.0.7', viewer('8'))
    expect(cut).toEqual(['2', '3'])
    expect(() => open('10.0.0.8', viewer('9'))).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }))
    expect(limits.figures()).toMatchObject({ connections: 8, refused: 3 })
  })

  it('a full address cuts no connection of another address', () => {
    const { open, connect } = makeLimits()
    const cut: string[] = []
    for (const name of ['1', '2']) connect(`10.1.0.${name}`, () => void cut.push(name))
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

  it('an address that many callers share has no limit', () => {
    const { open } = makeLimits({ ...BOUNDS, sharedAddresses: ['10.0.0.0/8'] })
    for (const id of ['1', '2', '3', '4']) open('10.0.0.1', viewer(id))
    for (const id of ['5', '6', '7']) open('11.0.0.1', viewer(id))
    expect(() => open('11.0.0.1', viewer('8'))).toThrow(expect.objectContaining({ code: 'CONNECTIONS_TOO_MANY' }))
  })

  it('the cost of subscriptions is limited per address, viewer and process, and released cost can be taken again', () => {
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

  it('if connections and subscriptions open and close in any order, no limit is exceeded, and in the end nothing is counted', () => {
    const step = fc.record({
      kind: fc.constantFrom('connect', 'verify', 'identify', 'take', 'release', 'close'),
      address: fc.constantFrom('10.0.0.1', '10.0.0.2', '2001:db8:7:1::1', '2001:db8:7:2::1', '2001:db8:7:3::1'),
      isIdentified: fc.boolean(),
      viewer: fc.constantFrom(undefined, '1', '2', '3'),
      service: fc.boolean(),
      cost: fc.integer({ min: 0, max: 15 }),
      place: fc.nat(20),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { limits } = makeLimits()
        const open: { connection: OpenConnection; address: string }[] = []
        const unidentified = new Set<OpenConnection>()
        const releases: (() => void)[] = []
        const leave = (connection: OpenConnection | undefined): void => {
          const found = open.findIndex((each) => each.connection === connection)
          if (found >= 0) open.splice(found, 1)
        }
        for (const each of steps) {
          const chosen = open[each.place % Math.max(1, open.length)]
          const who = each.viewer === undefined ? undefined : viewer(each.viewer, each.service ? 'x' : undefined)
          if (each.kind === 'connect') {
            const cut = (): void => leave(connection as OpenConnection)
            const connection = limits.connect(each.address, each.isIdentified ? { viewer: who } : { cut })
            if (isTidemarkError(connection)) continue
            open.push({ connection, address: who !== undefined && each.isIdentified && each.service ? 'any' : each.address })
            if (!each.isIdentified) unidentified.add(connection)
          } else if (each.kind === 'verify') chosen?.connection.verify()
          else if (each.kind === 'identify') {
            if (chosen === undefined || !unidentified.delete(chosen.connection)) continue
            if (chosen.connection.identify(who) === undefined) {
              if (who !== undefined && each.service) chosen.address = 'any'
            } else {
              chosen.connection.close()
              leave(chosen.connection)
            }
          } else if (each.kind === 'take') {
            const release = chosen?.connection.take(each.cost)
            if (typeof release === 'function') releases.push(release)
          } else if (each.kind === 'release') releases[each.place % Math.max(1, releases.length)]?.()
          else if (chosen !== undefined) {
            chosen.connection.close()
            leave(chosen.connection)
          }
          expect(limits.figures().connections).toBe(open.length)
          expect(limits.figures().connections).toBeLessThanOrEqual(8)
          expect(limits.figures().cost).toBeLessThanOrEqual(80)
          const ofAddress = Map.groupBy(open, ({ address }) => address)
          ofAddress.delete('any')
          for (const [, connections] of ofAddress) expect(connections.length).toBeLessThanOrEqual(3)
        }
        for (const { connection } of open) connection.close()
        for (const release of releases) release()
        expect(limits.figures()).toMatchObject({ connections: 0, cost: 0 })
        // Each address may again use its whole limit, so no count is left.
        for (const address of ['10.0.0.1', '2001:db8:7:1::1'])
          for (const id of ['1', '2', '3']) expect(isTidemarkError(limits.connect(address, { viewer: viewer(id) }))).toBe(false)
      }),
    )
  })
})
