/** Redis killed, stopped and restarted under a history subgraph in use. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Degraded } from '../../core/outage/degraded.ts'
import { redisIsHere, startRedis, type TestServers } from '../../harness/deployment/redis-servers.ts'
import { makeDataFolder, type Folder } from '../subgraphs/switched-stores.ts'
import { openHistoryOnRedis, readPage, type HistoryOnRedis } from './history-on-redis.ts'
import { until } from '../../harness/until.ts'

const PROCESS = new URL('journaling-process.ts', import.meta.url).pathname

type Load = { acknowledged: Map<string, number>; answered: number; degraded: number; slowestMs: number; errors: unknown[] }

/** Viewers who repeatedly report one subject each, look it up and read their page, until `stop` is called. */
function startLoad(history: HistoryOnRedis, viewers: number) {
  const load: Load = { acknowledged: new Map(), answered: 0, degraded: 0, slowestMs: 0, errors: [] }
  let running = true
  async function viewer(id: string): Promise<void> {
    for (let position = 10_000; running; position++) {
      const degraded: Degraded = new Set()
      const startedAt = performance.now()
      try {
        const [answer] = await history.service.report({ id, scopes: [] }, [{ business: 'video', id: '1', position }], degraded)
        if (answer?.outcome === 'ACCEPTED') load.acknowledged.set(id, position)
        await history.makeLoaders(degraded).progress.load({ viewer: id, business: 1, oid: '1' })
        await readPage(history, id, degraded)
        load.answered += 3
      } catch (error) {
        load.errors.push(error)
      }
      if (degraded.size > 0) load.degraded++
      load.slowestMs = Math.max(load.slowestMs, performance.now() - startedAt)
      await sleep(5)
    }
  }
  const all = Promise.all(Array.from({ length: viewers }, (_, index) => viewer(String(index + 1))))
  return {
    load,
    async stop(): Promise<Load> {
      running = false
      await all
      return load
    },
  }
}

describe.skipIf(!(await redisIsHere()))('when Redis', () => {
  let servers: TestServers
  let folder: Folder
  let port: number
  beforeEach(async () => {
    servers = await startRedis()
    port = servers.ports[0] as number
    folder = makeDataFolder()
  })
  afterEach(async () => {
    await servers.stop()
    folder.remove()
  })

  async function expectInPlace(history: HistoryOnRedis, { acknowledged }: Load): Promise<void> {
    await until('the journal is empty', async () => (await history.journals.own.count()).waiting === 0)
    const keys = [...acknowledged.keys()].map((viewer) => ({ viewer, business: 1, oid: '1' }))
    const hot = await history.hot.getProgressMany(keys)
    expect(hot.map((lookup) => lookup.record?.position)).toEqual([...acknowledged.values()])
    await until('everything is persisted', async () => (await history.hot.countDirty()) === 0)
    const rows = await history.records.getProgressMany(keys)
    expect(rows.map((row) => row?.position)).toEqual([...acknowledged.values()])
    expect(history.figures().journal.parked).toBe(0)
  }

  it('is killed under load and started seconds later, no call fails, and every report is stored', async () => {
    const history = await openHistoryOnRedis(servers.urls, folder.path)
    const running = startLoad(history, 20)
    await sleep(1_000)
    await servers.kill(port)
    await sleep(4_000)
    const duringOutage = history.figures()
    await servers.start()
    await sleep(1_500)
    const load = await running.stop()
    expect(load.errors).toEqual([])
    expect(duringOutage.outages.hotStore.isDown).toBe(true)
    expect(duringOutage.journal.journaled).toBeGreaterThan(10)
    expect(load.degraded).toBeGreaterThan(10)
    await expectInPlace(history, load)
    const { journal } = history.figures()
    expect(journal.replayed).toBe(journal.journaled)
    console.log(
      `killed for 4 s: ${load.answered} requests answered, ${load.errors.length} errors, slowest round ${Math.round(load.slowestMs)} ms, ` +
        `${journal.journaled} calls journaled and replayed`,
    )
    await history.stop()
  })

  it('hangs under load and continues, no call fails, and every report is stored', async () => {
    const history = await openHistoryOnRedis(servers.urls, folder.path)
    const running = startLoad(history, 10)
    await sleep(500)
    servers.signal(port, 'SIGSTOP')
    await sleep(3_000)
    servers.signal(port, 'SIGCONT')
    await sleep(1_500)
    const load = await running.stop()
    expect(load.errors).toEqual([])
    expect(load.degraded).toBeGreaterThan(10)
    await expectInPlace(history, load)
    await history.stop()
  })

  it('is down, and the journaling process is killed, the next process stores every report', async () => {
    await servers.kill(port)
    const writer = spawn(process.execPath, [PROCESS, folder.path, servers.urls[0] as string], { stdio: ['ignore', 'pipe', 'inherit'] })
    const acknowledged: number[] = []
    createInterface({ input: writer.stdout }).on('line', (line) => {
      acknowledged.push(Number(line))
      if (acknowledged.length === 300) writer.kill('SIGKILL')
    })
    await once(writer, 'close')
    await servers.start()
    const history = await openHistoryOnRedis(servers.urls, folder.path)
    await until('the journal is empty', async () => (await history.journals.own.count()).waiting === 0)
    await until('everything is persisted', async () => (await history.hot.countDirty()) === 0)
    const keys = acknowledged.map((position) => ({ viewer: String(1 + (position % 10)), business: 1, oid: String(position) }))
    const rows = await history.records.getProgressMany(keys)
    expect(rows.map((row) => row?.position)).toEqual(acknowledged.map((position) => 10_000 + position))
    expect(acknowledged.length).toBeGreaterThanOrEqual(300)
    await history.stop()
  })

  it('is down when a process starts, the process serves from the first request on', async () => {
    await servers.kill(port)
    const history = await openHistoryOnRedis(servers.urls, folder.path)
    const degraded: Degraded = new Set()
    const viewer = { id: '7', scopes: [] }
    const [answer] = await history.service.report(viewer, [{ business: 'video', id: '1', position: 60_000 }], degraded)
    expect(answer?.outcome).toBe('ACCEPTED')
    await history.service.clearHistory(viewer, 'comic', degraded)
    expect(await readPage(history, '7', degraded)).toEqual([])
    expect([...degraded]).toEqual(['hotStore'])
    await servers.start()
    await until('it is there', async () => (await readPage(history, '7', new Set())).length === 1)
    await history.stop()
  })
})
