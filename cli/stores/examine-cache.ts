/**
 * Checks the layout of the cache and each of its nodes. The cache decides how fast a page is, never what it shows, so no finding here refuses
 * a start.
 */
import { examineNode, type NodeFacts } from '../../cache/memcached/examine.ts'
import { cacheNodeOf, type CacheLayout } from '../../config/cache.ts'
import type { Config } from '../../config/config.ts'
import { hasFeed } from '../../config/feed.ts'
import type { StoreFindingName } from '../../config/store-findings.ts'
import type { Clock } from '../../core/clock.ts'
import { VALUE_BYTES_MAX } from '../../subgraphs/feed/read/values.ts'
import type { Examination, Finding } from './findings.ts'

/** The layout is that of the moment of the check. */
export function cacheExaminations(config: Config, clock: Clock): Examination[] {
  return hasFeed(config) ? [{ store: 'cache', examine: () => examineCache(config, clock) }] : []
}

/** No finding without a layout: each process then caches in its own memory. */
async function examineCache({ cache: { layout } }: Config, clock: Clock): Promise<Finding[]> {
  if (layout === undefined) return []
  const nodes = await Promise.all(placesOf(layout).map((each) => examinePlace(clock, each)))
  return [good(`cache.layout has ${sizesOf(layout)}`), ...nodes.flat()]
}

type Place = { pool: string; address: string; /** Ideal part of the keys of the pool, 0 to 1. */ share: number }

function placesOf({ main, backup = [], l1 }: CacheLayout): Place[] {
  const pools = [{ pool: 'main', nodes: main }, { pool: 'backup', nodes: backup }, ...l1.map((nodes, at) => ({ pool: `l1-${at}`, nodes }))]
  return pools.flatMap(({ pool, nodes }) => {
    const weights = nodes.map((node) => cacheNodeOf(node)?.weight ?? 1)
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return nodes.map((node, at) => ({ pool, address: node.replace(/\*.*$/, ''), share: (weights[at] as number) / sum }))
  })
}

function sizesOf({ main, backup = [], l1 }: CacheLayout): string {
  const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
  return `${counted(main.length, 'node')} of Main, ${counted(backup.length, 'node')} of Backup and ${counted(l1.length, 'group')} of L1`
}

async function examinePlace(clock: Clock, place: Place): Promise<Finding[]> {
  const { pool, address } = place
  const state = await examineNode(clock, address)
  if (state.kind === 'up') return judgeNode(place, state.facts)
  if (state.reason.includes(NO_CONNECTION_LEFT))
    return [wrong('memcached-connections', `${pool} ${address}: all its connections are open: start it with a larger --conn-limit`)]
  const until = 'Until then its keys come from the next tier'
  if (state.kind === 'down')
    return [wrong('memcached-down', `${pool} ${address}: ${state.reason}: start the node, or take it out of the layout. ${until}`)]
  return [
    wrong('memcached-unfit', `${pool} ${address}: this is no Memcached (${state.reason}): correct the address in the layout. ${until}`),
  ]
}

/** A read waits this long for a node, and then takes the next tier (`nodePatienceMs` in cache/tiers.ts). */
const SLOW_MS = 100
const CONNECTIONS_PART = 0.8
/** The answer of Memcached at its limit. */
const NO_CONNECTION_LEFT = 'Too many open connections'
const MB = 2 ** 20

/** A single good finding with figures if there is no other. */
export function judgeNode({ pool, address, share }: Place, facts: NodeFacts): Finding[] {
  const findings: Finding[] = []
  const doubt = (name: StoreFindingName, sentence: string): void => {
    findings.push({ store: 'cache', level: 'doubtful', name, sentence: `${pool} ${address}: ${sentence}`, isCopy: true })
  }
  const [major = 0, minor = 0] = facts.version.split('.').map(Number)
  if (major < 1 || (major === 1 && minor < 6)) doubt('memcached-version', `Memcached ${facts.version} is older than 1.6: upgrade it`)
  if (facts.answerMs > SLOW_MS)
    doubt(
      'memcached-slow',
      `an answer takes ${facts.answerMs} ms, and reads skip a node that needs more than ${SLOW_MS} ms: look at its load and its network`,
    )
  if (facts.itemBytesMax < VALUE_BYTES_MAX)
    doubt(
      'memcached-item-size',
      `it refuses values of more than ${facts.itemBytesMax} bytes, and a value may have ${VALUE_BYTES_MAX}: start it with --max-item-size=1m`,
    )
  // L1 and Backup are smaller than Main, so they evict.
  if (pool === 'main' && facts.evictions > 0)
    doubt('memcached-full', `it has evicted ${facts.evictions} values from ${inMb(facts.bytesMax)} MB: give it more memory, or add a node`)
  if (!facts.evicts && facts.refused > 0)
    doubt('memcached-full', `it is full and has refused ${facts.refused} values: start it without --disable-evictions, or with more memory`)
  if (facts.connections > CONNECTIONS_PART * facts.connectionsMax)
    doubt(
      'memcached-connections',
      `${facts.connections} of ${facts.connectionsMax} connections are open: start it with a larger --conn-limit`,
    )
  if (findings.length > 0) return findings
  const memory = `${inMb(facts.bytes)} of ${inMb(facts.bytesMax)} MB used, ${facts.evictions} values evicted`
  return [good(`${pool} ${address}: Memcached ${facts.version}, ${(100 * share).toFixed(1)}% of the keys, ${memory}`)]
}

const inMb = (bytes: number): string => (bytes / MB).toFixed(0)
const good = (sentence: string): Finding => ({ store: 'cache', level: 'good', sentence })

function wrong(name: StoreFindingName, sentence: string): Finding {
  return { store: 'cache', level: 'wrong', name, sentence, isCopy: true }
}
