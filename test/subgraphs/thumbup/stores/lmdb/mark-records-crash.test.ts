import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { winsOver } from '../../../../../subgraphs/thumbup/model/merge.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkRecords } from '../../../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import type { MarkRecords, MarkRow } from '../../../../../subgraphs/thumbup/stores/record-store.ts'
import { archiveAll, markRow } from '../../../../contracts/thumbup/mark-rows.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'
import { BASE, ROW_OIDS, ROW_VIEWERS, STREAM, rowsOf } from './crash-calls.ts'

const WRITER = new URL('mark-writer.ts', import.meta.url).pathname
const SUBJECTS = [...Array(ROW_OIDS).keys()].map((oid) => ({ business: 1, oid: String(oid) }))
const KEYS = [...Array(ROW_VIEWERS).keys()].flatMap((viewer) => SUBJECTS.map((subject) => ({ viewer: String(viewer), ...subject })))

/** Writes until `enough` calls are acknowledged, then kills the process. Returns the acknowledged calls. */
async function writeUntilKilled(folder: string, first: number, enough: number): Promise<number[]> {
  const writer = spawn(process.execPath, [WRITER, folder, String(first), '2'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const acknowledged: number[] = []
  const lines = createInterface({ input: writer.stdout })
  lines.on('line', (line) => {
    acknowledged.push(Number(line))
    if (acknowledged.length === enough) writer.kill('SIGKILL')
  })
  await once(writer, 'close')
  expect(acknowledged.length).toBeGreaterThanOrEqual(enough)
  return acknowledged
}

async function totals(store: MarkRecords): Promise<number[]> {
  const counts = await store.getCountsMany(SUBJECTS)
  return [counts.reduce((sum, { likes }) => sum + likes, 0), counts.reduce((sum, { dislikes }) => sum + dislikes, 0)]
}

describe('the record store of marks on LMDB', () => {
  let folder = makeFolder()
  beforeEach(() => {
    folder.remove()
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('keeps counts equal to rows and offsets equal to applied marks after kill -9 of two processes at once', async () => {
    let first = 2
    for (const enough of [3, 40, 150, 20]) {
      const calls = await Promise.all([0, 1].map((parity) => writeUntilKilled(folder.path, first + parity, enough + parity)))
      const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
      const store = openLmdbMarkRecords(environment)
      expect(await store.recount(SUBJECTS)).toEqual([])
      const records = await store.getMarkMany(KEYS)
      expect(await totals(store)).toEqual(['LIKE', 'DISLIKE'].map((mark) => records.filter((record) => record?.mark === mark).length))

      const offsets = new Map((await store.getOffsets(STREAM)).map(({ partition, offset }) => [partition, offset]))
      for (const [parity, acknowledged] of calls.entries()) {
        const persisted = offsets.get((first + parity) % 2) ?? 0
        expect(persisted).toBeGreaterThanOrEqual(Math.max(...acknowledged))
        const stored = await store.getMarkMany(rowsOf(persisted).map(({ key }) => key))
        const late = stored.filter((record) => record === undefined || record.markedAt < BASE + persisted)
        expect(late).toEqual([])
      }
      await archiveAll(store, BASE + 1_000_000)
      expect(await store.recount(SUBJECTS)).toEqual([])
      await environment.close()
      first += 100_000
    }
  })

  it('has written nothing of a call with one invalid row', async () => {
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const store = openLmdbMarkRecords(environment)
    const good = markRow(1, '1', '1', 'LIKE', BASE)
    const rows: MarkRow[] = [good, markRow(1, '2', '1', 'LIKE', -1)]
    await expect(store.applyMarks(rows, [{ stream: STREAM, partition: 0, offset: 5 }])).rejects.toThrow(RangeError)
    expect(await store.getMarkMany([good.key])).toEqual([undefined])
    expect(await store.getCountsMany(SUBJECTS.slice(1, 2))).toEqual([{ likes: 0, dislikes: 0, version: 0 }])
    expect(await store.getOffsets(STREAM)).toEqual([])
    expect(await store.listOutbox(10)).toEqual([])
    expect((await store.applyMarks([good], [])).changes?.transitions).toHaveLength(1)
    await environment.close()
  })

  it('archives a subject of many blocks from rows in any order, and lists it as before', async () => {
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const store = openLmdbMarkRecords(environment)
    const rows = Array.from({ length: 6_000 }, (_, index) =>
      markRow(1, String(index), 'hot', index % 9 === 0 ? 'DISLIKE' : 'LIKE', BASE + ((index * 7_919) % 3_001), 1),
    )
    const latest = new Map<string, MarkRow>()
    const write = async (some: MarkRow[]): Promise<void> => {
      await store.applyMarks(some, [])
      for (const row of some) if (winsOver(row.record, latest.get(row.key.viewer)?.record)) latest.set(row.key.viewer, row)
    }
    const subject = { business: 1, oid: 'hot' }
    await write(rows)
    for (const round of [1, 2, 3, 4]) {
      await archiveAll(store, BASE + round * 800)
      // Archived and recent marks, undone and given again.
      await write(
        rows.filter((_, index) => index % 13 === round).map(({ key }) => markRow(1, key.viewer, 'hot', 'NONE', BASE + 4_000 + round)),
      )
      await write(
        rows.filter((_, index) => index % 39 === round).map(({ key }) => markRow(1, key.viewer, 'hot', 'LIKE', BASE + 4_100 + round)),
      )
      await write(Array.from({ length: 100 }, (_, index) => markRow(1, `new-${round}-${index}`, 'hot', 'DISLIKE', BASE + 4_200 + round)))
      const likers = [...latest.values()].filter(({ record }) => record.mark === 'LIKE')
      const expected = likers.map(({ key, record }) => ({ id: key.viewer, markedAt: record.markedAt }))
      const sorted = expected.toSorted((a, b) => b.markedAt - a.markedAt || Number(a.id) - Number(b.id))
      expect(await store.listLikers(subject, undefined, 10_000)).toEqual(sorted)
      const [middle] = sorted.slice(3_000)
      expect(await store.listLikers(subject, middle, 50)).toEqual(sorted.slice(3_001, 3_051))
      expect(await store.recount([subject])).toEqual([])
    }
    await archiveAll(store, BASE + 10_000)
    expect(await store.recount([subject])).toEqual([])
    const { recent, archived } = await store.measureMarks()
    expect(recent).toBe(0)
    expect(archived).toBe([...latest.values()].filter(({ record }) => record.mark !== 'NONE').length)
    await environment.close()
  })
})
