/**
 * Both shapes of Tidemark behind one handle, for rules of marks that hold on either. Real processes run on their own stores. They can be
 * killed and restarted with other `thumbup` settings, and their stores can be read.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { startDeployment } from '../deployment/deployment.ts'
import { makeServiceFolder, startService, type Service } from '../deployment/service.ts'

export type MarkShape = {
  name: 'embedded' | 'distributed'
  /** The addresses of the API and of the job's metrics. */
  url(): string
  job(): string
  /** kill -9 of every process of Tidemark, in the middle of their work. */
  kill(): Promise<void>
  start(thumbup: object): Promise<void>
  /** The stores, opened beside the running processes. */
  withStores<T>(task: (stores: OpenStores) => Promise<T>): Promise<T>
  remove(): Promise<void>
}

export const SHAPES = { embedded: startEmbedded, distributed: startDistributed } as const

const silent = { debug() {}, info() {}, warn() {}, error() {} }

async function startEmbedded(thumbup: object): Promise<MarkShape> {
  const { folder, remove } = makeServiceFolder()
  const config = makeConfig([{ name: 'shape', values: { stores: { data: join(folder, 'data') } } }])
  let service: Service = await startService({ folder, settings: { thumbup } })
  return {
    name: 'embedded',
    url: () => service.url,
    job: () => service.url,
    kill: () => service.kill(),
    async start(changed) {
      service = await startService({ folder, settings: { thumbup: changed } })
    },
    withStores: (task) => using(() => openStores(config, systemClock, silent), task),
    async remove() {
      await service.kill()
      remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startDistributed(thumbup: object): Promise<MarkShape> {
  const settings = { thumbup: { ...thumbup } }
  const deployment = await startDeployment({ jobs: 0, markJobs: 1, settings })
  const [[gateway], [job]] = [deployment.gateways, deployment.markJobs]
  if (gateway === undefined || job === undefined) throw new Error('a deployment has a gateway and a job')
  return {
    name: 'distributed',
    url: () => gateway.url,
    job: () => job.url,
    async kill() {
      await Promise.all([gateway.kill(), job.kill()])
    },
    async start(changed) {
      // Roles write their settings down when they start.
      for (const key of Object.keys(settings.thumbup)) delete (settings.thumbup as Record<string, unknown>)[key]
      Object.assign(settings.thumbup, changed)
      await Promise.all([gateway.start(), job.start()])
    },
    withStores: (task) => using(deployment.openStores, task),
    remove: deployment.remove,
  }
}

async function using<T>(open: () => Promise<OpenStores>, task: (stores: OpenStores) => Promise<T>): Promise<T> {
  const stores = await open()
  try {
    return await task(stores)
  } finally {
    await stores.close()
  }
}

/** The hot store and the count cache forget a business, so that the next reads come from the record store. */
export async function forgetHot({ marks }: OpenStores, business: number): Promise<void> {
  if ((await marks.hot.countDirtyMarks()) > 0) throw new Error('some marks are not persisted yet: forgetting them would lose them')
  while ((await marks.hot.forgetBusiness(business, 1_000)) > 0);
  while ((await marks.cache.forgetCounts(business, 1_000)) > 0);
}
