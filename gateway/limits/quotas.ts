/**
 * The quotas of a caller: the windows in which its requests count, each with the caller's key in it. A service counts apart from viewers,
 * and an IPv6 address counts in its /64 and in its /48.
 */
import type { Clock } from '../../core/clock.ts'
import { isService } from '../../core/viewer.ts'
import { makeMemory } from '../identity/memory.ts'
import { addressGroup, addressSite, makeAddressList, SITE_SHARE } from '../request/addresses.ts'
import type { Caller } from '../request/caller.ts'
import { makeBoundedNames } from './bounded-names.ts'
import { makeRedisCounter, type CountingStore } from './redis-counter.ts'
import { makeLocalWindow, makeSharedWindow, type LocalWindow, type Rate, type SharedWindow } from './sliding-window.ts'

const KINDS = ['viewer', 'service', 'client', 'address', 'anonymous'] as const
export type QuotaKind = (typeof KINDS)[number]

export type QuotaOptions = {
  readonly viewer?: Rate | undefined
  /** Tokens of services. Absent: services count as viewers. */
  readonly service?: Rate | 'none' | undefined
  readonly client?: Rate | undefined
  readonly address?: Rate | undefined
  /** Callers without a token, by address. */
  readonly anonymous?: Rate | undefined
  /** Addresses and ranges shared by many callers: `anonymous` does not count them. */
  readonly sharedAddresses?: readonly string[]
  /** Kinds that each process counts for itself, even with Redis. */
  readonly perProcess?: readonly (QuotaKind | 'abuse')[]
}

type Window = { readonly local: LocalWindow; readonly shared?: SharedWindow }
/** `canBeBlocked`: refusals of this quota count towards `abuse`. */
export type Quota = { readonly kind: QuotaKind; readonly key: string; readonly window: Window; readonly canBeBlocked: boolean }

export type Quotas = {
  /** `claims`: the request has credentials that are unchecked yet, so it does not count as anonymous. */
  of(caller: Caller, claims?: boolean): readonly Quota[]
  /** Redis counts none of them. */
  readonly isLocal: boolean
}

/** Viewers and addresses in one local window. An attacker with many of them can fill a few megabytes at most. */
const COUNTED_MAX = 20_000
/** Client names come from clients. Further names share one count, so that invented names cannot fill the memory. */
const CLIENTS_MAX = 1_000
const ADDRESSES_REMEMBERED_MAX = 10_000

/** Undefined if nothing is limited. */
export function openQuotas(options: QuotaOptions, store: CountingStore | undefined, clock: Clock): Quotas | undefined {
  const windows = openWindows(options, store, clock, 1)
  if (windows.size === 0) return undefined
  const { address, anonymous, perProcess = [], sharedAddresses = [] } = options
  const siteWindows = openWindows({ address, anonymous, perProcess }, store, clock, SITE_SHARE)
  const boundedName = makeBoundedNames(CLIENTS_MAX, 'others')
  const anonymousQuotas = rememberQuotas(sharedAddresses, (address) => quotasAt('anonymous', address))
  const countsServices = options.service !== undefined

  function quotaOf(kind: QuotaKind, name: string): Quota[] {
    const window = windows.get(kind)
    return window === undefined ? [] : [{ kind, key: `${kind}:${name}`, window, canBeBlocked: kind !== 'client' }]
  }

  function quotasAt(kind: QuotaKind, address: string): Quota[] {
    const window = siteWindows.get(kind)
    const site = addressSite(address)
    const ofSite = window === undefined || site === undefined ? [] : [{ kind, key: `${kind}:${site}`, window, canBeBlocked: false }]
    return [...quotaOf(kind, addressGroup(address)), ...ofSite]
  }

  return {
    isLocal: [...windows.values()].every(({ shared }) => shared === undefined),
    of({ viewer, client, address }, claims = false) {
      const quotas: Quota[] = []
      if (viewer !== undefined) {
        const kind: QuotaKind = countsServices && isService(viewer) ? 'service' : 'viewer'
        // A service that acts for viewers counts as itself. Otherwise it could use up their limits.
        quotas.push(...quotaOf(kind, viewer.actor ?? viewer.id))
      }
      if (client !== undefined && windows.has('client')) quotas.push(...quotaOf('client', boundedName(client)))
      if (address === undefined) return quotas
      if (windows.has('address')) quotas.push(...quotasAt('address', address))
      if (viewer === undefined && !claims && windows.has('anonymous')) quotas.push(...anonymousQuotas(address))
      return quotas
    },
  }
}

/** `share`: each window allows this many times its rate. */
function openWindows(options: QuotaOptions, store: CountingStore | undefined, clock: Clock, share: number): Map<QuotaKind, Window> {
  const windows = new Map<QuotaKind, Window>()
  for (const kind of KINDS) {
    const configured = options[kind]
    if (configured === undefined || configured === 'none') continue
    const rate = { ...configured, points: configured.points * share }
    windows.set(kind, openWindow(kind, rate, options.perProcess?.includes(kind) === true ? undefined : store, clock))
  }
  return windows
}

function openWindow(kind: QuotaKind, rate: Rate, store: CountingStore | undefined, clock: Clock): Window {
  const local = makeLocalWindow(rate, COUNTED_MAX, clock)
  if (store === undefined) return { local }
  const makeCounter = (perSeconds: number) => makeRedisCounter(store, kind, { points: rate.points, perSeconds })
  return { local, shared: makeSharedWindow(rate, makeCounter, clock, local) }
}

/** The quotas of an address; none of a shared address. Results are remembered, because checking a list of ranges takes longer. */
function rememberQuotas(sharedAddresses: readonly string[], quotasAt: (address: string) => readonly Quota[]) {
  const isShared = makeAddressList(sharedAddresses, 'limits.sharedAddresses')
  const known = makeMemory<readonly Quota[]>(ADDRESSES_REMEMBERED_MAX)
  return (address: string): readonly Quota[] => {
    const remembered = known.get(address)
    if (remembered !== undefined) return remembered
    const quotas = isShared(address) ? [] : quotasAt(address)
    known.set(address, quotas)
    return quotas
  }
}
