/**
 * The address of a client behind proxies. Every proxy appends the address of its own client to `x-forwarded-for`. The entries before those
 * of the trusted proxies come from the client, which may send any address. The list is therefore read from its right end, and only through
 * trusted proxies. The configuration gives their number or their addresses.
 */
import { BlockList, isIP } from 'node:net'
import { TidemarkError } from '../../core/errors.ts'

export type TrustProxy = number | readonly string[]

/** `remote`: the other end of the connection. `forwardedFor`: the header, if there is one. */
export type AddressOf = (remote: string | undefined, forwardedFor: unknown) => string | undefined

/** The prefix of an IPv4 address on a socket that listens on IPv6. */
const MAPPED = '::ffff:'
/** Entries that are read, from the right. A header may contain thousands. */
const HOPS_MAX = 64

export function makeAddressOf(trust: TrustProxy): AddressOf {
  // The usual case: the header is not read.
  if (trust === 0) return (remote) => (remote?.startsWith(MAPPED) ? remote.slice(MAPPED.length) : remote)
  if (typeof trust === 'number') {
    return (remote, forwardedFor) => walk(remote, forwardedFor, (_address, hop) => hop < trust)
  }
  const isTrusted = makeAddressList(trust, 'server.trustProxy')
  return (remote, forwardedFor) => walk(remote, forwardedFor, isTrusted)
}

/** Goes from the nearest address to the farthest, as long as `isProxy` is true for the current address. */
function walk(remote: string | undefined, forwardedFor: unknown, isProxy: (address: string, hop: number) => boolean): string | undefined {
  let address = plainAddress(remote ?? '')
  if (address === undefined) return undefined
  const claims = typeof forwardedFor === 'string' ? forwardedFor.split(',').slice(-HOPS_MAX) : []
  for (let hop = 0; isProxy(address, hop); hop += 1) {
    const next: string | undefined = plainAddress(claims.pop() ?? '')
    if (next === undefined) break
    address = next
  }
  return address
}

/** The address without a port, without brackets, and as IPv4 if it is mapped to IPv6. Undefined if the text is no address. */
function plainAddress(text: string): string | undefined {
  const bare = text.trim().replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
  const address = bare.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, '$1')
  return isIP(address) === 0 ? undefined : address
}

/** Returns a test of an address against these addresses and ranges. `setting` names the setting in error messages. */
export function makeAddressList(ranges: readonly string[], setting: string): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    try {
      if (bits === undefined) list.addAddress(address, family)
      else list.addSubnet(address, Number(bits), family)
    } catch (cause) {
      throw new TidemarkError('CONFIG_INVALID', `${setting}: ${range} is not an address or range: write 10.0.0.0/8 or fd00::/8`, { cause })
    }
  }
  return (address) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** One household has a /64 of IPv6 and may use any address of it at any time, so the whole /64 counts as one address. */
export function addressGroup(address: string): string {
  return isIP(address) === 6 ? networkOf(address, 64) : address
}

/** One customer of a network may have a /48 of IPv6, which is 65,536 /64s. A whole /48 may use as much as this many addresses. */
export const SITE_SHARE = 4

/** The /48 of an IPv6 address. */
export function addressSite(address: string): string | undefined {
  return isIP(address) === 6 ? networkOf(address, 48) : undefined
}

function networkOf(address: string, bits: 48 | 64): string {
  const [head = '', tail] = address.toLowerCase().split('%', 1)[0]?.split('::') ?? []
  const start = head === '' ? [] : head.split(':')
  const end = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - start.length - end.length)
  const groups = [...start, ...Array.from({ length: zeros }, () => '0'), ...end]
  return `${groups
    .slice(0, bits / 16)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/${bits}`
}
