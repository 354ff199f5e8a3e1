/** `tidemark subgraph NAME`: one subgraph alone, on Apollo Server, with its job, on the embedded stores. */
import closeWithGrace from 'close-with-grace'
import { pino } from 'pino'
import { systemClock } from '../core/clock.ts'
import { makeDrain } from '../core/drain.ts'
import { TidemarkError } from '../core/errors.ts'
import { makeIdentify } from '../gateway/viewer.ts'
import { makeLoaders } from '../loaders/index.ts'
import { lockDataFolder } from '../stores/lmdb/lock.ts'
import { openStores } from '../stores/open.ts'
import { makeHistorySubgraph } from '../subgraphs/history/index.ts'
import { startStandalone } from '../subgraphs/standalone.ts'
import { readSettings, type Flags } from './settings.ts'

export async function subgraph(name: string, flags: Flags): Promise<void> {
  if (name !== 'history') throw new TidemarkError('CONFIG_INVALID', `there is no subgraph "${name}": say history`)
  const config = readSettings(flags)
  const { host, port, mode, drainMaxMs } = config.server
  const log = pino({ level: 'info', base: null }, pino.destination({ dest: 2, sync: true }))
  const report = (err: unknown) => log.error({ err }, 'something failed in the background or by a bug')
  const unlock = await lockDataFolder(config.stores.data)
  const stores = await openStores(config, systemClock)
  const history = makeHistorySubgraph(systemClock, stores, config, report)
  const job = await history.startJob()
  const identify = makeIdentify(config.auth, mode)
  const makeRequestLoaders = makeLoaders(stores.hot, stores.records)
  const server = await startStandalone(
    history.schema,
    async (headers) => ({ viewer: await identify(headers), loaders: makeRequestLoaders() }),
    { host, port, production: mode === 'production' },
    report,
  )
  const drain = makeDrain(
    systemClock,
    [
      { name: 'requests', run: () => server.stop() },
      { name: 'flush', run: () => history.drain() },
      { name: 'job', run: () => job.stop() },
      { name: 'stores', run: () => stores.close() },
      { name: 'lock', run: unlock },
    ],
    { maxMs: drainMaxMs },
    (step, err) => log.error({ err, step }, 'a step of the shutdown failed'),
  )
  closeWithGrace({ delay: drainMaxMs + 1_000, logger: false }, async ({ err }) => {
    if (err) log.fatal({ err }, 'a bug ends this process')
    await drain()
  })
  console.log(`The history subgraph is ready: ${server.url}`)
}
