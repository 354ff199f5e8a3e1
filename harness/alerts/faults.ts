/** The faults of a drill, each with the alerts that it must cause. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { createConnection } from 'mysql2/promise'
import type { OwnServerName } from '../deployment/own-servers.ts'
import type { Role } from '../deployment/role.ts'
import {
  WITH_BUSY_PROCESS,
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
import type { Site } from './site.ts'

/** Per chunk of bytes, above the limits of the alert. */
const SLOW_MS = 1_500
/** A process gets an eighth of its time. Its metrics still arrive between two stops, and several stops are between two scrapes. */
const BUSY_MS = { stopped: 700, running: 100 }

export function faultsOf(site: Site): Record<string, DrillFault> {
  const { deployment, cache, manifests } = site
  const { servers, links } = deployment
  const killed = (name: OwnServerName, companions: Companions, ...alerts: string[]): DrillFault => ({
    name: `${name} is killed`,
    alerts,
    companions,
    inject: () => servers[name].kill(),
    repair: () => servers[name].start(),
  })
  const ofLinks = (name: OwnServerName) => links.filter(({ server }) => server === name).map(({ proxy }) => proxy)
  const roleDown = (role: Role | undefined, what: string, ...alerts: string[]): DrillFault => ({
    name: `${what} is killed`,
    alerts,
    inject: () => role?.kill(),
    repair: () => role?.start(),
  })
  return {
    gateway: roleDown(deployment.gateways[1], 'a gateway', 'TidemarkProcessDown'),
    job: roleDown(deployment.markJobs[0], 'the job of likes', 'TidemarkProcessDown', 'TidemarkJobMissing'),
    whole: roleDown(deployment.whole[0], 'the process with all jobs', 'TidemarkProcessDown', 'TidemarkJobMissing'),
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
    busy: busyProcess(deployment.gateways[0]),
    restarts: {
      name: 'a job ends again and again',
      alerts: ['TidemarkProcessRestarts'],
      companions: { TidemarkProcessDown: 'a start takes as long as two scrapes' },
      async inject() {
        for (let time = 0; time < 3; time++) {
          await deployment.feedJobs[0]?.kill()
          await deployment.feedJobs[0]?.start()
          // Prometheus must see each start.
          await sleep(2_500)
        }
      },
      repair: () => undefined,
    },
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

/** The system gives the process too little of a core, as on a machine with too many of them. */
function busyProcess(role: Role | undefined): DrillFault {
  let ended: Promise<void> | undefined
  let isRepaired = false
  const signal = (kind: NodeJS.Signals): void => {
    const pid = role?.pid()
    if (pid !== undefined) process.kill(pid, kind)
  }
  async function starve(): Promise<void> {
    while (!isRepaired) {
      signal('SIGSTOP')
      await sleep(BUSY_MS.stopped)
      signal('SIGCONT')
      await sleep(BUSY_MS.running)
    }
  }
  return {
    name: 'a gateway gets an eighth of its time',
    alerts: ['TidemarkProcessBusy'],
    companions: WITH_BUSY_PROCESS,
    inject() {
      ended = starve()
    },
    async repair() {
      isRepaired = true
      await ended
    },
  }
}

function garbageMessage({ deployment }: Site): DrillFault {
  return {
    name: 'a foreign program writes to a topic',
    alerts: ['TidemarkMessagesParked'],
    async inject() {
      const kafka = deployment.config.stores.kafka
      const producer = new Kafka({ brokers: [...(kafka?.brokers ?? [])], logLevel: logLevel.NOTHING }).producer()
      await producer.connect()
      await producer.send({ topic: `${kafka?.topicPrefix}.flushes`, messages: [{ value: 'no flush', partition: 0 }] })
      await producer.disconnect()
    },
    repair: () => undefined,
  }
}

function wrongCount({ deployment }: Site): DrillFault {
  return {
    name: 'a count is changed by hand',
    alerts: ['TidemarkCountsDrift'],
    async inject() {
      const { port } = deployment.servers.mariadb
      const database = await createConnection(`mysql://tidemark:tidemark@127.0.0.1:${port}/tidemark`)
      await database.query('UPDATE counts SET likes = likes + 1000 WHERE business = 1 LIMIT 5')
      await database.end()
    },
    repair: () => undefined,
  }
}
