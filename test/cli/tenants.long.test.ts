/** Commands about businesses, on the embedded stores: recount, export, deletion, and leftovers. */
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { plainMarkKey } from '../../subgraphs/thumbup/stores/lmdb/records/keys.ts'
import { openMarkTables } from '../../subgraphs/thumbup/stores/lmdb/records/tables.ts'
import { decodeCounts, encodeCounts } from '../../subgraphs/thumbup/stores/lmdb/records/values.ts'
import { ask, makeServiceFolder, startService } from '../../harness/deployment/service.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const { folder, remove } = makeServiceFolder()
const MARK =
  'mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome userErrors { code } mark } } }'
const REGISTER =
  'mutation ($subjects: [RegisterSubjectInput!]!) { registerSubjects(input: { subjects: $subjects }) { results { registered userErrors { code } } } }'
const VIEWERS = 7
const IDS = 30

/** `video` is on the common stores, `article` has its own data folder, and `comic` shares that of `video`. */
function settingsWith(deleted: readonly string[] = []) {
  const thumbup = (name: string, more: object = {}) => ({ ...more, ...(deleted.includes(name) && { deleted: true }) })
  return {
    thumbup: { flushAgeMaxMs: 20, windowMs: 50, sweepAfterMs: 500, sweepEveryMs: 100, purgeEveryMs: 50, reconcileEveryMs: 20 },
    stores: { regions: 4 },
    businesses: [
      { number: 1, name: 'video', entity: 'Video', thumbup: thumbup('video') },
      { number: 2, name: 'article', entity: 'Article', thumbup: thumbup('article', { stores: { data: join(folder, 'article') } }) },
      { number: 3, name: 'comic', entity: 'Comic', thumbup: thumbup('comic', { marksMax: 10 }) },
    ],
  }
}

const marksOf = (business: string) =>
  Array.from({ length: VIEWERS * IDS }, (_, at) => ({
    viewer: String(1 + (at % VIEWERS)),
    business,
    id: String(1 + Math.floor(at / VIEWERS)),
    mark: at % 5 === 0 ? 'DISLIKE' : 'LIKE',
    markedAt: 1_790_000_000_000 + at,
  }))

const flags = ['--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data')]

function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args, ...flags], { cwd: folder }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })
}

async function settled(url: string): Promise<void> {
  for (const end = Date.now() + 60_000; ; await sleep(50)) {
    const text = await (await fetch(new URL('/metrics', url))).text()
    // The figures of the common stores, and of the own stores of `article`.
    const waiting = [...text.matchAll(/^(?:tidemark_dirty_marks|tidemark_marks_log_lag_messages)\{business="\w*"\} (\S+)$/gm)]
    if (waiting.length === 4 && waiting.every(([, count]) => count === '0')) return
    if (Date.now() > end) throw new Error('marks were left to persist for 20 s')
  }
}

type Line = { viewer?: string; business: string; id: string; mark?: string; markedAt?: number; version?: number; owner?: string }

let exports = 0
/** The rows of marks and owners in an export of the business. */
async function exported(business: string): Promise<Line[]> {
  const out = join(folder, `export-${(exports += 1)}`)
  expect(await run('export', '--out', out, '--business', business)).toMatchObject({ status: 0, error: '' })
  const files = readdirSync(out).filter((name) => /^(?:mark|owner)-/.test(name))
  return files.flatMap((name) =>
    readFileSync(join(out, name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line),
  )
}

beforeAll(async () => {
  const service = await startService({ folder, settings: settingsWith() })
  for (const business of ['video', 'article']) {
    const marked = await ask(service.url, 'service', MARK, { marks: marksOf(business) }, { 'x-viewer-scopes': 'marks:write-any' })
    expect(marked.data.setMarkBatch.results.every((each: { outcome: string }) => each.outcome === 'ACCEPTED')).toBe(true)
    const subjects = Array.from({ length: IDS + 1 }, (_, at) => ({ business, id: String(1 + at), owner: `o${at % 3}` }))
    await ask(service.url, 'service', REGISTER, { subjects }, { 'x-viewer-scopes': 'subjects:register' })
  }
  await settled(service.url)
  await service.stop()
})
afterAll(remove)

describe('without a running service', () => {
  test('reconcile recounts every business in its own store, and finds no drift', async () => {
    const { status, out, error } = await run('reconcile')
    expect({ status, error }).toEqual({ status: 0, error: '' })
    expect(out).toContain(`video: ${IDS} subjects and 3 owners recounted, 0 differ`)
    expect(out).toContain(`article: ${IDS} subjects and 3 owners recounted, 0 differ`)
    expect((await run('reconcile', '--business', 'article')).out).not.toContain('video')
  })

  test('an export has every live mark once, and every owner, of one business alone', async () => {
    const lines = await exported('article')
    const marks = lines.filter((line) => 'mark' in line)
    const byKey = (a: { viewer?: string; id: string }, b: { viewer?: string; id: string }) =>
      Number(a.viewer) - Number(b.viewer) || Number(a.id) - Number(b.id)
    expect(marks.map(({ version: _version, ...mark }) => mark)).toEqual(marksOf('article').toSorted(byKey))
    expect(lines.filter((line) => 'owner' in line)).toHaveLength(IDS + 1)
  })

  test('an unknown business is reported in a sentence', async () => {
    for (const command of [['export', '--out', join(folder, 'nobody'), '--business'], ['business-left']]) {
      const { status, error } = await run(...command, 'nobody')
      expect({ command, status, error }).toEqual({
        command,
        status: 1,
        error: expect.stringMatching(/^BUSINESS_UNKNOWN: business "nobody"/),
      })
    }
    expect((await run('reconcile', '--business', 'nobody')).error).toMatch(/^BUSINESS_UNKNOWN/)
  })

  test('business-left shows the data of a business that is not deleted', async () => {
    const { status, out } = await run('business-left', 'article')
    expect(status).toBe(0)
    expect(out).toContain(`record store    ${VIEWERS * IDS} rows, 0 blocks of the archive, ${IDS + 1} subjects, 3 owners`)
    expect(out).toContain(`hot store       marks of ${VIEWERS} viewers`)
    expect(out).toMatch(/^events {10}[1-9]/m)
    expect(out).toContain('is not deleted')
  })
})

test('a business over its quota is refused, undoing continues, and others are unaffected', async () => {
  const service = await startService({ folder, settings: settingsWith() })
  try {
    const mark = (business: string, id: string, kind: string) =>
      ask(service.url, '900', MARK, { marks: [{ business, id, mark: kind }] }).then(({ data }) => data.setMarkBatch.results[0])
    for (let id = 1; id <= 10; id++) expect(await mark('comic', String(id), 'LIKE')).toMatchObject({ outcome: 'ACCEPTED' })
    await settled(service.url)
    // The stored marks are summed up in the background.
    let last
    for (const end = Date.now() + 60_000; Date.now() < end && last?.outcome !== 'REJECTED'; await sleep(50)) {
      last = await mark('comic', '11', 'LIKE')
      if (last.outcome !== 'REJECTED') await mark('comic', '11', 'NONE')
    }
    expect(last).toEqual({ outcome: 'REJECTED', userErrors: [{ code: 'QUOTA_EXCEEDED' }], mark: null })
    expect(await mark('comic', '1', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', mark: 'NONE' })
    expect(await mark('video', '1', 'LIKE')).toMatchObject({ outcome: 'ACCEPTED' })
    expect(await mark('video', '1', 'NONE')).toMatchObject({ outcome: 'ACCEPTED' })
    await settled(service.url)
  } finally {
    await service.stop()
  }
})

test.each(['article', 'comic'])(
  'the deleted business %s is reported in every answer, leaves nothing in any store, and others keep everything',
  async (name) => {
    const before = await exported('video')
    const service = await startService({ folder, settings: settingsWith([name]) })
    try {
      const marked = await ask(service.url, '7', MARK, { marks: [{ business: name, id: '1', mark: 'LIKE' }] })
      expect(marked.data.setMarkBatch.results[0]).toMatchObject({ outcome: 'REJECTED', userErrors: [{ code: 'BUSINESS_DELETED' }] })
      const read = await ask(service.url, '7', `{ subjects(business: "${name}", ids: ["1"]) { likeCount } }`)
      expect(read.errors?.[0]?.extensions.code).toBe('BUSINESS_DELETED')
      const registered = await ask(
        service.url,
        's',
        REGISTER,
        { subjects: [{ business: name, id: '1', owner: 'o' }] },
        { 'x-viewer-scopes': 'subjects:register' },
      )
      expect(registered.data.registerSubjects.results).toEqual([{ registered: false, userErrors: [{ code: 'BUSINESS_DELETED' }] }])
      for (const end = Date.now() + 60_000; (await run('business-left', name)).status !== 0; await sleep(200))
        if (Date.now() > end) throw new Error((await run('business-left', name)).out)
    } finally {
      await service.stop()
    }
    const { out } = await run('business-left', name)
    expect(out).toContain('record store    0 rows, 0 blocks of the archive, 0 subjects, 0 owners')
    expect(out).toContain('hot store       marks of 0 viewers')
    expect(out).toContain('events          0\n')
    expect(out).toContain(`nothing is left of business "${name}"`)
    expect(await exported(name)).toEqual([])
    expect(await exported('video')).toEqual(before)
    expect((await run('reconcile')).status).toBe(0)
  },
)

test('reconcile prints differing counts and ends with status 1', async () => {
  const environment = openEnvironment(join(folder, 'data'), { regions: 4, sizeMaxGb: 64 })
  const { counts } = openMarkTables(environment)
  await environment.write(() => {
    const key = plainMarkKey(1, '5')
    const held = decodeCounts(counts.getBinary(key) as Buffer)
    void counts.put(key, encodeCounts({ ...held, counts: { ...held.counts, likes: held.counts.likes + 3 } }))
  })
  await environment.close()
  const { status, out } = await run('reconcile', '--business', 'video')
  expect(status).toBe(1)
  expect(out).toMatch(/DRIFT {2}video\/5: \d+ likes and \d+ dislikes are counted, \d+ and \d+ are stored/)
  expect(out).toMatch(/DRIFT {2}video, owner o1: \d+ likes received are counted, the subjects have \d+/)
  expect(out).toContain('2 differ')
})
