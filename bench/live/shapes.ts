/** The two shapes with four processes each, as the benchmark uses them: their addresses, the command of an operator, and the source of versions. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openVersionFolder } from '../../cli/process/live-folder.ts'
import { LIVE_NAME } from '../../config/live/live.ts'
import type { LiveSetting } from '../../config/live/live-setting.ts'
import { systemClock } from '../../core/clock.ts'
import type { LiveSource } from '../../core/live-value.ts'
import { runCommand, type Ended } from '../../harness/deployment/command.ts'
import { startDeployment } from '../../harness/deployment/deployment.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { openRedisValue } from '../../stores/redis/live-value.ts'

export type Shape = {
  /** Each `/metrics`. The workers of the embedded shape share one, which asks all of them. */
  metrics: readonly string[]
  /** The addresses of the API. */
  apis: readonly string[]
  /** Processes that answer the API. Workers answer in turn. */
  serving: number
  /** `tidemark config …` */
  config(...args: string[]): Promise<Ended>
  /** Writes a file for the command. Returns its name. */
  write(name: string, document: unknown): string
  /** The source of versions, which accepts any document: as another program would write it. */
  withSource<A>(use: (source: LiveSource<unknown>) => Promise<A>): Promise<A>
  remove(): Promise<void>
}

const PROCESSES = 4
const UNCHECKED: LiveSetting<unknown> = { name: LIVE_NAME, parse: (document) => document }

export async function startEmbedded(): Promise<Shape> {
  const { folder, remove } = makeServiceFolder()
  const running = await startService({ folder, workers: PROCESSES })
  return {
    metrics: [running.url.replace('/graphql', '/metrics')],
    apis: [running.url],
    serving: PROCESSES,
    config: (...args) => runCommand(folder, ['config', ...args, '--config', 'tidemark.yaml', '--data', 'data']),
    write: writerTo(folder),
    withSource: (use) => use(openVersionFolder(UNCHECKED, join(folder, 'data', 'live'), systemClock)),
    async remove() {
      await running.stop()
      remove()
    },
  }
}

/** Two gateways, a job, and the history subgraph alone. */
export async function startDistributed(): Promise<Shape> {
  const deployment = await startDeployment({ gateways: 2, jobs: 1, subgraphs: PROCESSES - 3 })
  const { folder } = deployment.servers
  return {
    metrics: deployment.roles.map(({ metricsUrl }) => metricsUrl),
    apis: deployment.gateways.map(({ url }) => url),
    serving: deployment.gateways.length,
    config: (...args) => runCommand(folder, ['config', ...args, '--config', join('gateway-1', 'tidemark.yaml')]),
    write: writerTo(folder),
    async withSource(use) {
      const source = openRedisValue(UNCHECKED, deployment.config.stores.redis as NonNullable<typeof deployment.config.stores.redis>)
      try {
        return await use(source)
      } finally {
        source.close()
      }
    },
    remove: deployment.remove,
  }
}

function writerTo(folder: string): Shape['write'] {
  return (name, document) => {
    writeFileSync(join(folder, name), JSON.stringify(document))
    return name
  }
}
