import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Journal, JournalEntry } from '../../../../writeback/journal.ts'
import { openEnvironment } from '../../../../stores/lmdb/environment.ts'
import { openLmdbJournals, viewLmdbJournals } from '../../../../writeback/stores/lmdb/journal.ts'
import { report, write } from '../../../contracts/reports.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'

type Change = JournalEntry['change']

const WRITER = new URL('journal-writer.ts', import.meta.url).pathname
const clear = (now: number): JournalEntry => ({ viewer: '7', now, change: { kind: 'clear' } })
const momentsOf = async (journal: Journal, after = 0, limit = 1_000) =>
  (await journal.list(after, limit)).map((each) => ('entry' in each ? each.entry.now : each.unreadable))

describe('a journal', () => {
  let folder: ReturnType<typeof makeFolder>
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('keeps entries of every kind unchanged, in the order of the calls', async () => {
    const { own } = openLmdbJournals(folder.path)
    const entries: JournalEntry[] = [
      {
        viewer: '7',
        now: 5,
        change: { kind: 'put', writes: [{ ...write('7', '1', report(4, { device: 'tv "1"\n' })), day: 3 }] } as Change,
      },
      { viewer: 'ü', now: 4, change: { kind: 'delete' } },
      clear(3),
      { viewer: '7', now: 2, change: { kind: 'pause', paused: true } as Change },
      { viewer: 'ann', now: 1, isBackground: true, change: { kind: 'base' } },
    ]
    await Promise.all(entries.map((entry) => own.append([entry])))
    const listed = await own.list(0, 10)
    expect(listed.map((each) => ('entry' in each ? each.entry : undefined))).toEqual(entries)
    expect((await own.list(listed[1]?.number ?? 0, 2)).map((each) => 'entry' in each && each.entry.change.kind)).toEqual(['clear', 'pause'])
    await own.close()
  })

  it('is found by the next process, which knows the leftover entries, and continues with higher numbers', async () => {
    const first = openLmdbJournals(folder.path)
    expect(first.own.leftUntil).toBe(0)
    for (const now of [1, 2, 3]) await first.own.append([clear(now)])
    await first.own.remove([2])
    await first.close()
    const { own } = openLmdbJournals(folder.path)
    expect(own.leftUntil).toBe(3)
    await own.append([clear(4)])
    expect(await momentsOf(own)).toEqual([1, 3, 4])
    expect((await own.list(3, 10)).map((each) => each.number)).toEqual([4])
    await own.close()
    expect(readdirSync(folder.path)).toEqual(['journal-0'])
  })

  it('is never shared: a second process has its own, and adopts the first only when its process is gone', async () => {
    const first = openLmdbJournals(folder.path)
    const second = openLmdbJournals(folder.path)
    await first.own.append([clear(1)])
    expect(await second.adopt()).toBeUndefined()
    await first.close()
    const adopted = (await second.adopt()) as Journal
    expect(await momentsOf(adopted)).toEqual([1])
    const third = openLmdbJournals(folder.path)
    expect(await third.adopt()).toBeUndefined()
    await adopted.remove([1])
    await adopted.close()
    expect(await third.adopt()).toBeUndefined()
    await second.close()
    await third.close()
  })

  it('quarantines unreadable entries and entries that cannot be applied, with the reason', async () => {
    const environment = openEnvironment(join(folder.path, 'journal-0'), { regions: 1, sizeMaxGb: 1 })
    const key = Buffer.alloc(8)
    key[7] = 1
    await environment.write(() => void environment.table('entries').put(key, Buffer.from('\u0009{}')))
    await environment.close()
    const { own } = openLmdbJournals(folder.path)
    await own.append([clear(1)])
    const [first, second] = await own.list(0, 10)
    expect(first).toEqual({ number: 1, unreadable: 'it has format 9, and this version reads 1' })
    await own.park(first?.number ?? 0, 'unreadable')
    await own.park(second?.number ?? 0, 'no such viewer')
    expect(await own.count()).toEqual({ waiting: 0, parked: 2 })
    await own.close()
    const again = openLmdbJournals(folder.path)
    await again.own.append([clear(2)])
    expect((await again.own.list(0, 10)).map((each) => each.number)).toEqual([3])
    await again.close()
  })

  it.each([
    ['no text at all', '', 'it is not JSON'],
    ['{"viewer":"7","now":1}', undefined, 'it has no change'],
    ['{"viewer":"7","now":1,"change":{"business":1}}', undefined, 'it has no change'],
    ['{"viewer":"7","change":{"kind":"clear"}}', undefined, 'its time is undefined'],
    ['{"now":1,"change":{"kind":"clear"}}', undefined, 'its viewer is undefined'],
    ['[]', undefined, 'it is not a journal entry'],
  ])('does not accept %s as an entry', async (text, as, problem) => {
    const { own } = openLmdbJournals(folder.path)
    const environment = openEnvironment(join(folder.path, 'journal-0'), { regions: 1, sizeMaxGb: 1 })
    const key = Buffer.alloc(8, 0)
    key[7] = 1
    await environment.write(() => void environment.table('entries').put(key, Buffer.concat([Buffer.of(1), Buffer.from(as ?? text)])))
    await environment.close()
    expect(await own.list(0, 10)).toEqual([{ number: 1, unreadable: expect.stringContaining(problem) }])
    await own.close()
  })

  it('puts quarantined entries back in their old place, even beside the process that has the journal', async () => {
    const { own } = openLmdbJournals(folder.path)
    await own.append([clear(1), clear(2), clear(3)])
    await own.park(2, 'no such viewer')
    expect(await momentsOf(own)).toEqual([1, 3])
    const [view] = viewLmdbJournals(folder.path)
    expect(view?.name).toBe('journal-0')
    expect(await view?.listParked()).toEqual([{ number: 2, entry: clear(2), reason: 'no such viewer' }])
    expect(await view?.putBack([1, 2, 77])).toEqual([2])
    await view?.close()
    expect(await momentsOf(own)).toEqual([1, 2, 3])
    expect(await own.count()).toEqual({ waiting: 3, parked: 0 })
    await own.append([clear(4)])
    expect(await momentsOf(own)).toEqual([1, 2, 3, 4])
    await own.close()
  })

  it('survives kill -9 of its process with every durable entry', async () => {
    const writer = spawn(process.execPath, [WRITER, folder.path], { stdio: ['ignore', 'pipe', 'inherit'] })
    const durable: number[] = []
    createInterface({ input: writer.stdout }).on('line', (line) => {
      durable.push(Number(line))
      if (durable.length === 200) writer.kill('SIGKILL')
    })
    await once(writer, 'close')
    const { own } = openLmdbJournals(folder.path)
    const moments = await momentsOf(own, 0, 100_000)
    expect(durable.filter((now) => !moments.includes(now))).toEqual([])
    expect(moments).toEqual([...moments].sort((a, b) => Number(a) - Number(b)))
    expect(durable.length).toBeGreaterThanOrEqual(200)
    await own.close()
  })

  it('is not blocked by a process that has closed it', async () => {
    const first = openLmdbJournals(folder.path)
    await first.close()
    await first.close()
    await expect(first.own.append([clear(1)])).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    const second = openLmdbJournals(folder.path)
    await second.own.append([clear(1)])
    await second.close()
  })
})
