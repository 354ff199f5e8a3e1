/** `tidemark journal`, run as by an operator. */
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { join } from 'node:path'
import type { JournalEntry } from '../../writeback/journal.ts'
import { openLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import { makeDataFolder, type Folder } from '../subgraphs/switched-stores.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const clear = (now: number): JournalEntry => ({ viewer: '7', now, change: { kind: 'clear' } })

describe('tidemark journal', () => {
  let folder: Folder
  beforeEach(() => {
    folder = makeDataFolder()
  })
  afterEach(() => folder.remove())

  function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [COMMAND, 'journal', '--data', folder.path, ...args], { cwd: folder.path }, (failure, out, error) =>
        resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
      )
    })
  }

  it('lists quarantined entries with their reasons, and puts back named ones, while a process has the journal', async () => {
    const { own, close } = openLmdbJournals(folder.path)
    await own.append([clear(1_000), clear(2_000), clear(3_000)])
    await own.park(1, 'ID_INVALID: too long')
    await own.park(2, 'ID_INVALID: empty')
    const listed = await run()
    expect(listed.out.split('\n')).toEqual([
      'journal-0  1 waiting, 2 parked',
      '  journal-0/1  1970-01-01T00:00:01.000Z  clear of viewer 7: ID_INVALID: too long',
      '  journal-0/2  1970-01-01T00:00:02.000Z  clear of viewer 7: ID_INVALID: empty',
      '',
    ])
    expect(await run('put-back', 'journal-0/2')).toMatchObject({ status: 0, out: 'journal-0/2 waits again\n' })
    expect(await own.count()).toEqual({ waiting: 2, parked: 1 })
    expect(await run('put-back', 'all')).toMatchObject({ status: 0, out: 'journal-0/1 waits again\n' })
    expect(await own.count()).toEqual({ waiting: 3, parked: 0 })
    await close()
  })

  it('lists the mark journals of every business, even of one that no longer has its own stores', async () => {
    for (const name of ['marks', 'marks-article']) {
      const { own, close } = openLmdbJournals(join(folder.path, name))
      const entry: JournalEntry = { viewer: '7', now: 1, change: { kind: 'mark' } }
      await own.append([entry])
      if (name === 'marks-article') await own.park(1, 'a reason')
      await close()
    }
    const listed = await run()
    expect(listed.out).toContain(`${join('marks', 'journal-0')}  1 waiting, 0 parked\n`)
    expect(listed.out).toContain(`${join('marks-article', 'journal-0')}  0 waiting, 1 parked\n`)
    expect(await run('put-back', join('marks-article', 'journal-0', '1'))).toMatchObject({ status: 0 })
    expect((await run()).out).toContain(`${join('marks-article', 'journal-0')}  1 waiting, 0 parked\n`)
  })

  it('refuses a data folder that does not exist, or is a file, in both shapes, and makes no folder', async () => {
    const missing = join(folder.path, 'mistyped')
    const file = join(folder.path, 'tidemark.yaml')
    const stores = {
      redis: { urls: ['redis://127.0.0.1:1'] },
      kafka: { brokers: ['127.0.0.1:1'] },
      mysql: { url: 'mysql://u:p@127.0.0.1:1/d' },
    }
    for (const settings of [{}, { stores, live: { from: 'off' } }]) {
      writeFileSync(file, JSON.stringify(settings))
      for (const args of [[], ['put-back', 'all']])
        expect(await run(...args, '--data', missing)).toEqual({
          status: 1,
          out: '',
          error: `CONFIG_INVALID: ${missing} does not exist: name the data folder of a service with --data or TIDEMARK_DATA\n`,
        })
      expect(await run('--data', file)).toEqual({
        status: 1,
        out: '',
        error: `CONFIG_INVALID: ${file} is not a folder: name the data folder of a service with --data or TIDEMARK_DATA\n`,
      })
    }
    expect(existsSync(missing)).toBe(false)
  })

  it('refuses an unknown name, a missing name, and a folder without journals with a sentence', async () => {
    expect((await run()).out).toContain(`no process has kept a journal in ${folder.path}`)
    await openLmdbJournals(folder.path).close()
    expect(await run('put-back', 'journal-0/9')).toMatchObject({
      status: 1,
      error: expect.stringContaining('not parked in any journal: journal-0/9'),
    })
    expect(await run('put-back')).toMatchObject({ status: 1, error: expect.stringContaining('put-back needs entries') })
    expect(await run('empty')).toMatchObject({ status: 1, error: expect.stringContaining('use list or put-back') })
  })
})
