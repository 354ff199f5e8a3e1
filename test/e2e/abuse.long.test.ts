/** The short form of `npm run bench -- abuse`: its most significant attacks, for some seconds each, on the embedded shape. No latencies. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { ATTACKER_ADDRESS, makeAttackerPool } from '../../harness/abuse/attack.ts'
import { startProduct } from '../../harness/abuse/product.ts'
import { allAttacks, endBytesMax, underAttack } from '../../harness/abuse/under-attack.ts'

const MEGABYTE = 1_048_576
const LOG_BYTES_MAX = 100_000
const DURATIONS = { warmUpMs: 2_000, warmUpPerSecond: 500, aloneMs: 0, attackedMs: 4_000, recoveryMs: 1_000 }
const attacks = await allAttacks()

test.each([
  ['large operations without a token, 16 connections', 0],
  ['16 variants of large operations without a token', 0],
  ['5,000 sockets', 0],
  ['5,000 streams', 0],
  // Bodies of 400 KB leave more memory in the allocator, and no collection returns it.
  ['subgraph: as many representations as the limits allow', 64 * MEGABYTE],
  ['an error flood without a token', 0],
  // As above, plus the bodies of 64 connections that arrive or wait: 1 MB each, as bytes and as text.
  ['large bodies, half of them aborted', (64 + 2 * 64) * MEGABYTE],
])('%s: no other client fails, and memory and log stay bounded', async (title, bodyBytes) => {
  const placed = attacks.find(({ attack }) => attack.title === title)
  if (placed === undefined) throw new Error(`there is no attack "${title}"`)
  const product = await startProduct('embedded', placed.attack.role)
  try {
    const seen = await underAttack(product, placed, DURATIONS)
    const story = JSON.stringify(seen, undefined, 2)
    expect(product.deaths(), story).toEqual([])
    expect(seen.attacked.failed, story).toBe(0)
    const bytesMax = endBytesMax(seen.startBytes) + bodyBytes
    expect(seen.endBytes, story).toBeLessThanOrEqual(bytesMax)
    // Work is bounded while it runs: an attack needs no more at once than it may leave behind.
    expect(seen.peakBytes, story).toBeLessThanOrEqual(bytesMax)
    expect(seen.logBytes, story).toBeLessThan(LOG_BYTES_MAX)
    const sent = (seen.counts['sent'] ?? 0) + (seen.counts['tried'] ?? 0)
    expect(sent, story).toBeGreaterThan(0)
  } finally {
    await product.remove()
  }
})

// The limits per address do not count the address of the healthy client.
test('an attacker has a separate address', async () => {
  const server = createServer((request, response) => response.end(request.socket.remoteAddress)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pool = makeAttackerPool({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, 1)
  try {
    const { body } = await pool.request({ path: '/', method: 'GET' })
    expect(await body.text()).toBe(ATTACKER_ADDRESS)
  } finally {
    await pool.destroy()
    server.close()
  }
})
