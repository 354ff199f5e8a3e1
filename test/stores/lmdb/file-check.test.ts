/** A data file that LMDB did not leave so is refused with a sentence. A file that a killed process left is never refused. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../core/random.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { checkDataFile, findDamage } from '../../../stores/lmdb/file-check/check-file.ts'
import type { ClosedMark } from '../../../stores/lmdb/file-check/closed-mark.ts'
import { readSnapshot, type ReadAt } from '../../../stores/lmdb/file-check/meta-pages.ts'
import { walkTrees } from '../../../stores/lmdb/file-check/walk.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import { makeFolder } from './folders.ts'

const READER = new URL('damage.ts', import.meta.url).pathname
const WRITER = new URL('../../subgraphs/history/stores/lmdb/crash-writer.ts', import.meta.url).pathname
const FILE = 'tidemark.mdb'
const PAGE = 4096
const options = { regions: 4, sizeMaxGb: 1 }
const open = (folder: string) => openEnvironment(folder, options)
const damaged = (sentence: RegExp) =>
  expect.objectContaining({ code: 'DATA_DAMAGED', message: expect.stringMatching(new RegExp(`is damaged: .*${sentence.source}.*backup`)) })

/** Some 1,000 pages: trees of three levels, values on their own pages, free pages. */
async function fill(folder: string): Promise<void> {
  const environment = open(folder)
  const [small, large] = [environment.table('small'), environment.table('large')]
  for (let round = 0; round < 8; round++) {
    await environment.write(() => {
      for (let at = 0; at < 1_000; at++) void small.put(Buffer.from(`key ${(at * 7919) % 6_000} of ${round}`), Buffer.alloc(200, round))
      for (let at = 0; at < 10; at++) void large.put(Buffer.from(`large ${at}`), Buffer.alloc(9_000 + round, at))
    })
  }
  await environment.close()
}

describe('a data file', () => {
  const whole = makeFolder()
  let folder = makeFolder()
  let file = join(folder.path, FILE)
  const pagesOf = () => statSync(file).size / PAGE
  beforeAll(() => fill(whole.path))
  beforeEach(() => {
    folder.remove()
    folder = makeFolder()
    file = join(folder.path, FILE)
    for (const name of [FILE, `${FILE}-closed`]) copyFileSync(join(whole.path, name), join(folder.path, name))
  })
  afterEach(() => folder.remove())
  afterAll(() => whole.remove())

  function overwrite(firstPage: number, pages: number, random = seededRandom(1)): void {
    const bytes = readFileSync(file)
    for (let at = firstPage * PAGE; at < (firstPage + pages) * PAGE; at++) bytes[at] = Math.floor(random() * 256)
    writeFileSync(file, bytes)
  }

  function lastTransaction(path: string): number {
    const bytes = readFileSync(path)
    return Math.max(...[0, PAGE].map((at) => Number(bytes.readBigUInt64LE(at + 152))))
  }

  function rootOfTables(): number {
    const bytes = readFileSync(file)
    const [first, second] = [0, PAGE].map((at) => ({ transaction: bytes.readBigUInt64LE(at + 152), root: bytes.readBigUInt64LE(at + 136) }))
    return Number((first!.transaction > second!.transaction ? first! : second!).root)
  }

  it('that is unchanged since its close opens', async () => {
    await open(folder.path).close()
    expect(() => open(folder.path)).not.toThrow()
  })

  it('with random bytes as its first pages is refused', () => {
    overwrite(0, 2)
    expect(() => open(folder.path)).toThrow(damaged(/page 0 is not a meta page/))
  })

  it('with one meta page of random bytes is refused', () => {
    overwrite(1, 1)
    expect(() => open(folder.path)).toThrow(damaged(/page 1 is not a meta page/))
  })

  it('with half of its bytes is refused, with and without the mark of its last close', () => {
    const bytes = statSync(file).size
    truncateSync(file, Math.floor(bytes / 2 / PAGE) * PAGE)
    expect(() => open(folder.path)).toThrow(damaged(new RegExp(`had ${bytes} when it was closed`)))
    rmSync(`${file}-closed`)
    expect(() => open(folder.path)).toThrow(damaged(/it ends before its page \d+/))
  })

  it('that is empty or missing is refused if it has held data', () => {
    truncateSync(file, 0)
    expect(() => open(folder.path)).toThrow(damaged(/has held data/))
    rmSync(file)
    expect(() => open(folder.path)).toThrow(damaged(/has held data/))
    expect(existsSync(file)).toBe(false)
    writeFileSync(`${file}-closed`, '')
    expect(() => open(folder.path)).toThrow(damaged(/has held data/))
  })

  it('that was restored from a backup is not compared with the file it replaced', async () => {
    const backup = readFileSync(file)
    const grown = open(folder.path)
    const table = grown.table('large')
    for (let round = 0; round < 4; round++) await grown.write(() => void table.put(Buffer.from(`more ${round}`), Buffer.alloc(3_000_000)))
    await grown.close()
    const { transaction, bytes } = JSON.parse(readFileSync(`${file}-closed`, 'utf8')) as ClosedMark
    writeFileSync(file, backup)
    const restored = open(folder.path)
    const small = restored.table('small')
    for (let round = 0; round < 10; round++) await restored.write(() => void small.put(Buffer.from('again'), Buffer.alloc(200, round)))
    // As a killed process leaves it: without a note about its end.
    const left = makeFolder()
    for (const name of [FILE, `${FILE}-closed`]) copyFileSync(join(folder.path, name), join(left.path, name))
    await restored.close()
    const killed = statSync(join(left.path, FILE)).size
    expect(killed).toBeLessThan(bytes)
    expect(lastTransaction(join(left.path, FILE))).toBeGreaterThan(transaction)
    await open(left.path).close()
    left.remove()
  })

  it('with a last page far beyond its end is refused', () => {
    const bytes = readFileSync(file)
    for (const meta of [0, PAGE]) bytes.writeBigUInt64LE(2n ** 50n, meta + 144)
    writeFileSync(file, bytes)
    expect(() => open(folder.path)).toThrow(damaged(/page 1125899906842624 for its last/))
  })

  it('with random bytes as its root page is refused', () => {
    const root = rootOfTables()
    overwrite(root, 1)
    expect(() => open(folder.path)).toThrow(damaged(new RegExp(`page ${root} is not a leaf page`)))
  })

  it('with any random page is refused or reads, and never ends the process by a signal', { timeout: 120_000 }, async () => {
    const random = seededRandom(7)
    const outcomes: Record<string, number> = {}
    const copy = readFileSync(file)
    for (let round = 0; round < 16; round++) {
      writeFileSync(file, copy)
      overwrite(Math.floor(random() * pagesOf()), 1, random)
      const [outcome, signal] = await readInChild(folder.path)
      expect(signal).toBeNull()
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
    // A used page without its own header is the middle of a value, which the owner of the value validates.
    expect(Object.keys(outcomes).sort()).toEqual(['DATA_DAMAGED', 'read'])
    expect(outcomes['DATA_DAMAGED']).toBeGreaterThan(4)
  })

  it('after a kill during its creation is created again', async () => {
    const fresh = makeFolder()
    const path = join(fresh.path, FILE)
    await open(fresh.path).close()
    const uncommitted = readFileSync(path).subarray(0, 2 * PAGE)
    for (const meta of [0, PAGE]) uncommitted.fill(0, meta + 48 + 4, meta + 160)
    for (const meta of [0, PAGE]) {
      for (const tree of [72, 120]) uncommitted.fill(0xff, meta + tree + 16, meta + tree + 24)
      uncommitted.writeBigUInt64LE(1n, meta + 144)
    }
    for (const bytes of [0, 200, PAGE, PAGE + 200, 2 * PAGE]) {
      rmSync(fresh.path, { recursive: true })
      mkdirSync(fresh.path)
      writeFileSync(path, uncommitted.subarray(0, bytes))
      checkDataFile(path)
      // The process that creates the file may be alive, so the check removes no written byte.
      expect(readFileSync(path).subarray(0, bytes)).toEqual(uncommitted.subarray(0, bytes))
      await open(fresh.path).close()
    }
    fresh.remove()
  })

  it('that another process completes during the check keeps its data', async () => {
    const fresh = makeFolder()
    const path = join(fresh.path, FILE)
    const environment = open(fresh.path)
    const table = environment.table('small')
    await environment.write(() => void table.put(Buffer.from('key'), Buffer.from('value')))
    // A check that saw half of the file would append the rest here.
    appendFileSync(path, Buffer.alloc(PAGE, 7))
    await environment.write(() => void table.put(Buffer.from('large'), Buffer.alloc(50_000, 1)))
    await environment.close()
    rmSync(`${path}-closed`)
    const again = open(fresh.path)
    expect(again.table('small').getBinary(Buffer.from('key'))?.toString()).toBe('value')
    expect(again.table('small').getBinary(Buffer.from('large'))?.length).toBe(50_000)
    await again.close()
    fresh.remove()
  })

  it('is never reported as damaged after a kill -9, from its creation on', { timeout: 180_000 }, async () => {
    const random = seededRandom(11)
    let opened = 0
    for (let round = 0; round < 8; round++) {
      if (round % 4 === 0) rmSync(folder.path, { recursive: true })
      const writer = spawn(process.execPath, [WRITER, folder.path, String(1 + round * 100_000), '1'], { stdio: ['ignore', 'pipe', 'pipe'] })
      let complaints = ''
      writer.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
      // Some are killed while they create the file, others in the middle of commits.
      if (round % 2 === 0) await appears(file)
      else await once(writer.stdout, 'data')
      await new Promise((resolve) => setTimeout(resolve, random() * 200))
      const exited = once(writer, 'exit')
      writer.kill('SIGKILL')
      await exited
      expect(complaints).toBe('')
      await openEnvironment(folder.path, { ...options, regions: 100 }).close()
      opened++
    }
    expect(opened).toBe(8)
  })

  it('is not reported as damaged while another process writes it', { timeout: 60_000 }, async () => {
    rmSync(folder.path, { recursive: true })
    const writer = spawn(process.execPath, [WRITER, folder.path, '1', '1'], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(writer.stdout, 'data')
    for (let round = 0; round < 30; round++) await openEnvironment(folder.path, { ...options, regions: 100 }).close()
    const exited = once(writer, 'exit')
    writer.kill('SIGKILL')
    await exited
  })
})

describe('the walk through a data file', () => {
  const folder = makeFolder()
  afterAll(() => folder.remove())

  it('reads the leaves of a table from the end to the start, at most a megabyte at once', async () => {
    await fill(folder.path)
    const descriptor = openSync(join(folder.path, FILE), 'r')
    const large: number[] = []
    const readAt: ReadAt = (position, bytes) => {
      expect(bytes).toBeLessThanOrEqual(2 ** 20)
      if (bytes > 64 * PAGE) large.push(position)
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, position))
    }
    expect(walkTrees(readAt, readSnapshot(readAt), () => false)).toBe(true)
    closeSync(descriptor)
    expect(large.length).toBeGreaterThan(1)
    expect(large).toEqual(large.toSorted((a, b) => b - a))
  })
})

describe('a data file in use', () => {
  const folder = makeFolder()
  const file = join(folder.path, FILE)
  afterAll(() => folder.remove())

  it('is not reported as damaged, for any number of writes during each check', async () => {
    const environment = open(folder.path)
    const table = environment.table('busy')
    let round = 0
    /** Values within a page, and values on their own pages, replace each other. */
    const commit = () =>
      table.transactionSync(() => {
        round++
        for (let at = 0; at < 300; at++) void table.put(Buffer.from(`key ${at}`), Buffer.alloc((at + round) % 2 === 0 ? 200 : 9_000, round))
      })
    for (let commits = 0; commits < 6; commits++) commit()
    const descriptor = openSync(file, 'r')
    let walked = 0
    const readAt: ReadAt = (position, bytes) => {
      if (position >= 2 * PAGE && walked++ % 2 === 0) for (let commits = 0; commits < 6; commits++) commit()
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, position))
    }
    expect(() => walkTrees(readAt, readSnapshot(readAt), () => false)).toThrow(/page/)
    expect(findDamage(readAt, statSync(file).size, undefined)).toBeUndefined()
    closeSync(descriptor)
    await environment.close()
  })
})

describe('journals, one of them damaged', () => {
  const folder = makeFolder()
  afterAll(() => folder.remove())

  it('report it for their own, and adopt those of other processes', async () => {
    const first = openLmdbJournals(folder.path)
    const [second, third] = [openLmdbJournals(folder.path), openLmdbJournals(folder.path)]
    for (const { own } of [second, third]) await own.append([{ viewer: '1', now: 1, change: { kind: 'pause' } }])
    await Promise.all([second.close(), third.close()])
    const path = join(folder.path, 'journal-1', FILE)
    writeFileSync(path, readFileSync(path).fill(7, 0, 2 * PAGE))
    const adopted = await first.adopt()
    expect(await adopted?.count()).toMatchObject({ waiting: 1 })
    await adopted?.remove([1])
    await adopted?.close()
    await expect(first.adopt()).rejects.toMatchObject({ code: 'DATA_DAMAGED', message: expect.stringContaining('journal-1') })
    expect(() => openLmdbJournals(join(folder.path, 'other'))).not.toThrow()
    await first.close()
    rmSync(join(folder.path, 'journal-0'), { recursive: true })
    mkdirSync(join(folder.path, 'journal-0'))
    copyFileSync(path, join(folder.path, 'journal-0', FILE))
    expect(() => openLmdbJournals(folder.path)).toThrow(damaged(/page 0/))
  })
})

async function readInChild(folder: string): Promise<[string, string | null]> {
  const child = spawn(process.execPath, [READER, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  return [said, signal]
}

async function appears(file: string): Promise<void> {
  for (const end = Date.now() + 20_000; !existsSync(file) && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 1))
}
