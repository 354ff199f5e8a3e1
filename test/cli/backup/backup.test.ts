/** Backups of data folders: whole, restored, and all that can be wrong with them. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backup } from '../../../cli/backup/backup.ts'
import { restore } from '../../../cli/backup/restore.ts'
import { exportData } from '../../../cli/move/export.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import { runCommand } from '../../../harness/deployment/command.ts'
import { lockDataFolder } from '../../../stores/lmdb/folder-lock.ts'

import { makeTestFolder, storeAll, withStores } from '../move/stored.ts'

const { path, flags, remove } = makeTestFolder()
const mayMount = process.platform === 'linux' && process.getuid?.() === 0
const codeOf = (code: ErrorCode): unknown => expect.objectContaining({ code })
let printed: string[] = []
const print = (line: string): void => void printed.push(line)

beforeAll(async () => {
  await withStores(flags('source'), storeAll)
  mkdirSync(path('source/live'))
  writeFileSync(path('source/live/1790000000000.json'), '{"at":1790000000000,"value":{}}')
  await backup({ ...flags('source'), out: path('good') }, print)
})
afterAll(remove)

function copyOfGood(name: string): string {
  execFileSync('cp', ['-r', path('good'), path(name)])
  return path(name)
}

async function rowsOf(data: string): Promise<string[]> {
  const out = path(`rows-of-${data}`)
  await exportData({ ...flags(data), out, form: 'jsonl' }, print)
  const rows = readdirSync(out).flatMap((name) => (name.endsWith('.jsonl') ? [readFileSync(join(out, name), 'utf8')] : []))
  rmSync(out, { recursive: true })
  return rows
}

test('a restored folder has the rows and the live configuration of the source', async () => {
  printed = []
  await restore(path('good'), flags('target'), print)
  expect(printed[0]).toBe(`restored all files of ${path('good')}`)
  expect(printed[1]).toMatch(/^the stores have every write that was acknowledged before 2/)
  const rows = await rowsOf('target')
  expect(rows).toEqual(await rowsOf('source'))
  expect(rows.length).toBeGreaterThan(5)
  expect(readdirSync(path('target/live'))).toEqual(['1790000000000.json'])
  expect(statSync(path('target/tidemark.mdb')).mode & 0o777).toBe(0o600)
})

test('a restore refuses a folder that has data, and leaves it as it is', async () => {
  await withStores(flags('full'), async () => {})
  const before = readFileSync(path('full/tidemark.mdb'))
  await expect(restore(path('good'), flags('full'), print)).rejects.toThrow(codeOf('STORE_NOT_EMPTY'))
  expect(readFileSync(path('full/tidemark.mdb'))).toEqual(before)
})

test('a restore refuses a folder that a process uses', async () => {
  const lock = lockDataFolder(path('used'))
  await expect(restore(path('good'), flags('used'), print)).rejects.toThrow(codeOf('DATA_IN_USE'))
  lock.release()
})

test.each([
  ['a changed byte', (damaged: string) => writeFileSync(damaged, Buffer.from(readFileSync(damaged)).fill(1, 5_000, 5_001))],
  ['a cut file', (damaged: string) => truncateSync(damaged, 8_192)],
  ['a missing file', (damaged: string) => rmSync(damaged)],
])('a backup with %s is refused, and the target stays empty', async (name, damage) => {
  const damaged = copyOfGood(name.replaceAll(' ', '-'))
  damage(join(damaged, 'tidemark.mdb'))
  await expect(restore(damaged, flags('nothing'), print)).rejects.toThrow(codeOf('DATA_DAMAGED'))
  expect(readdirSync(path('nothing')).filter((file) => !file.startsWith('tidemark.lock'))).toEqual([])
})

test('a backup without its manifest, and no backup at all, are refused', async () => {
  const half = copyOfGood('half')
  rmSync(join(half, 'backup.json'))
  await expect(restore(half, flags('nothing'), print)).rejects.toThrow('has no backup.json')
  await expect(restore(path('nowhere'), flags('nothing'), print)).rejects.toThrow('does not exist')
  await expect(backup({ ...flags('source'), out: half }, print)).rejects.toThrow(`${half} is not empty (it has `)
  writeFileSync(join(half, 'backup.json'), '{')
  await expect(restore(half, flags('nothing'), print)).rejects.toThrow(codeOf('DATA_DAMAGED'))
  writeFileSync(join(half, 'backup.json'), '{"format":2}')
  await expect(restore(half, flags('nothing'), print)).rejects.toThrow(codeOf('DATA_INCOMPATIBLE'))
})

test('a restore with another number of regions is refused', async () => {
  writeFileSync(path('other.yaml'), JSON.stringify({ stores: { regions: 8 } }))
  const other = { data: path('nothing'), config: path('other.yaml') }
  await expect(restore(path('good'), other, print)).rejects.toThrow('the backup has 4 regions, not 8: set stores.regions to 4')
})

test('stores of a business are restored to its folder, and a configuration without them is refused', async () => {
  const settingsOf = (data: string) => {
    const businesses = [{ number: 7, name: 'clip', entity: 'Clip', thumbup: { stores: { data: path(`${data}-clip`) } } }]
    writeFileSync(path(`${data}.yaml`), JSON.stringify({ stores: { regions: 4 }, businesses }))
    return { data: path(data), config: path(`${data}.yaml`) }
  }
  const source = settingsOf('with')
  const record = { mark: 'LIKE' as const, markedAt: 1, version: 1 }
  const key = { viewer: '1', business: 7, oid: '1' }
  await withStores(source, async ({ tenants }) => void (await tenants.get(7)?.records.applyMarks([{ key, record }], [])))
  await backup({ ...source, out: path('tenants') }, print)
  await expect(restore(path('tenants'), flags('nothing'), print)).rejects.toThrow('set thumbup.stores.data of business 7')
  const target = settingsOf('with-2')
  await expect(restore(path('good'), target, print)).rejects.toThrow('the backup has no business-7/tidemark.mdb')
  await restore(path('tenants'), target, print)
  await withStores(target, async ({ tenants }) => {
    expect(await tenants.get(7)?.records.exportMarks(7, undefined, 10)).toMatchObject([{ key }])
  })
})

test('a backup of a folder without data makes nothing', async () => {
  await expect(backup({ ...flags('nowhere'), out: path('of-nothing') }, print)).rejects.toThrow(codeOf('CONFIG_INVALID'))
  mkdirSync(path('bare'))
  await expect(backup({ ...flags('bare'), out: path('of-nothing') }, print)).rejects.toThrow('has no tidemark.mdb')
  expect(readdirSync(path('of-nothing'))).toEqual([])
})

test.skipIf(!mayMount)('a full disk ends a backup and a restore with STORE_FULL, and leaves nothing half', async () => {
  const small = path('small')
  mkdirSync(small)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small])
  try {
    await expect(backup({ ...flags('source'), out: join(small, 'out') }, print)).rejects.toThrow(codeOf('STORE_FULL'))
    expect(readdirSync(join(small, 'out'))).toEqual([])
    await expect(restore(path('good'), flags('small/data'), print)).rejects.toThrow(codeOf('STORE_FULL'))
    expect(readdirSync(join(small, 'data')).filter((file) => !file.startsWith('tidemark.lock'))).toEqual([])
  } finally {
    execFileSync('umount', [small])
  }
})

test.skipIf(process.platform !== 'linux').each(['backup', 'export'])(
  '%s --out with a folder that nobody can make ends',
  async (command) => {
    const { config, data } = flags('source')
    const args = [command, '--out', '/proc/tidemark/out', '--config', config, '--data', data]
    expect(await runCommand(path('.'), args, { maxMs: 20_000 })).toMatchObject({
      status: 1,
      out: '',
      error: expect.stringMatching(/^CONFIG_INVALID: \/proc\/tidemark\/out cannot be .*: name another folder with --out\n$/) as string,
    })
  },
)

/** Returns the function that ends it. Root may write in spite of the mode, so root mounts the folder read-only. */
function makeReadOnly(folder: string): () => void {
  if (!mayMount) {
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o400)
    chmodSync(folder, 0o500)
    return () => chmodSync(folder, 0o700)
  }
  execFileSync('mount', ['--bind', folder, folder])
  execFileSync('mount', ['-o', 'remount,bind,ro', folder])
  return () => void execFileSync('umount', [folder])
}

test.skipIf(process.platform === 'win32')('a read-only data folder is refused by backup and export with the same sentence', async () => {
  await withStores(flags('read-only'), async () => {})
  const end = makeReadOnly(path('read-only'))
  try {
    const sentence = new RegExp(
      `^the data folder ${path('read-only')} cannot be used \\((Read-only file system|Permission denied): .*\\): with`,
    )
    const refused = { code: 'CONFIG_INVALID', message: expect.stringMatching(sentence) as string }
    await expect(backup({ ...flags('read-only'), out: path('of-read-only') }, print)).rejects.toMatchObject(refused)
    expect(readdirSync(path('of-read-only'))).toEqual([])
    const exported = exportData({ ...flags('read-only'), out: path('rows-of-read-only'), form: 'jsonl' }, print)
    await expect(exported).rejects.toMatchObject(refused)
  } finally {
    end()
  }
})
