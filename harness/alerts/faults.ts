/** The faults of a drill, each with the alerts that it must cause. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { OwnServerName } from '../deployment/own-servers.ts'
import type { Role } from '../deployment/role.ts'
import {
  WITH_FROZEN_MARIADB,
  WITH_FULL_REDIS,
  WITH_SLOW_MARIADB,
  WITH_SLOW_REDIS,
  WITHOUT_BOTH,
  WITHOUT_KAFKA,
  WITHOUT_MARIADB,
  WITHOUT_REDIS,
} from './companions.ts'
import type { Companions, DrillFault } from './drill.ts'
import { busyProcess, lateClock, restarts } from './process-faults.ts'
import { slowReads } from './slow-reads.ts'
import type { Site } from './site.ts'
import { damagedFilter, damagedOwner, garbageMessage, invalidVersion, wrongCount } from './stored-faults.ts'

/** Per chunk of bytes, above the limits of the alert. */
const SLOW_MS = 1_500

export function faultsOf(site: Site): Record<string, DrillFault> {
  const { deployment, cache, manifests, partner } = site
  const killed = (role: Role | undefined, what: string, ...alerts: string[]): DrillFault => ({
    name: `${what} is killed`,
    alerts,
    inject: () => role?.kill(),
    repair: () => role?.start(),
  })
  return {
    gateway: killed(deployment.gateways[1], 'a gateway', 'TidemarkProcessDown'),
    job: killed(deployment.markJobs[0], 'the job of likes', 'TidemarkProcessDown', 'TidemarkJobMissing'),
    whole: killed(deployment.whole[0], 'the process with all jobs', 'TidemarkProcessDown', 'TidemarkJobMissing'),
    ...serverFaults(site),
    busy: busyProcess(deployment.gateways[0]),
    restarts: restarts(deployment.feedJobs[0]),
    cacheNode: {
      name: 'a node of the cache is killed',
      alerts: ['TidemarkCacheNodeDown'],
      companions: { TidemarkStoreFindings: 'the check of the stores finds the missing node' },
      inject: () => cache.nodes[0]?.kill(),
      repair: () => cache.nodes[0]?.start(),
    },
    manifest: {
      name: 'a manifest is not JSON',
      alerts: ['TidemarkManifestsBroken'],
      inject: () => writeFileSync(join(manifests, 'broken.json'), '{'),
      repair: () => rmSync(join(manifests, 'broken.json')),
    },
    parked: garbageMessage(site),
    drift: wrongCount(site),
    finding: {
      name: 'redis is set to lose writes (appendfsync no)',
      alerts: ['TidemarkStoreFindings'],
      inject: () => configureRedis(site, 'appendfsync', 'no'),
      repair: () => configureRedis(site, 'appendfsync', 'always'),
    },
    version: invalidVersion(site),
    filter: damagedFilter(site),
    recount: damagedOwner(site),
    folds: lateClock(deployment.seenJobs[0]),
    ...partnerFaults(partner),
    reads: slowReads(site),
  }
}

function serverFaults(site: Site): Record<string, DrillFault> {
  const { servers, links } = site.deployment
  const killed = (name: OwnServerName, companions: Companions, ...alerts: string[]): DrillFault => ({
    name: `${name} is killed`,
    alerts,
    companions,
    inject: () => servers[name].kill(),
    repair: () => servers[name].start(),
  })
  const ofLinks = (name: OwnServerName) => links.filter(({ server }) => server === name).map(({ proxy }) => proxy)
  return {
    redis: killed('redis', WITHOUT_REDIS, 'TidemarkStoreDown', 'TidemarkStoreCallsFail'),
    kafka: killed('kafka', WITHOUT_KAFKA, 'TidemarkStoreDown'),
    mariadb: killed('mariadb', WITHOUT_MARIADB, 'TidemarkStoreDown', 'TidemarkStoreCallsFail'),
    cutRedis: {
      name: 'the network to redis is silent',
      alerts: ['TidemarkStoreDown'],
      companions: WITHOUT_REDIS,
      inject: () => ofLinks('redis').forEach((proxy) => proxy.cut('silent')),
      repair: () => ofLinks('redis').forEach((proxy) => proxy.mend()),
    },
    slowMariadb: {
      name: `mariadb answers ${SLOW_MS} ms late`,
      alerts: ['TidemarkStoreSlow'],
      companions: WITH_SLOW_MARIADB,
      inject: () => ofLinks('mariadb').forEach((proxy) => proxy.slow(SLOW_MS)),
      repair: () => ofLinks('mariadb').forEach((proxy) => proxy.slow(0)),
    },
    slowRedis: {
      name: 'redis answers 600 ms late',
      alerts: ['TidemarkStoreSlow', 'TidemarkLatencyBudgetBurn'],
      companions: WITH_SLOW_REDIS,
      inject: () => ofLinks('redis').forEach((proxy) => proxy.slow(600)),
      repair: () => ofLinks('redis').forEach((proxy) => proxy.slow(0)),
    },
    frozenMariadb: {
      name: 'mariadb hangs',
      alerts: ['TidemarkLogBehind', 'TidemarkWritesNotPersisted'],
      companions: WITH_FROZEN_MARIADB,
      inject: () => servers.mariadb.freeze(),
      repair: () => servers.mariadb.thaw(),
    },
    fullRedis: fullRedis(site),
    bothDown: {
      name: 'redis and mariadb are killed',
      alerts: ['TidemarkErrorBudgetBurn', 'TidemarkConfigRefused'],
      companions: WITHOUT_BOTH,
      inject: async () => void (await Promise.all([servers.redis.kill(), servers.mariadb.kill()])),
      repair: async () => void (await Promise.all([servers.redis.start(), servers.mariadb.start()])),
    },
  }
}

function partnerFaults(partner: Site['partner']): Record<string, DrillFault> {
  return {
    graph: {
      name: 'a changed schema of a subgraph is not GraphQL',
      alerts: ['TidemarkGraphNotReloaded'],
      inject: () => partner?.damageSchema(),
      repair: () => partner?.restoreSchema(),
    },
    subgraph: {
      name: 'a remote subgraph is killed',
      alerts: ['TidemarkSubgraphFailing'],
      companions: { TidemarkErrorBudgetBurn: 'an operation with a field of the subgraph has an error' },
      inject: () => partner?.kill(),
      repair: () => partner?.start(),
    },
  }
}

function fullRedis(site: Site): DrillFault {
  return {
    name: 'redis is full',
    alerts: ['TidemarkStoreFull', 'TidemarkJournalWaiting'],
    companions: WITH_FULL_REDIS,
    async inject() {
      await configureRedis(site, 'maxmemory-policy', 'noeviction')
      await configureRedis(site, 'maxmemory', '1')
    },
    repair: () => configureRedis(site, 'maxmemory', '0'),
  }
}

async function configureRedis({ deployment }: Site, name: string, value: string): Promise<void> {
  const redis = new Redis(deployment.servers.redis.port)
  try {
    await redis.config('SET', name, value)
  } finally {
    redis.disconnect()
  }
}
