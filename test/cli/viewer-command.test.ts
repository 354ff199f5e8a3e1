/** `tidemark viewer`: its arguments, its report, and the files on disk. */
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setVersion } from '../../cli/configuration/versions.ts'
import { exportData } from '../../cli/move/export.ts'
import { importData } from '../../cli/move/import.ts'
import { viewer, type ViewerFlags } from '../../cli/privacy/viewer.ts'
import { readSettingsInEffect } from '../../cli/process/live-config.ts'
import { readSettings, readSources } from '../../cli/process/settings.ts'
import { openStores } from '../../cli/stores/history.ts'
import { systemClock } from '../../core/clock.ts'
import { packedIdOf } from '../../core/keys.ts'
import { lockDataFolder } from '../../stores/lmdb/folder-lock.ts'

const ID = 'viewer-with-a-name-that-nothing-else-has'
const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const mayMount = process.platform === 'linux' && process.getuid?.() === 0
const SECRET = 'a secret of at least thirty-two bytes'
const codeOf = (code: string): object => expect.objectContaining({ code }) as object
const silent = { debug() {}, info() {}, warn() {}, error() {} }

let folder: string
let flags: Required<Pick<ViewerFlags, 'config' | 'data'>>
let printed: string[]
const print = (line: string): void => void printed.push(line)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-viewer-'))
  flags = { config: join(folder, 'tidemark.yaml'), data: join(folder, 'data') }
  configure({})
})
beforeEach(() => {
  printed = []
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function configure(settings: object): void {
  writeFileSync(flags.config, JSON.stringify(settings))
}

async function watch(id: string, subjects: number): Promise<void> {
  const stores = await openStores(readSettings(flags), systemClock, silent)
  const now = Date.now()
  const record = { viewedAt: now, since: 0, rank: now, version: 0, position: 1, duration: 2, device: 'tv', finished: false, deleted: false }
  const writes = Array.from({ length: subjects }, (_, at) => ({ viewer: id, business: 1, oid: `subject-${at}`, record, decisive: true }))
  await stores.hot.putProgress(writes, { now, timelineCap: 1_000 })
  await stores.log.appendFlushes([{ region: 0, keys: writes.map(({ viewer: of, business, oid }) => ({ viewer: of, business, oid })) }])
  await stores.close()
}

test('a data folder that does not exist is refused, and none is made', async () => {
  await expect(viewer('erase', '7', flags, print)).rejects.toThrow(codeOf('CONFIG_INVALID'))
  expect(readdirSync(folder)).toEqual(['tidemark.yaml'])
})

test('an erasure of nobody finds nothing, and is reported', async () => {
  await watch('another', 1)
  await viewer('erase', 'nobody', { ...flags, report: join(folder, 'nobody.json') }, print)
  expect(printed[0]).toBe('nothing was stored of the viewer')
  expect(printed).toContain('erasure         COMPLETE')
})

test('wrong calls are refused with a sentence', async () => {
  const notJson = join(folder, 'rows.parquet')
  writeFileSync(notJson, 'PAR1')
  const wrong: [what: string, id: string, more: ViewerFlags, sentence: RegExp][] = [
    ['erase', '', {}, /is empty/],
    ['erase', 'x'.repeat(65), {}, /at most 64 bytes/],
    ['forget', '7', {}, /"forget" is not a command of viewer/],
    ['export', '7', { verify: true }, /--verify belongs to viewer erase/],
    ['erase', '7', { out: 'x' }, /--out names the file of an export/],
    ['erase', '7', { verify: true, compact: true }, /--verify changes nothing/],
    ['erase', '7', { exports: [join(folder, 'missing')] }, /--exports .* does not exist/],
    ['erase', '7', { exports: [notJson] }, /line 1 is not a JSON object.*make the export again/],
    ['erase', '7', { verify: true, report: join(folder, 'missing') }, /--report .* cannot be read/],
    ['erase', '7', { verify: true, report: flags.config }, /is not a report of an erasure/],
  ]
  for (const [what, id, more, sentence] of wrong) await expect(viewer(what, id, { ...flags, ...more }, print)).rejects.toThrow(sentence)
})

/** The data files that have the id. */
function filesWithId(): string[] {
  const files = readdirSync(flags.data, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.mdb'))
  expect(files).not.toEqual([])
  return files.filter((name) => {
    const bytes = readFileSync(join(flags.data, name))
    return [Buffer.from(ID), packedIdOf(ID)].some((needle) => bytes.includes(needle))
  })
}

test('after an erasure with --compact no data file has the id', async () => {
  await watch(ID, 200)
  expect(filesWithId()).toContain('tidemark.mdb')
  await viewer('erase', ID, { ...flags, compact: true, report: join(folder, 'report.json') }, print)
  expect(filesWithId()).toEqual([])
  expect(printed.join('\n')).not.toContain('free pages')
  // The copy is a sound data file with the data of others.
  const stores = await openStores(readSettings(flags), systemClock, silent)
  expect((await stores.hot.getProgressMany([{ viewer: 'another', business: 1, oid: 'subject-0' }]))[0]?.record?.position).toBe(1)
  await stores.close()
})

test('--compact is refused beside a running service, and nothing is erased', async () => {
  await watch(ID, 1)
  const lock = lockDataFolder(flags.data)
  await expect(viewer('erase', ID, { ...flags, compact: true }, print)).rejects.toThrow(codeOf('DATA_IN_USE'))
  lock.release()
  await expect(viewer('erase', ID, { ...flags, verify: true }, print)).rejects.toThrow(codeOf('ERASURE_INCOMPLETE'))
  expect(printed.some((line) => /^history: hot store {2}\d+ left$/.test(line))).toBe(true)
})

test('an erasure whose files cannot be compacted leaves an incomplete report that names the free pages', async () => {
  await watch(ID, 1)
  const report = join(folder, 'not-compacted.json')
  const held = join(folder, 'held.jsonl')
  writeFileSync(held, `${JSON.stringify({ kind: 'viewer', viewer: ID })}\n`)
  const erasing = expect(viewer('erase', ID, { ...flags, compact: true, report, exports: [held] }, print)).rejects.toThrow(
    codeOf('DATA_IN_USE'),
  )
  // The first pass removes the export. A service starts before the second one.
  while (existsSync(held)) await sleep(5)
  const lock = lockDataFolder(flags.data)
  await erasing
  lock.release()
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ status: 'INCOMPLETE' })
  expect(readFileSync(report, 'utf8')).toContain('free pages of the data file')
  expect(printed).toContain('erasure         INCOMPLETE')
  await viewer('erase', ID, { ...flags, verify: true }, print)
})

test('a report that cannot be written stops the command before anything is erased', async () => {
  await watch(ID, 1)
  // Root may write into every folder, but /proc takes no new files.
  for (const report of [join(folder, 'nowhere', 'report.json'), folder, '/proc/report.json'])
    await expect(viewer('erase', ID, { ...flags, report }, print)).rejects.toThrow(/name another file with --report$/)
  await expect(viewer('erase', ID, { ...flags, verify: true }, print)).rejects.toThrow(codeOf('ERASURE_INCOMPLETE'))
})

test.skipIf(!mayMount)('a held export on a read-only disk leaves an incomplete report', async () => {
  await watch(ID, 1)
  const [disk, report] = [join(folder, 'read-only'), join(folder, 'read-only.json')]
  mkdirSync(disk)
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', disk])
  try {
    writeFileSync(join(disk, 'held.jsonl'), `${JSON.stringify({ kind: 'viewer', viewer: ID })}\n`)
    execFileSync('mount', ['-o', 'remount,ro', disk])
    const exports = [join(disk, 'held.jsonl')]
    await expect(viewer('erase', ID, { ...flags, report, exports }, print)).rejects.toThrow(codeOf('CONFIG_INVALID'))
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ status: 'INCOMPLETE' })
  } finally {
    execFileSync('umount', [disk])
  }
  await viewer('erase', ID, { ...flags, verify: true }, print)
})

test('a report is signed, and a changed one, one of another viewer, and one of another key are refused', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const [report, signed] = [join(folder, 'report-of-keys.json'), join(folder, 'signed.json')]
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  for (const [privacy, digest, alg] of [
    [{ secret: SECRET }, 'hmac-sha256:', 'HS256'],
    [{ privateKey: pem }, 'sha256:', 'EdDSA'],
    [{ secret: SECRET, privateKey: pem }, 'hmac-sha256:', 'EdDSA'],
  ] as const) {
    configure({ privacy })
    await viewer('erase', ID, { ...flags, report }, print)
    await viewer('erase', ID, { ...flags, verify: true, report }, print)
    expect(printed.some((line) => /^report of .*: COMPLETE, the signature is right$/.test(line))).toBe(true)
    const text = readFileSync(report, 'utf8')
    if (digest === 'sha256:') writeFileSync(signed, text)
    expect(JSON.parse(text)).toMatchObject({ viewer: expect.stringMatching(`^${digest}`) as string, signature: { alg } })
    await expect(viewer('erase', 'someone-else', { ...flags, verify: true, report }, print)).rejects.toThrow(/about another viewer/)
    writeFileSync(report, text.replace('COMPLETE', 'complete'))
    await expect(viewer('erase', ID, { ...flags, verify: true, report }, print)).rejects.toThrow(/signature of .* is wrong/)
    writeFileSync(report, JSON.stringify({ ...(JSON.parse(text) as object), status: 'complete', signature: undefined }))
    await expect(viewer('erase', ID, { ...flags, verify: true, report }, print)).rejects.toThrow(/has no signature/)
  }
  configure({})
  await expect(viewer('erase', ID, { ...flags, verify: true, report: signed }, print)).rejects.toThrow(/cannot be checked without its key/)
  configure({ privacy: { privateKey: 'no key' } })
  await expect(viewer('erase', ID, flags, print)).rejects.toThrow(/privacy.privateKey is not a private key/)
  configure({})
})

test('a report without a signature is checked with the warning that it proves nothing, also if it was changed', async () => {
  const report = join(folder, 'unsigned.json')
  await viewer('erase', ID, { ...flags, report }, print)
  for (const text of [readFileSync(report, 'utf8'), readFileSync(report, 'utf8').replace('COMPLETE', 'INCOMPLETE')]) {
    writeFileSync(report, text)
    printed = []
    await viewer('erase', ID, { ...flags, verify: true, report }, print)
    expect(printed).toEqual([
      expect.stringMatching(/^report of .*: (IN)?COMPLETE, without a signature$/),
      `UNPROVEN        ${report} has no signature, so changes of it cannot be detected. Set privacy.secret or privacy.privateKey to sign later reports`,
      expect.stringMatching(/^nothing of the viewer in \d+ places$/),
    ])
  }
})

test('each erasure keeps a report in the data folder, under a digest of the id and the time of its start', async () => {
  for (let erasure = 1; erasure <= 2; erasure++) {
    await viewer('erase', ID, flags, print)
    const names = readdirSync(join(flags.data, 'erasures'))
    expect(names).toHaveLength(erasure)
    for (const name of names) {
      expect(name).toMatch(/^[0-9a-f]{32}-\d{8}T\d{9}Z\.json$/)
      expect(readFileSync(join(flags.data, 'erasures', name), 'utf8')).not.toContain(ID)
    }
  }
})

test('a folder of exports with a file that cannot be changed is refused by its name, and nothing is erased', async () => {
  await watch(ID, 1)
  const exports = join(folder, 'exports')
  mkdirSync(exports)
  writeFileSync(join(exports, 'progress-00001.jsonl'), `${JSON.stringify({ viewer: ID })}\n`)
  for (const name of ['progress-00002.parquet', 'progress-00003.jsonl.gz', 'export.part.json']) {
    writeFileSync(join(exports, name), ID)
    await expect(viewer('erase', ID, { ...flags, exports: [exports] }, print)).rejects.toThrow(`${join(exports, name)} is neither`)
    rmSync(join(exports, name))
  }
  await expect(viewer('erase', ID, { ...flags, verify: true }, print)).rejects.toThrow(codeOf('ERASURE_INCOMPLETE'))
  writeFileSync(join(exports, 'export.json'), JSON.stringify({ viewer: ID }))
  await expect(viewer('erase', ID, { ...flags, exports: [exports] }, print)).rejects.toThrow(codeOf('DATA_DAMAGED'))
  await expect(viewer('erase', ID, { ...flags, verify: true }, print)).rejects.toThrow(codeOf('ERASURE_INCOMPLETE'))
})

/** Parquet files are compressed. */
async function contentOf(file: string): Promise<string> {
  if (!file.endsWith('.parquet')) return readFileSync(file, 'latin1')
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) })
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))
}

for (const form of ['jsonl', 'parquet'] as const) {
  test(`an export in the form ${form} loses the rows of the viewer, and the rest can be imported`, async () => {
    const out = join(folder, `held-${form}`)
    await watch('another', 3)
    await watch(ID, 5)
    await exportData({ ...flags, out, form }, print)
    const progress = join(out, `progress-00001.${form}`)
    expect(await contentOf(progress)).toContain(ID)
    await expect(viewer('erase', ID, { ...flags, exports: [progress] }, print)).rejects.toThrow(/name the folder/)

    const damaged = join(folder, `damaged-${form}`)
    cpSync(out, damaged, { recursive: true })
    const list = join(damaged, 'export.json')
    const otherDigit = (_: string, before: string, digit: string): string => before + (digit === '0' ? '1' : '0')
    writeFileSync(list, readFileSync(list, 'utf8').replaceAll(/("sha256": ")(.)/g, otherDigit))

    await viewer('erase', ID, { ...flags, exports: [out, damaged] }, print)
    expect(printed).toContain(`export: ${progress}  5 removed`)
    for (const held of [out, damaged]) for (const name of readdirSync(held)) expect(readFileSync(join(held, name)).includes(ID)).toBe(false)
    await viewer('erase', ID, { ...flags, verify: true, exports: [out] }, print)

    const target = join(folder, `target-${form}`)
    mkdirSync(target)
    await expect(importData(damaged, { ...flags, data: target }, print)).rejects.toThrow(codeOf('DATA_DAMAGED'))
    expect(await importData(out, { ...flags, data: target, verify: true }, print)).toBe(true)
    const stores = await openStores(readSettings({ ...flags, data: target }), systemClock, silent)
    const positionOf = async (id: string) =>
      (await stores.hot.getProgressMany([{ viewer: id, business: 1, oid: 'subject-2' }]))[0]?.record?.position
    expect([await positionOf('another'), await positionOf(ID)]).toEqual([1, undefined])
    await stores.close()
  })
}

test('the last line of an export has the number of lines, and a full disk ends it with STORE_FULL and without a file', async () => {
  const out = join(folder, 'whole.jsonl')
  await watch(ID, 2)
  await viewer('export', ID, { ...flags, out }, print)
  const lines = readFileSync(out, 'utf8').trim().split('\n')
  expect(JSON.parse(lines.at(-1) as string)).toEqual({ kind: 'end', lines: lines.length - 1 })
  const full = (...more: string[]) => `"$0" ${COMMAND} viewer export ${ID} --config ${flags.config} --data ${flags.data} ${more.join(' ')}`
  for (const command of [`${full()} > /dev/full`, full('--out', '/dev/full')]) {
    const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^STORE_FULL: .*: free space, and run the command again\n$/) as string,
    })
  }
})

test.skipIf(!mayMount)('an export to a disk that fills up leaves no file', async () => {
  await watch(ID, 1_000)
  const small = join(folder, 'small')
  mkdirSync(small)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small])
  try {
    await expect(viewer('export', ID, { ...flags, out: join(small, 'viewer.jsonl') }, print)).rejects.toThrow(codeOf('STORE_FULL'))
    expect(readdirSync(small)).toEqual([])
  } finally {
    execFileSync('umount', [small])
  }
})

test('exports that are held lose the lines of the viewer, and the audience its id', async () => {
  await viewer('erase', ID, flags, print)
  const file = join(folder, 'post.jsonl')
  const lines = [
    { kind: 'post', id: '1', author: ID, text: 'gone' },
    { kind: 'post', id: '2', author: 'b', text: 'kept', audience: [ID, 'c'] },
    { kind: 'follow', viewer: 'b', id: ID },
    { kind: 'mark', viewer: 'b', id: ID, mark: 'LIKE' },
    { kind: 'follower', viewer: 'b', id: ID },
    { kind: 'end', lines: 5 },
  ]
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  await expect(viewer('erase', ID, { ...flags, verify: true, exports: [file] }, print)).rejects.toThrow(/4 entries/)
  await viewer('erase', ID, { ...flags, exports: [file] }, print)
  expect(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toEqual([{ ...lines[1], audience: ['c'] }, lines[3], { kind: 'end', lines: 2 }])
})

test('a business that exists only in a live version is exported and erased', async () => {
  const file = join(folder, 'live.yaml')
  writeFileSync(file, JSON.stringify({ businesses: [{ number: 9, name: 'podcast', entity: 'Podcast', thumbup: { enabled: true } }] }))
  await setVersion(readSources(flags), file, { expect: '0' }, print)
  const stores = await openStores(await readSettingsInEffect(flags), systemClock, silent)
  const key = { viewer: ID, business: 9, oid: 'episode' }
  await stores.marks.records.applyMarks([{ key, record: { mark: 'LIKE', markedAt: Date.now(), version: 1 } }], [])
  await stores.close()

  const out = join(folder, 'viewer.jsonl')
  await viewer('export', ID, { ...flags, out }, print)
  expect(readFileSync(out, 'utf8')).toMatch(/"kind":"mark".*"business":"podcast","id":"episode","mark":"LIKE"/)
  await exportData({ ...flags, out: join(folder, 'moved'), form: 'jsonl', business: ['podcast'] }, print)
  expect(printed.join('\n')).toMatch(/mark\b.*1 rows/)
  await expect(viewer('erase', ID, { ...flags, verify: true }, print)).rejects.toThrow(codeOf('ERASURE_INCOMPLETE'))
  await viewer('erase', ID, { ...flags, report: join(folder, 'podcast.json') }, print)
  expect(printed.some((line) => /^marks: record store {2}\d+ removed$/.test(line))).toBe(true)
  expect(printed).toContain('erasure         COMPLETE')
  await viewer('erase', ID, { ...flags, verify: true }, print)
})

test('a live version that cannot be read stops the command, and nothing is erased', async () => {
  await watch(ID, 1)
  const [version = 0] = readdirSync(join(flags.data, 'live')).map((name) => Number.parseInt(name, 10))
  const broken = join(flags.data, 'live', `${version + 1}.json`)
  writeFileSync(broken, '{')
  await expect(viewer('erase', ID, flags, print)).rejects.toThrow(/newest live version cannot be read, .*\d\.json cannot be read/)
  rmSync(broken)
  await expect(viewer('erase', ID, { ...flags, verify: true }, print)).rejects.toThrow(codeOf('ERASURE_INCOMPLETE'))
})
