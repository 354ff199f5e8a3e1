/**
 * The deployment of a drill: two gateways and all jobs, proxies, one node of the cache, and the subgraph of a partner. Intervals fit the speed
 * of the rules. A small one has one gateway, one process with another gateway and all jobs, and no partner.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDeployment, type Deployment } from '../deployment/deployment.ts'
import { startMemcachedNodes, type MemcachedNodes } from '../deployment/memcached-nodes.ts'
import { startPartner, type Partner } from './partner.ts'

export type Site = {
  deployment: Deployment
  cache: MemcachedNodes
  /** A folder of manifests that the gateways watch. */
  manifests: string
  /** Undefined in a small site. */
  partner: Partner | undefined
  remove(): Promise<void>
}

const QUICK = { flushAgeMaxMs: 500, sweepAfterMs: 6_000, sweepEveryMs: 1_000 }
/** A viewer with more plays in an hour gets a filter at once. A viewer of the load has fewer. */
export const STAGED_MAX = 80
/** The servers of a drill have one copy each, as on a machine of a developer. */
const ALLOWED = ['kafka-one-copy', 'redis-no-maxmemory', 'mysql-binlog']

const ROLES = { gateways: 2, jobs: 1, markJobs: 1, seenJobs: 1, feedJobs: 1 }
const SMALL = { gateways: 1, whole: 1, jobs: 0 }

export async function startSite({ isSmall = false } = {}): Promise<Site> {
  const manifests = mkdtempSync(join(tmpdir(), 'tidemark-manifests-'))
  const cache = await startMemcachedNodes([['--memory-limit=64']])
  const partner = isSmall ? undefined : await startPartner()
  const remove = async (): Promise<void> => {
    await partner?.remove()
    await cache.stop()
    rmSync(manifests, { recursive: true, force: true })
  }
  try {
    const deployment = await startDeployment({
      ...(isSmall ? SMALL : ROLES),
      proxies: true,
      settings: {
        ...(partner !== undefined && { server: { supergraph: partner.supergraph } }),
        history: QUICK,
        existence: { stagedMax: STAGED_MAX },
        feed: { ...QUICK, countsWindowMs: 500 },
        thumbup: { ...QUICK, windowMs: 500 },
        cache: { layout: { main: cache.nodes.map(({ address }) => address) } },
        persisted: { manifests: [manifests], watchEveryMs: 500 },
        stores: { regions: 24, allow: ALLOWED },
      },
    })
    return {
      deployment,
      cache,
      manifests,
      partner,
      async remove() {
        await deployment.remove()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}
