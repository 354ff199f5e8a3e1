/** The mark store after its processes are killed: every acknowledged call is there completely, and its indexes agree. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkStore } from '../../../../../subgraphs/thumbup/stores/lmdb/hot-store.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { purgeAll } from '../../../../contracts/thumbup/marks.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'
import { PUT_VIEWERS, putsOf } from './crash-calls.ts'

const WRITER = new URL('mark-crash-writer.ts', import.meta.url).pathname
const REGIONS = [...Array(100).keys()]

/** The acknowledged calls, negative ones for cleared calls. */
type Writer = { process: ChildProcess; lines: number[]; errors: string[] }

function startWriter(folder: string, first: number, step: number): Writer {
  const process_ = spawn(process.execPath, [WRITER, folder, String(first), String(step)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const writer: Writer = { process: process_, lines: [], errors: [] }
  createInterface({ input: process_.stdout }).on('line', (line) => writer.lines.push(Number(line)))
  createInterface({ input: process_.stderr }).on('line', (line) => writer.errors.push(line))
  return writer
}

async function killAfter(writer: Writer, lines: number): Promise<void> {
  const deadline = Date.now() + 20_000
  while (writer.lines.length < lines && writer.process.exitCode === null && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const closed = once(writer.process, 'close')
  writer.process.kill('SIGKILL')
  await closed
  expect(writer.errors).toEqual([])
  expect(writer.lines.length).toBeGreaterThanOrEqual(lines)
}

/** Checks call `call` against the store: complete or absent, and as dirty as the index. Undefined if it is absent. */
async function readCall(store: MarkStore, call: number, dirty: ReadonlySet<string>): Promise<{ pending: boolean } | undefined> {
  const marks = putsOf(call)
  const read = await store.readDirtyMarks(marks)
  const held = read.filter(({ record }) => record !== undefined)
  expect([0, marks.length], `call ${call}`).toContain(held.length)
  if (held.length === 0) return undefined
  const states = await store.getMarkMany(marks)
  expect(states.map(({ mark }) => mark)).toEqual(marks.map(({ mark }) => mark))
  expect(new Set(states.map(({ pending }) => pending)).size).toBe(1)
  for (const [index, { viewer, oid }] of marks.entries()) expect(dirty.has(`${viewer} ${oid}`)).toBe(states[index]?.pending)
  return { pending: states[0]?.pending === true }
}

describe('a process that marks and dies', () => {
  let folder = makeFolder()
  beforeEach(() => {
    folder.remove()
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('by kill -9 keeps every acknowledged call, stores no partial call, and keeps lists and dirty marks consistent', async () => {
    const lines = new Set<number>()
    let first = 1
    let undone = 0
    for (const enough of [1, 30, 9, 60]) {
      const writers = [startWriter(folder.path, first, 2), startWriter(folder.path, first + 1, 2)]
      await Promise.all(writers.map((writer, index) => killAfter(writer, enough + index)))
      for (const writer of writers) for (const line of writer.lines) lines.add(line)
      const end = Math.max(...lines) + 100

      const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
      const store = openLmdbMarkStore(environment)
      const dirtyKeys = await store.listDirtyMarks(REGIONS, Number.MAX_SAFE_INTEGER, 10_000_000)
      const dirty = new Set(dirtyKeys.map(({ viewer, oid }) => `${viewer} ${oid}`))
      const [there, clean, listed] = [new Set<number>(), new Set<number>(), new Set<string>()]
      let pending = 0
      for (let call = 1; call < end; call++) {
        const found = await readCall(store, call, dirty)
        if (found === undefined) continue
        there.add(call)
        if (found.pending) pending += putsOf(call).length
        else clean.add(call)
        for (const { viewer, oid, mark } of putsOf(call)) if (mark === 'LIKE') listed.add(`${viewer} ${oid}`)
      }
      expect([...lines].filter((line) => (line > 0 ? !there.has(line) : !clean.has(-line)))).toEqual([])
      expect([dirty.size, await store.countDirtyMarks()]).toEqual([pending, pending])
      for (let viewer = 1; viewer <= PUT_VIEWERS; viewer++) {
        const { entries } = await store.listLikes(String(viewer), 1, undefined, 1_000_000)
        for (const { id } of entries) expect(listed.delete(`${viewer} ${id}`)).toBe(true)
      }
      expect(listed.size).toBe(0)
      undone = [...clean].flatMap(putsOf).filter(({ mark }) => mark === 'NONE').length
      await environment.close()
      first = end + (end % 2) + 1
    }
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    expect(await purgeAll(openLmdbMarkStore(environment), REGIONS, Number.MAX_SAFE_INTEGER)).toBe(undone)
    await environment.close()
    expect([...lines].filter((line) => line > 0).length).toBeGreaterThan(80)
    expect([...lines].filter((line) => line < 0).length).toBeGreaterThan(20)
  })
})
