/** Publications: a steady few while pages are read, and the cost of one for an author with many followers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { callApi } from '../../conformance/api-client.ts'
import { seededRandom } from '../../core/random.ts'
import { makeZipf } from '../../harness/samples/zipf.ts'
import { cpuSeconds } from '../support/cpu.ts'
import type { Measure } from '../support/report.ts'
import type { Dataset } from './dataset.ts'
import { OPERATIONS } from './operations.ts'
import { makeFanOutPublisher } from './peers/fan-out.ts'
import type { Product } from './product.ts'

/** Ids of posts of the peer, above those of the dataset. */
const PEER_IDS = 9_000_000_000_000_000_000n

type Published = { publishPost: { post: { id: string } | null; userErrors: { message: string }[] } }

async function publish(url: string, viewer: string, clientKey: string): Promise<void> {
  const input = { clientKey, text: `a new post of ${viewer}: ${clientKey}` }
  const { publishPost } = await callApi<Published>(url, OPERATIONS.Publish, { input }, { viewer })
  if (publishPost.post === null) throw new Error(`a publication was refused: ${JSON.stringify(publishPost.userErrors)}`)
}

/** Authors publish by Zipf's law until `stop`, which resolves with the number of posts. */
export function startPublishing({ url }: Pick<Product, 'url'>, { authors }: Dataset, perSecond: number): { stop(): Promise<number> } {
  const draw = makeZipf(seededRandom(5), authors.length, 0.9)
  let isOver = false
  const publishing = (async () => {
    let count = 0
    for (; !isOver; await sleep(1_000 / perSecond)) await publish(url, authors[draw()] as string, `steady-${count++}`)
    return count
  })()
  publishing.catch(() => undefined)
  return {
    stop() {
      isOver = true
      return publishing
    },
  }
}

type Cost = { ms: number[]; cpuMs: number }

/** The CPU time of these processes per call, and the time of each call. `own`: this process works for the calls too. */
async function costOf(pids: readonly number[], own: boolean, count: number, call: (at: number) => Promise<unknown>): Promise<Cost> {
  const used = (): number => {
    const { user, system } = process.cpuUsage()
    return pids.reduce((sum, pid) => sum + cpuSeconds(pid) * 1_000, own ? (user + system) / 1_000 : 0)
  }
  await call(-1)
  const before = used()
  const ms: number[] = []
  for (let at = 0; at < count; at++) {
    const begun = performance.now()
    await call(at)
    ms.push(performance.now() - begun)
  }
  return { ms: ms.sort((a, b) => a - b), cpuMs: (used() - before) / count }
}

export type FanOutStore = { url: string; pid: number }

/** A post of an author with many followers, on the product and by fan-out. */
export async function measurePublications(
  product: Product,
  fanOut: FanOutStore,
  { popular }: Dataset,
  counts: { ours: number; peers: number },
): Promise<Measure[]> {
  const ours = await costOf([product.pid, ...product.servers], false, counts.ours, (at) =>
    publish(product.url, popular.author, `popular-${at}`),
  )
  const publisher = makeFanOutPublisher(fanOut.url)
  const peers = await costOf([fanOut.pid], true, counts.peers, (at) =>
    publisher.publish(popular.author, String(PEER_IDS + BigInt(at + 1)), 'a new post'),
  )
  publisher.close()
  const followers = popular.followers.length
  const of = (name: string, { ms, cpuMs }: Cost): Measure[] => [
    { metric: `a post for ${followers} followers, ${name}: median`, value: middleOf(ms), unit: 'ms' },
    { metric: `a post for ${followers} followers, ${name}: CPU, servers included`, value: cpuMs, unit: 'ms' },
  ]
  return [
    ...of('distributed', ours),
    ...of('fan-out', peers),
    {
      metric: `fan-out : distributed, a post for ${followers} followers, time`,
      value: middleOf(peers.ms) / middleOf(ours.ms),
      unit: 'ratio',
    },
    { metric: `fan-out : distributed, a post for ${followers} followers, CPU`, value: peers.cpuMs / ours.cpuMs, unit: 'ratio' },
  ]
}

function middleOf(sorted: readonly number[]): number {
  return sorted[sorted.length >> 1] ?? Number.NaN
}
