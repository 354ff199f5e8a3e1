/** The two shapes for `plays-at-once`: permanent servers and folders, and processes of any checkout that use them. */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { runningPid } from '../../../scripts/servers/processes.ts'
import { startDeployment, waitUntilConverged } from '../../../harness/deployment/deployment.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'
import { makeRole, metricsOf, type Role } from '../../../harness/deployment/role.ts'
import { makeServiceFolder } from '../../../harness/deployment/service.ts'

const QUIET_MAX_MS = 120_000

/** `pids`: process ids by name, for the figures. `quiet` resolves when everything is persisted. */
export type Served = { url: string; pids: Record<string, number>; quiet(): Promise<unknown>; stop(): Promise<unknown> }
export type Shape = { serve(checkout: string): Promise<Served>; remove(): Promise<void> }

export async function openEmbedded(history: object): Promise<Shape> {
  const folders: { remove(): void }[] = []
  return {
    async serve(checkout) {
      const { folder, remove } = makeServiceFolder()
      folders.push({ remove })
      const [port = 0] = await freePorts(1)
      const settings = { history, stores: { data: join(folder, 'data') } }
      const role = makeRole({ name: 'start', command: ['start'], port, folder, settings, checkout })
      await role.start()
      return {
        url: role.url,
        pids: { Tidemark: pidOf(role) },
        quiet: () => persisted(role),
        stop: () => role.stop(),
      }
    },
    async remove() {
      for (const { remove } of folders) remove()
    },
  }
}

export async function openDistributed(history: object): Promise<Shape> {
  const { servers, remove } = await startDeployment({ gateways: 0, jobs: 0 })
  const serverPids = { Redis: serverPid('redis'), MariaDB: serverPid('mariadb'), Kafka: serverPid('kafka') }

  function serverPid(name: string): number {
    return runningPid(join(servers.folder, name)) as number
  }

  function roleOf(command: string[], port: number, checkout: string): Role {
    const name = command.join('-')
    const stores = {
      data: join(servers.folder, name, 'data'),
      redis: { urls: [`redis://127.0.0.1:${servers.redis.port}`] },
      kafka: { brokers: [`127.0.0.1:${servers.kafka.port}`] },
      mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${servers.mariadb.port}/tidemark` },
    }
    return makeRole({ name, command, port, folder: join(servers.folder, name), settings: { history, stores }, checkout })
  }

  return {
    async serve(checkout) {
      const [gatewayPort = 0, jobPort = 0] = await freePorts(2)
      const gateway = roleOf(['gateway'], gatewayPort, checkout)
      const job = roleOf(['job', 'history'], jobPort, checkout)
      await Promise.all([gateway.start(), job.start()])
      return {
        url: gateway.url,
        pids: { gateway: pidOf(gateway), job: pidOf(job), ...serverPids },
        quiet: () => waitUntilConverged({ gateways: [gateway], jobs: [job] }, QUIET_MAX_MS),
        stop: () => Promise.all([gateway.stop(), job.stop()]),
      }
    },
    remove,
  }
}

async function persisted(role: Role): Promise<void> {
  for (const end = Date.now() + QUIET_MAX_MS; (await metricsOf(role))?.get('tidemark_dirty_keys') !== 0; await wait(100)) {
    if (Date.now() > end) throw new Error(`the write-back did not finish within ${QUIET_MAX_MS} ms`)
  }
}

function pidOf(role: Role): number {
  return role.pid() as number
}
