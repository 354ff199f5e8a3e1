/** The findings of `tidemark doctor` about the cache, on real Memcached nodes. */
import { connect, createServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { makeMemcachedClient } from '../../../cache/memcached/client.ts'
import { examineNode, type NodeFacts } from '../../../cache/memcached/examine.ts'
import { examineStores } from '../../../cli/stores/examine.ts'
import { judgeNode } from '../../../cli/stores/examine-cache.ts'
import type { Finding } from '../../../cli/stores/findings.ts'
import type { CacheLayout } from '../../../config/cache.ts'
import { makeConfig } from '../../../config/config.ts'
import { systemClock } from '../../../core/clock.ts'
import { memcachedIsHere, startMemcachedNodes, type MemcachedNode } from '../../../harness/deployment/memcached-nodes.ts'
import { startRubbishServer } from '../../../harness/faults/rubbish-server.ts'
import { encodeContent, VALUE_BYTES_MAX } from '../../../subgraphs/feed/read/values.ts'

const hasMemcached = await memcachedIsHere()
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function startNodes(settings: readonly (readonly string[])[]): Promise<MemcachedNode[]> {
  const { nodes, stop } = await startMemcachedNodes(settings)
  cleanups.push(stop)
  return nodes
}

function findingsOf(values: Record<string, unknown>): Promise<Finding[]> {
  return examineStores(makeConfig([{ name: 'test', values }]), systemClock, silent)
}
const ofLayout = (layout: CacheLayout | Record<string, unknown>) => findingsOf({ cache: { layout } })
const namesOf = (findings: readonly Finding[]) => findings.map(({ level, name }) => `${level} ${name ?? ''}`.trim())

describe.skipIf(!hasMemcached)('the nodes of a layout', () => {
  test('a healthy layout has a finding with its sizes, and one for each node with its share and figures', async () => {
    const [a, b, c, d] = (await startNodes([[], [], [], []])) as [MemcachedNode, MemcachedNode, MemcachedNode, MemcachedNode]
    const findings = await ofLayout({ main: [a.address, `${b.address}*3`], backup: [c.address], l1: [[d.address]] })
    expect(namesOf(findings)).toEqual(['good', 'good', 'good', 'good', 'good'])
    expect(findings[0]?.sentence).toBe('cache.layout has 2 nodes of Main, 1 node of Backup and 1 group of L1')
    const sentences = findings.slice(1).map(({ sentence }) => sentence)
    const figures = 'of the keys, 0 of 64 MB used, 0 values evicted'
    for (const [at, [pool, node, share]] of [
      ['main', a, '25.0%'],
      ['main', b, '75.0%'],
      ['backup', c, '100.0%'],
      ['l1-0', d, '100.0%'],
    ].entries() as ArrayIterator<[number, [string, MemcachedNode, string]]>)
      expect(sentences[at]).toMatch(new RegExp(`^${pool} ${node.address}: Memcached 1\\.\\d+\\.\\d+, ${share} ${figures}$`))
  })

  test('a node that is killed, one that is stopped and one whose name is unknown are down, and the others are examined', async () => {
    const [killed, frozen, whole] = (await startNodes([[], [], []])) as [MemcachedNode, MemcachedNode, MemcachedNode]
    await killed.kill()
    await frozen.freeze()
    const unknown = 'no-such-host.invalid:11211'
    const findings = await ofLayout({ main: [killed.address, frozen.address, unknown], backup: [whole.address] })
    expect(namesOf(findings)).toEqual(['good', 'wrong memcached-down', 'wrong memcached-down', 'wrong memcached-down', 'good'])
    expect(findings.filter(({ level }) => level === 'wrong').every(({ isCopy }) => isCopy)).toBe(true)
    const [, refused, silentOne, unnamed] = findings.map(({ sentence }) => sentence)
    expect(refused).toMatch(new RegExp(`^main ${killed.address}: (connect ECONNREFUSED|read ECONNRESET).*: start the node`))
    expect(silentOne).toContain(`${frozen.address} does not answer within 2000 ms: start the node, or take it out of the layout`)
    expect(unnamed).toMatch(/getaddrinfo (ENOTFOUND|EAI_AGAIN) no-such-host\.invalid/)
  })

  test.each([
    ['a line', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a few bytes without a line', '\x16\x03\x01'],
    ['bytes without lines', '\0'.repeat(5_000)],
    ['a value that was not asked for', 'VALUE a 0 1 1\r\nx\r\n'],
  ])('a server that answers %s is no Memcached', async (_, answer) => {
    const server = await startRubbishServer(Buffer.from(answer))
    cleanups.push(server.close)
    const [, finding] = await ofLayout({ main: [server.address] })
    expect(finding).toMatchObject({ level: 'wrong', name: 'memcached-unfit', isCopy: true })
    expect(finding?.sentence).toMatch(/^main \S+: this is no Memcached \(.+\): correct the address in the layout/)
  })

  test('a server that answers with a few bytes and resets the connection is no Memcached', async () => {
    const server = createServer((socket) =>
      socket.on('data', () => socket.write('\x16\x03\x01', () => setTimeout(() => socket.resetAndDestroy(), 50))),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => new Promise((resolve) => server.close(() => resolve())))
    const [, finding] = await ofLayout({ main: [`127.0.0.1:${(server.address() as AddressInfo).port}`] })
    expect(finding).toMatchObject({ level: 'wrong', name: 'memcached-unfit' })
  })

  test('a node with a small item limit is doubtful', async () => {
    const [node] = (await startNodes([['--max-item-size=64k', '--extended=slab_chunk_max=32']])) as [MemcachedNode]
    const [, finding] = await ofLayout({ main: [node.address] })
    expect(finding).toMatchObject({ level: 'doubtful', name: 'memcached-item-size' })
    expect(finding?.sentence).toContain('it refuses values of more than 65536 bytes')
  })

  test('a full node is doubtful: one of Main that evicts, and any one that may not evict', async () => {
    const small = ['--memory-limit=2', '--max-item-size=512k']
    const [evicting, refusing, ofL1] = (await startNodes([small, [...small, '--disable-evictions'], small])) as [
      MemcachedNode,
      MemcachedNode,
      MemcachedNode,
    ]
    for (const { address } of [evicting, refusing, ofL1]) await overfill(address)
    const findings = await ofLayout({ main: [evicting.address], backup: [refusing.address], l1: [[ofL1.address]] })
    expect(namesOf(findings)).toEqual(['good', 'doubtful memcached-full', 'doubtful memcached-full', 'good'])
    const [, ofMain, ofBackup] = findings.map(({ sentence }) => sentence)
    expect(ofMain).toMatch(/: it has evicted [1-9]\d* values from 2 MB: give it more memory, or add a node$/)
    expect(ofBackup).toMatch(/: it is full and has refused [1-9]\d* values: start it without --disable-evictions/)
  })

  test('a node behind a slow network is doubtful', async () => {
    const [node] = (await startNodes([[]])) as [MemcachedNode]
    const address = await delayed(node.port, 150)
    const [, finding] = await ofLayout({ main: [address] })
    expect(finding).toMatchObject({ level: 'doubtful', name: 'memcached-slow' })
    expect(finding?.sentence).toMatch(/: an answer takes \d{3,} ms, and reads skip a node that needs more than 100 ms/)
  })

  test('a node near its limit of connections is doubtful, and one at its limit is wrong', async () => {
    const [node] = (await startNodes([['--conn-limit=200']])) as [MemcachedNode]
    const open = async (count: number): Promise<void> => {
      const clients = Array.from({ length: count }, () => makeMemcachedClient(systemClock, node.address))
      cleanups.push(async () => void (await Promise.all(clients.map((client) => client.stop()))))
      await Promise.allSettled(clients.map((client) => client.check()))
    }
    await open(170)
    const [, near] = await ofLayout({ main: [node.address] })
    expect(near).toMatchObject({ level: 'doubtful', name: 'memcached-connections' })
    await open(40)
    const [, at] = await ofLayout({ main: [node.address] })
    expect(at).toMatchObject({ level: 'wrong', name: 'memcached-connections' })
    expect(at?.sentence).toBe(`main ${node.address}: all its connections are open: start it with a larger --conn-limit`)
  })
})

describe('the layout', () => {
  test('without a layout there is nothing to check', async () => {
    expect(await findingsOf({})).toEqual([])
  })

  test('without a feed there is nothing to check', async () => {
    const businesses = [{ number: 1, name: 'video', entity: 'Video' }]
    expect(await findingsOf({ businesses, cache: { layout: { main: ['127.0.0.1:1'] } } })).toEqual([])
  })
})

describe('the facts of a node', () => {
  const facts: NodeFacts = {
    ...{ version: '1.6.38', answerMs: 1, bytes: 0, bytesMax: 2 ** 26, itemBytesMax: 2 ** 20, evicts: true },
    ...{ evictions: 0, refused: 0, connections: 1, connectionsMax: 1_024 },
  }
  const judged = (more: Partial<NodeFacts>) => namesOf(judgeNode({ pool: 'main', address: 'a:1', share: 1 }, { ...facts, ...more }))

  test.each<[string, Partial<NodeFacts>, string]>([
    ['1.6 is new enough', {}, 'good'],
    ['1.10 is newer than 1.6', { version: '1.10.0' }, 'good'],
    ['2.0 is newer than 1.6', { version: '2.0.1' }, 'good'],
    ['1.5 is too old', { version: '1.5.22' }, 'doubtful memcached-version'],
    ['an answer within the patience of a read is quick enough', { answerMs: 100 }, 'good'],
    ['a later one is not', { answerMs: 101 }, 'doubtful memcached-slow'],
    ['the largest value fits', { itemBytesMax: VALUE_BYTES_MAX }, 'good'],
    ['a byte less is too small', { itemBytesMax: VALUE_BYTES_MAX - 1 }, 'doubtful memcached-item-size'],
  ])('%s', (_, more, expected) => {
    expect(judged(more)).toEqual([expected])
  })

  test('the largest post of the API fits into the largest value, and half of that would be too little', () => {
    const post = {
      ...{ id: '1', author: 'x'.repeat(64), text: '😀'.repeat(2_000), clientKey: 'x'.repeat(64), version: Number.MAX_SAFE_INTEGER },
      media: Array.from({ length: 9 }, () => `https://${'あ'.repeat(492)}`),
      ...{ source: 'x'.repeat(20), audience: Array.from({ length: 1_000 }, (_, at) => `${at}`.padStart(64, 'x')), deleted: false },
    }
    const bytes = encodeContent(post, 0).length
    expect(bytes).toBeLessThanOrEqual(VALUE_BYTES_MAX - 300)
    expect(bytes).toBeGreaterThan(VALUE_BYTES_MAX / 2)
  })
})

/** 40 values of 100 KB are more than a node of 2 MB has room for. */
async function overfill(address: string): Promise<void> {
  const client = makeMemcachedClient(systemClock, address)
  try {
    for (let at = 0; at < 40; at++)
      await client.set(`key-${at}`, { value: Buffer.alloc(100_000, 1), version: 1 }, systemClock.now() + 600_000)
  } finally {
    await client.stop()
  }
}

/** A proxy that holds each answer back. */
async function delayed(port: number, delayMs: number): Promise<string> {
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1')
    client.pipe(target)
    target.on('data', (chunk) => setTimeout(() => client.write(chunk), delayMs))
    for (const socket of [client, target]) socket.on('error', () => undefined)
    client.on('close', () => target.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => new Promise((resolve) => server.close(() => resolve())))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a server that gives one answer of Memcached to all requests is no Memcached', async () => {
  const server = await startRubbishServer(Buffer.from('VERSION 1.6.38\r\n'))
  cleanups.push(server.close)
  // It answers `stats` with a version, which is no answer to it.
  expect(await examineNode(systemClock, server.address)).toMatchObject({ kind: 'rubbish' })
})
