/** The record store is too slow for its readers: Redis is down, so all reads go to MariaDB, which answers late. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../deployment/service.ts'
import { WITH_SLOW_MARIADB, WITHOUT_BOTH } from './companions.ts'
import type { DrillFault } from './drill.ts'
import type { Site } from './site.ts'

const HISTORY = '{ viewerHistory(first: 10) { edges { node { id } } } }'
/** Per chunk of bytes. A connection still opens within its time limit. */
const LATE_MS = 1_000
/** Viewers who read one page after another, at one gateway. */
const READERS = 20

export function slowReads({ deployment }: Site): DrillFault {
  const proxies = deployment.links.filter(({ server }) => server === 'mariadb').map(({ proxy }) => proxy)
  let isRepaired = false
  let reading: Promise<unknown> | undefined

  async function read(viewer: string): Promise<void> {
    while (!isRepaired) {
      await ask(deployment.gateways[0]?.url ?? '', viewer, HISTORY).catch(() => undefined)
      // An answer that needs no store comes at once.
      await sleep(50)
    }
  }

  return {
    name: `redis is killed, and mariadb answers ${LATE_MS} ms late`,
    alerts: ['TidemarkReadsRefused'],
    companions: { ...WITHOUT_BOTH, ...WITH_SLOW_MARIADB, TidemarkStoreSlow: 'calls of MariaDB are late' },
    async inject() {
      for (const proxy of proxies) proxy.slow(LATE_MS)
      await deployment.servers.redis.kill()
      reading = Promise.all(Array.from({ length: READERS }, (_, at) => read(String(1 + at))))
    },
    async repair() {
      isRepaired = true
      for (const proxy of proxies) proxy.slow(0)
      await deployment.servers.redis.start()
      await reading
    },
  }
}
