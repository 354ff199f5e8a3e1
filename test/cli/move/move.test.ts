/** `tidemark export` and `import` on embedded stores: what arrives, what is refused, and what a repetition changes. */
import { cpSync, existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportData, type ExportFlags } from '../../../cli/move/export.ts'
import { sha256Of } from '../../../cli/move/folder.ts'
import { importData, type ImportFlags } from '../../../cli/move/import.ts'
import { openFilter } from '../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../subgraphs/feed-existence/filter/hash.ts'
import { lockDataFolder } from '../../../stores/lmdb/folder-lock.ts'
import { report } from '../../contracts/reports.ts'
import { NOW, VIEWERS, filterOf, makeTestFolder, storeAll, withStores, type TestFolder } from './stored.ts'

const PROGRESS = 160
const ROWS = PROGRESS + 2 + 1 + 40 + 2 + 1 + 1 + 4 + 1 + 1 + 4
let here: TestFolder
let names = 0

beforeAll(async () => {
  here = makeTestFolder()
  await withStores(here.flags('source'), storeAll)
})
afterAll(() => here.remove())

async function exported(data: string, options: Partial<ExportFlags> = {}): Promise<{ out: string; lines: string[] }> {
  const out = here.path(`export-${(names += 1)}`)
  const lines: string[] = []
  await exportData({ form: 'jsonl', out, ...here.flags(data), ...options }, (line) => lines.push(line))
  return { out, lines }
}

async function imported(out: string, data: string, options: Partial<ImportFlags> = {}): Promise<{ done: boolean; lines: string[] }> {
  const lines: string[] = []
  return { done: await importData(out, { ...here.flags(data), ...options }, (line) => lines.push(line)), lines }
}

const newData = (): string => `data-${(names += 1)}`
const rowsIn = (out: string): Record<string, string[]> =>
  Object.fromEntries(
    readdirSync(out)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => [name, readFileSync(join(out, name), 'utf8').trim().split('\n')]),
  )

/** Changes a file of a copy of the export, and its entry in the manifest. */
function changed(out: string, kind: string, change: (lines: string[]) => string[]): string {
  const copy = `${out}-changed-${(names += 1)}`
  cpSync(out, copy, { recursive: true })
  const name = `${kind}-00001.jsonl`
  const bytes = Buffer.from(`${change(readFileSync(join(copy, name), 'utf8').trim().split('\n')).join('\n')}\n`)
  writeFileSync(join(copy, name), bytes)
  const path = join(copy, 'export.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  for (const file of manifest.files) if (file.name === name) Object.assign(file, { bytes: bytes.length, sha256: sha256Of(bytes) })
  writeFileSync(path, JSON.stringify(manifest))
  return copy
}

describe('export and import', () => {
  test.each(['jsonl', 'parquet'] as const)('a copy by %s has the same rows, and the same pages of history', async (form) => {
    const { out, lines } = await exported('source', { form })
    expect(lines.join('\n')).toContain(`${ROWS} rows in `)
    const data = newData()
    const { done, lines: said } = await imported(out, data, { verify: true })
    expect(said.join('\n')).not.toMatch(/[1-9]\d* (missing|different)/)
    expect(done).toBe(true)
    const again = await exported(data)
    const before = rowsIn((await exported('source')).out)
    expect(Object.keys(rowsIn(again.out)).length).toBeGreaterThan(8)
    expect(rowsIn(again.out)).toEqual(before)

    const page = (stores: Parameters<Parameters<typeof withStores>[1]>[0]) => (viewer: string) =>
      stores.hot.listTimeline(viewer, [1, 2, 3], undefined, 100)
    await withStores(here.flags(data), async (stores) => {
      const pages = await Promise.all(VIEWERS.map(page(stores)))
      expect(pages.map(({ entries }) => entries.length)).toEqual([39, 40, 33, 40])
      expect(await stores.hot.countDirty()).toBe(0)
      expect(await stores.hot.getSettings('2')).toMatchObject({ paused: true })
      const [counts] = await stores.marks.records.getCountsMany([{ business: 1, oid: '1' }])
      expect(counts).toMatchObject({ likes: 3, dislikes: 1 })
      expect(await stores.marks.records.getOwnerSums([{ business: 1, owner: 'owner' }])).toMatchObject([{ likes: 3 }])
    })
  })

  test('a repeated import changes nothing, and never replaces a newer record', async () => {
    const { out } = await exported('source')
    const data = newData()
    await imported(out, data)
    const newer = report(NOW + 9_000, { version: (NOW + 9_000) * 1_024, position: 77 })
    await withStores(here.flags(data), async ({ hot, marks, seen }) => {
      await hot.putProgress([{ viewer: '1', business: 1, oid: '0', record: newer, decisive: true }], { now: NOW + 9_000, timelineCap: 100 })
      await marks.records.applyMarks(
        [{ key: { viewer: '1', business: 1, oid: '0' }, record: { mark: 'NONE', markedAt: NOW + 9_000, version: 1 } }],
        [],
      )
      const [stored] = await seen.records.getFilters([{ viewer: '1', month: 680 }])
      await seen.records.putFilters([{ ...filterOf('1', ['100']), expected: stored?.version ?? 0 }])
    })
    expect((await imported(out, data, { verify: true })).done).toBe(true)
    await withStores(here.flags(data), async ({ hot, records, marks, seen }) => {
      expect((await hot.getProgressMany([{ viewer: '1', business: 1, oid: '0' }]))[0]?.record?.position).toBe(77)
      expect((await records.getProgressMany([{ viewer: '1', business: 1, oid: '0' }]))[0]?.position).toBe(77)
      expect((await marks.records.getCountsMany([{ business: 1, oid: '0' }]))[0]).toMatchObject({ likes: 2, dislikes: 1 })
      const [stored] = await seen.records.getFilters([{ viewer: '1', month: 680 }])
      const probe = openFilter(stored?.filter as Buffer)
      for (const oid of ['7', '8', '100']) expect(probe.has(...(hashSeen(1, [oid]) as unknown as [number, number]))).toBe(true)
    })
  })

  test('changes that no job has persisted are in the export', async () => {
    const data = newData()
    const record = report(NOW, { position: 5 })
    await withStores(here.flags(data), async ({ hot, marks }) => {
      await hot.putProgress([{ viewer: '9', business: 1, oid: '1', record, decisive: true }], { now: NOW, timelineCap: 100 })
      await hot.setPaused('9', true, NOW)
      await marks.hot.putMarks([{ viewer: '9', business: 1, oid: '1', mark: 'LIKE', markedAt: NOW, base: null }], { now: NOW, cap: 100 })
    })
    const { out } = await exported(data)
    expect(Object.keys(rowsIn(out))).toEqual(['mark-00001.jsonl', 'progress-00001.jsonl', 'settings-00001.jsonl'])
    const target = newData()
    await imported(out, target)
    await withStores(here.flags(target), async ({ records, marks }) => {
      expect((await records.getProgressMany([{ viewer: '9', business: 1, oid: '1' }]))[0]?.position).toBe(5)
      expect((await marks.records.getCountsMany([{ business: 1, oid: '1' }]))[0]?.likes).toBe(1)
    })
  })

  test('a selection has the rows of the viewer, of the businesses, or since the version, and no others', async () => {
    const own = rowsIn((await exported('source', { viewer: '1' })).out)
    expect(Object.fromEntries(Object.entries(own).map(([name, lines]) => [name, lines.length]))).toEqual({
      ...{ 'filter-00001.jsonl': 1, 'follow-00001.jsonl': 1, 'mark-00001.jsonl': 10, 'post-00001.jsonl': 1 },
      ...{ 'progress-00001.jsonl': 40, 'user-count-00001.jsonl': 1, 'words-00001.jsonl': 1 },
    })
    expect(
      Object.values(own)
        .flat()
        .every((line) => /^\{"id":"1",|"(viewer|author)":"1"/.test(line)),
    ).toBe(true)

    const video = rowsIn((await exported('source', { business: ['video'] })).out)
    expect(Object.keys(video)).toEqual(['mark', 'owner', 'play', 'progress', 'settings'].map((kind) => `${kind}-00001.jsonl`))
    expect(video['progress-00001.jsonl']?.every((line) => line.includes('"business":"video"'))).toBe(true)

    const since = rowsIn((await exported('source', { since: NOW * 1_024 + 900 })).out)
    expect(since['progress-00001.jsonl']).toHaveLength(1)
    expect(since['settings-00001.jsonl']).toHaveLength(2)
  })
})

describe('interruptions', () => {
  test('an interrupted export continues behind its last file', async () => {
    const { out } = await exported('source')
    const before = rowsIn(out)
    const manifest = JSON.parse(readFileSync(join(out, 'export.json'), 'utf8'))
    const cut = manifest.files.findIndex(({ kind }: { kind: string }) => kind === 'owner')
    manifest.files = manifest.files.slice(0, cut)
    manifest.done = manifest.done.slice(0, manifest.done.indexOf('progress') + 1)
    writeFileSync(join(out, 'export.part.json'), JSON.stringify(manifest))
    renameSync(join(out, 'export.json'), join(here.folder, 'gone'))
    await expect(imported(out, newData())).rejects.toThrow('was interrupted')
    await expect(exported('source', { out, viewer: '1' })).rejects.toThrow('an interrupted export with other options')
    const { lines } = await exported('source', { out })
    expect(lines[0]).toMatch(/^continues the export in .* after 162 rows$/)
    expect(rowsIn(out)).toEqual(before)
    expect(existsSync(join(out, 'export.part.json'))).toBe(false)
    await expect(exported('source', { out })).rejects.toThrow('has a complete export')
  })

  test('an import with --resume leaves out the files that were complete', async () => {
    const { out } = await exported('source')
    const resume = here.path('resume.json')
    const data = newData()
    await imported(out, data, { resume })
    const done = JSON.parse(readFileSync(resume, 'utf8'))
    const { files } = JSON.parse(readFileSync(join(out, 'export.json'), 'utf8'))
    expect(done.imported.toSorted()).toEqual(files.map(({ sha256 }: { sha256: string }) => sha256).toSorted())
    const rest = files.filter(({ kind }: { kind: string }) => kind !== 'mark').map(({ sha256 }: { sha256: string }) => sha256)
    writeFileSync(resume, JSON.stringify({ ...done, imported: rest }))
    const other = newData()
    await imported(out, other, { resume })
    await withStores(here.flags(other), async ({ records, marks }) => {
      expect(await records.countProgress()).toBe(0)
      expect(await marks.records.exportMarks(1, undefined, 100)).toHaveLength(40)
    })
    await expect(imported((await exported('source')).out, other, { resume })).rejects.toThrow('is not of an import of this export')
  })
})

describe('bad input', () => {
  test('wrong rows are named by line, the good ones are counted, and nothing is imported', async () => {
    const { out } = await exported('source')
    const bad = changed(out, 'progress', (lines) => [
      ...['{"viewer":', '7', (lines[0] as string).replace('"position":0', '"position":-1'), (lines[1] as string).replace('video', 'vidoe')],
      ...[(lines[2] as string).replace('}', ',"more":1}'), ...lines.slice(5), lines.at(-1) as string],
    ])
    const data = newData()
    const { done, lines } = await imported(bad, data)
    expect(done).toBe(false)
    expect(lines).toEqual([
      'progress-00001.jsonl:1: it is not JSON: correct the line',
      'progress-00001.jsonl:2: it is not a JSON object: correct the line',
      expect.stringMatching(/^progress-00001\.jsonl:3: it is not a row of progress: position: -1 /),
      'progress-00001.jsonl:4: business "vidoe" is not configured: add it under businesses, or remove the row',
      'progress-00001.jsonl:5: it is not a row of progress: remove more',
      `progress-00001.jsonl:161: it has the same key as line 160: remove one of them`,
      `${ROWS - 5} rows are good and 6 are wrong: nothing was imported; correct them, or leave them out with --skip-wrong`,
    ])
    expect(existsSync(here.path(data))).toBe(false)
    expect((await imported(bad, data, { skipWrong: true, verify: true })).done).toBe(true)
    await withStores(here.flags(data), async ({ records }) =>
      expect(await records.listAllProgress(undefined, 1_000)).toHaveLength(PROGRESS - 5),
    )
  })

  test('an altered, a truncated and a missing file are refused before the first row', async () => {
    const { out } = await exported('source')
    const path = join(out, 'progress-00001.jsonl')
    const bytes = readFileSync(path)
    const data = newData()
    writeFileSync(path, Buffer.concat([Buffer.from(' '), bytes.subarray(1)]))
    await expect(imported(out, data)).rejects.toThrow('the checksum of')
    writeFileSync(path, bytes.subarray(0, 100))
    await expect(imported(out, data)).rejects.toThrow(`has 100 bytes instead of ${bytes.length}`)
    renameSync(path, `${path}.away`)
    await expect(imported(out, data)).rejects.toThrow(expect.objectContaining({ code: 'DATA_DAMAGED' }))
    expect(existsSync(here.path(data))).toBe(false)
  })

  test('an import is refused while a process uses the data folder, and a folder without an export is named', async () => {
    const { out } = await exported('source')
    const data = newData()
    const lock = lockDataFolder(here.path(data))
    await expect(imported(out, data)).rejects.toThrow(expect.objectContaining({ code: 'DATA_IN_USE' }))
    lock.release()
    await expect(imported(here.path('nothing'), data)).rejects.toThrow('has no export: name the folder of "tidemark export"')
    await expect(exported('source', { out: here.folder })).rejects.toThrow('is not empty')
    await expect(exported('source', { business: ['vidoe'] })).rejects.toThrow(expect.objectContaining({ code: 'BUSINESS_UNKNOWN' }))
    await expect(exported('nowhere')).rejects.toThrow('does not exist')
  })

  test('a verification names rows that are missing or different', async () => {
    const { out } = await exported('source')
    const data = newData()
    await imported(out, data)
    await withStores(here.flags(data), async ({ records }) => {
      while ((await records.purgeCleared('1', 2, NOW + 1_000, 100)) > 0);
    })
    const resume = here.path('all-imported.json')
    const { files, startedAt } = JSON.parse(readFileSync(join(out, 'export.json'), 'utf8'))
    writeFileSync(resume, JSON.stringify({ startedAt, imported: files.map(({ sha256 }: { sha256: string }) => sha256) }))
    const { done, lines } = await imported(out, data, { resume, verify: true })
    expect(done).toBe(false)
    expect(lines).toContainEqual(expect.stringMatching(/^progress +\d+ equal, 0 newer, 13 missing, 0 different$/))
  })
})
