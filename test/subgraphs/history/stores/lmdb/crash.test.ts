import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../../../subgraphs/history/stores/lmdb/hot-store.ts'
import type { HotStore } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { BASE, VIEWERS, callOf } from './crash-writer.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

const WRITER = new URL('crash-writer.ts', import.meta.url).pathname
const LIMITED_WRITER = new URL('limited-writer.ts', import.meta.url).pathname
const REGIONS = [...Array(100).keys()]

type Writer = { process: ChildProcess; acknowledged: number[]; errors: string[] }

function startWriter(folder: string, first: number, step: number): Writer {
  const process_ = spawn(process.execPath, [WRITER, folder, String(first), String(step)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const writer: Writer = { process: process_, acknowledged: [], errors: [] }
  createInterface({ input: process_.stdout }).on('line', (line) => writer.acknowledged.push(Number(line)))
  createInterface({ input: process_.stderr }).on('line', (line) => writer.errors.push(line))
  return writer
}

async function killAfter(writer: Writer, acknowledgements: number): Promise<void> {
  const deadline = Date.now() + 20_000
  while (writer.acknowledged.length < acknowledgements && writer.process.exitCode === null && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const closed = once(writer.process, 'close')
  writer.process.kill('SIGKILL')
  await closed
  expect(writer.errors).toEqual([])
  expect(writer.acknowledged.length).toBeGreaterThanOrEqual(acknowledgements)
}

/** Returns the stored calls. Fails if a call is stored in part. */
async function readCalls(store: HotStore): Promise<Set<number>> {
  const counts = new Map<number, number>()
  const oids = new Set<string>()
  for (let viewer = 1; viewer <= VIEWERS; viewer++) {
    const { entries } = await store.listTimeline(String(viewer), [1], undefined, 1_000_000)
    for (const { oid, record } of entries) {
      const call = Number(oid.split('-')[0])
      counts.set(call, (counts.get(call) ?? 0) + 1)
      oids.add(`${viewer}:${oid}`)
      expect(record).toMatchObject({ viewedAt: BASE + call, position: call, device: 'd'.repeat(call % 60) })
    }
  }
  for (const [call, count] of counts) expect(count).toBe(callOf(call).length)
  const dirty = await store.listDirty(REGIONS, Number.MAX_SAFE_INTEGER, 1_000_000)
  expect(dirty.length).toBe(oids.size)
  expect(dirty.every((key) => oids.has(`${key.viewer}:${key.oid}`))).toBe(true)
  return new Set(counts.keys())
}

describe('a process that dies or meets a full disk', () => {
  let folder = makeFolder()
  beforeEach(() => {
    folder.remove()
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('by kill -9 while writing keeps every acknowledged call and stores no partial call', async () => {
    const acknowledged = new Set<number>()
    let first = 1
    for (const enough of [1, 7, 40, 90, 20, 3]) {
      const writers = [startWriter(folder.path, first, 2), startWriter(folder.path, first + 1, 2)]
      await Promise.all(writers.map((writer, index) => killAfter(writer, enough + index)))
      for (const writer of writers) for (const call of writer.acknowledged) acknowledged.add(call)

      const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
      const calls = await readCalls(openLmdbHotStore(environment))
      await environment.close()
      expect([...acknowledged].filter((call) => !calls.has(call))).toEqual([])
      first = Math.max(...calls, ...acknowledged) + 100
    }
    expect(acknowledged.size).toBeGreaterThan(150)
  })

  it.skipIf(process.platform === 'win32')('by a full disk reports it, lives on, and stores no partial call', async () => {
    const script = `trap '' XFSZ; ulimit -f 2000; exec "$0" "$@"`
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, LIMITED_WRITER, folder.path])
    const told: { acknowledged: number[]; codes: string[]; reads: number } = JSON.parse(stdout)
    expect(['STORE_FULL', 'HOT_STORE_UNAVAILABLE']).toEqual(expect.arrayContaining(told.codes))
    expect(told.codes).toHaveLength(1)
    expect(told.reads).toBe(10)

    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const store = openLmdbHotStore(environment)
    const calls = await readCalls(store)
    expect(told.acknowledged.filter((call) => !calls.has(call))).toEqual([])
    const next = Math.max(...calls) + 1
    await store.putProgress(callOf(next), { now: BASE + next, timelineCap: 1_000_000 })
    expect((await readCalls(store)).has(next)).toBe(true)
    await environment.close()
  })
})
