/** The commands beside `start`, run as by a user. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { addToFilter } from '../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../subgraphs/feed-existence/filter/hash.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { openLmdbSeenRecords } from '../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import type { FilterKey } from '../../subgraphs/feed-existence/stores/record-store.ts'
import { readInteractions } from '../../cli/replay/interactions.ts'
import { SUBGRAPH_NAMES } from '../../subgraphs/names.ts'
import { sampleReports, type SampleOptions } from '../../cli/replay/sample.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const files = mkdtempSync(join(tmpdir(), 'tidemark-cli-'))
const { folder, remove } = makeServiceFolder()
let service: Service

beforeAll(async () => {
  service = await startService({ folder, settings: { history: { flushAgeMaxMs: 100, sweepAfterMs: 1_000 } } })
})
afterAll(async () => {
  await service.stop()
  remove()
  rmSync(files, { recursive: true, force: true })
})

function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], { cwd: files }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })
}

function write(name: string, text: string): string {
  const path = join(files, name)
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text)
  return path
}

/** Reads the history entry and the mark of the viewer for video 5. */
const READ = '{ viewerHistory(first: 1) { edges { node { id } } } subjects(business: "video", ids: ["5"]) { viewerMark } }'

const rowsOf = async (path: string) => {
  const rows = []
  for await (const row of readInteractions(path)) rows.push(row)
  return rows
}

describe('interactions', () => {
  test('are read alike from seconds and milliseconds, TSV and JSONL, plain and gzipped', async () => {
    const expected = [{ viewer: '7', oid: 'a', viewedAt: 1_383_436_800_000 }]
    expect(await rowsOf(write('a.tsv', 'user_id\titem_id\ttime\n7\ta\t1383436800\n'))).toEqual(expected)
    expect(await rowsOf(write('b.tsv.gz', 'time\tviewer\tsubject\n1383436800000\t7\ta\n'))).toEqual(expected)
    expect(await rowsOf(write('c.jsonl', '{"viewer": 7, "id": "a", "viewedAt": 1383436800000}\n'))).toEqual(expected)
  })

  test('with an id that was rounded by the JSON parser are refused with the line', async () => {
    const path = write(
      'large.jsonl',
      '{"viewer": 7, "id": "9007199254740993", "viewedAt": 1}\n{"viewer": 7, "id": 9007199254740993, "viewedAt": 1}\n',
    )
    await expect(rowsOf(path)).rejects.toThrow(/large.jsonl:2: the subject is the number 9007199254740992.*send ids as strings/)
  })

  test.each([
    ['no-header.tsv', '1\t2\t3\n', 'no-header.tsv:1 is not a header'],
    ['no-time.tsv', 'viewer\tsubject\ttime\n1\t2\t\n1\t2\tx\n', 'no-time.tsv:'],
    ['broken.jsonl', '{"viewer": 7, "id": "a", "time": 1}\n{"viewer"\n', 'broken.jsonl:2 is not JSON'],
  ])('%s is refused with its line', async (name, text, sentence) => {
    await expect(rowsOf(write(name, text))).rejects.toThrow(sentence)
  })
})

describe('sample', () => {
  const options: SampleOptions = {
    viewers: 100,
    subjects: 1_000,
    reports: 20_000,
    seed: 5,
    skew: 1,
    from: 1_700_000_000_000,
    businesses: ['video'],
  }
  const all = (change: Partial<SampleOptions> = {}) => [...sampleReports({ ...options, ...change })]

  test('is equal for the same seed, and different for another', () => {
    expect(all()).toEqual(all())
    expect(all({ seed: 6 })).not.toEqual(all())
  })

  test('follows the Zipf law: the first subject is watched about twice as often as the second', () => {
    const sessions = new Map<string, Set<string>>()
    for (const { id, viewer, viewedAt, position } of all({ reports: 200_000 })) {
      if (position <= 15_000) sessions.set(id, (sessions.get(id) ?? new Set()).add(`${viewer}@${viewedAt}`))
    }
    const times = (id: string) => sessions.get(id)?.size ?? 0
    expect(times('1') / times('2')).toBeGreaterThan(1.4)
    expect(times('1') / times('2')).toBeLessThan(2.8)
    expect(times('1')).toBeGreaterThan(times('10') * 5)
  })

  test('prints the given number of lines, each a report the service accepts', async () => {
    const { out } = await run('sample', '--reports', '50')
    const lines = out.trim().split('\n')
    expect(lines).toHaveLength(50)
    const reports = lines.map((line) => JSON.parse(line))
    const { data } = await ask(
      service.url,
      'x',
      'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }',
      { reports },
      { 'x-viewer-scopes': 'progress:write-any' },
    )
    expect(new Set(data.reportProgressBatch.results.map((each: { outcome: string }) => each.outcome))).toEqual(new Set(['ACCEPTED']))
  })
})

describe('replay', () => {
  const path = write(
    'replay.tsv',
    ['viewer\tsubject\ttime', ...Array.from({ length: 300 }, (_, i) => `r${i % 20}\t${i % 70}\t${1_000_000_000 + i}`)].join('\n'),
  )

  test('sends every row with its heartbeats, reports the convergence of the write-back, and verifies every timeline', async () => {
    const { status, out } = await run('replay', path, '--url', service.url, '--heartbeats', '4', '--verify')
    expect(out).toMatch(/reports +1200 \(/)
    expect(out).toMatch(/write-back +1\d\d\d reports : \d+ flush messages : \d+ persisted rows/)
    expect(out).toMatch(/verified +20 timelines/)
    expect(status).toBe(0)
  })

  test('--verify fails if a timeline differs from the file', async () => {
    const tampered = write('tampered.tsv', 'viewer\tsubject\ttime\nt1\t5\t1000000000\n')
    await run('replay', tampered, '--url', service.url, '--no-wait')
    await ask(service.url, 't1', 'mutation { deleteHistory(input: { business: "video", ids: ["5"] }) { deletedIds } }')
    const { status, out } = await run('replay', tampered, '--url', service.url, '--no-wait', '--verify')
    expect(out).toContain('NOT EQUAL')
    expect(status).toBe(1)
  })

  test('--verify-only sends nothing, so unsent rows are missing', async () => {
    const unsent = write('unsent.tsv', 'viewer\tsubject\ttime\nnever-sent\t5\t1000000000\n')
    const { status, out } = await run('replay', unsent, '--url', service.url, '--verify-only')
    expect(out).toContain('NOT EQUAL')
    expect(out).not.toContain('throughput')
    expect(status).toBe(1)
    const marks = await run('replay', unsent, '--url', service.url, '--marks', '--verify-only')
    expect(marks.out).toMatch(/NOT EQUAL +1 of 1 states of viewers/)
    expect(marks.status).toBe(1)
  })

  test.each([['tidemark_dirty_keys'], ['tidemark_dirty_marks', '--marks']])(
    'a process without a job, which cannot report that everything is persisted (%s), is refused before anything is sent',
    async (figure, ...more) => {
      const stranger = createServer((_, response) => response.end('up 1\n')).listen(0, '127.0.0.1')
      await once(stranger, 'listening')
      const job = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
      const unsent = write('unwaited.tsv', 'viewer\tsubject\ttime\nunwaited\t5\t1000000000\n')
      const { status, out, error } = await run('replay', unsent, '--url', service.url, '--job', job, '--verify', ...more)
      stranger.close()
      expect(error).toContain(`has no ${figure}: give the address of a job with --job`)
      expect({ status, out }).toEqual({ status: 1, out: '' })
      const { data } = await ask(service.url, 'unwaited', READ)
      expect(data).toEqual({ viewerHistory: { edges: [] }, subjects: [{ viewerMark: 'NONE' }] })
    },
  )

  test('reports the reason of a rejected report once', async () => {
    const rejected = write('rejected.tsv', `viewer\tsubject\ttime\n1\t${'5'.repeat(65)}\t1000000000\n1\t${'6'.repeat(65)}\t1000000000\n`)
    const { status, out } = await run('replay', rejected, '--url', service.url, '--no-wait')
    expect(out).toMatch(/2 REJECTED/)
    expect(out.match(/first rejected {2}ID_INVALID: /g)).toHaveLength(1)
    expect(out).toMatch(/throughput +0 reports\/s acknowledged/)
    expect(status).toBe(1)
  })

  test.each([[[]], [['--marks']]])('an unknown business ends it at once %j', async (more: string[]) => {
    const { status, out, error } = await run('replay', path, '--url', service.url, '--no-wait', '--business', 'nope', ...more)
    expect(error).toMatch(/^BUSINESS_UNKNOWN: business "nope" is not configured/)
    expect({ status, out }).toEqual({ status: 1, out: '' })
  })

  test.each([[[]], [['--marks']]])('the path of the API may be missing in its address %j', async (more: string[]) => {
    const rows = write('origin.tsv', 'viewer\tsubject\ttime\norigin\t5\t1000000000\n')
    const { status, out } = await run('replay', rows, '--url', new URL(service.url).origin, '--no-wait', ...more)
    expect(out).toContain('1 ACCEPTED')
    expect(status).toBe(0)
  })

  test('an unreachable service and a missing file end with a sentence', async () => {
    expect((await run('replay', path, '--url', 'http://127.0.0.1:1/graphql')).error).toMatch(/does not answer: start the service/)
    const missing = await run('replay', 'missing.tsv', '--url', service.url)
    expect(missing.status).toBe(1)
    expect(missing.error).toContain('missing.tsv')
    expect(missing.error).not.toContain('    at ')
  })
})

describe('inspect', () => {
  test('shows the stored data of a viewer, beside the running service', async () => {
    const input = { business: 'video', id: 'seen', position: 60_000, viewedAt: 1_600_000_000_000 }
    await ask(service.url, 'inspected', 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }', { input })
    for (const [id, mark] of Object.entries({ good: 'LIKE', bad: 'DISLIKE' }))
      await ask(service.url, 'inspected', `mutation { setMark(input: { business: "video", id: "${id}", mark: ${mark} }) { outcome } }`)
    await expect
      .poll(async () => (await run('inspect', 'viewer', 'inspected', '--data', join(folder, 'data'))).out)
      .toMatch(/^\S+Z {2}liked video\/good\n\S+Z {2}disliked video\/bad$/m)
    const { out } = await run('inspect', 'viewer', 'inspected', '--data', join(folder, 'data'))
    expect(out).toMatch(/viewer inspected, region \d+ of 100, history on/)
    expect(out).toMatch(/2020-09-13T12:26:40.000Z {2}video\/seen {2}60000 of 0 {2}(dirty|persisted)/)
    const stores = (await run('inspect', 'stores', '--data', join(folder, 'data'))).out
    expect(stores).toMatch(/record store +\d+ rows/)
    expect(stores).toMatch(/posts +0 persisted\ndirty posts +0, filter words included\nfeed messages +0 not yet persisted/)
  })

  test('shows issued and played subjects, even without history', async () => {
    const record =
      'mutation { recordIssued(input: {business: "video", ids: ["1", "2"]}) { recorded } recordPlayed(input: {business: "video", ids: ["3"]}) { recordedCount } }'
    await ask(service.url, 'watcher', record)
    const { out } = await run('inspect', 'viewer', 'watcher', '--data', join(folder, 'data'))
    expect(out).toContain('0 entries of the history')
    expect(out).toContain('video: 2 served lately, 1 played and not yet folded')
    expect((await run('inspect', 'viewer', 'nobody', '--data', join(folder, 'data'))).out).toContain('nothing seen')
    expect((await run('inspect', 'stores', '--data', join(folder, 'data'))).out).toMatch(/play messages +0 not yet staged/)
  })

  test('shows the viewer, months and reasons of quarantined filters', async () => {
    const environment = openEnvironment(join(folder, 'data'), { regions: makeConfig([]).stores.regions, sizeMaxGb: 1 })
    const records = openLmdbSeenRecords(environment)
    const [lost, anew] = [681, 682].map((month) => ({ viewer: 'damaged', month })) as [FilterKey, FilterKey]
    const filter = addToFilter(undefined, hashSeen(1, ['1']), { rate: 0.01 })
    await records.putFilters([lost, anew].map((key) => ({ ...key, filter, expected: 0, expiresAt: Date.now() * 2 })))
    await records.quarantineFilter(lost, 1, 'its sum is wrong')
    await records.quarantineFilter(anew, 1, 'it is no filter', filter)
    await environment.close()
    const { out } = await run('inspect', 'viewer', 'damaged', '--data', join(folder, 'data'))
    expect(out).toContain(`quarantined: filter of 2026-10, version 1, ${filter.length} bytes: its sum is wrong`)
    expect(out).toContain(`quarantined: filter of 2026-11, version 1, ${filter.length} bytes: it is no filter`)
    expect(out).toContain('filter of 2026-11: 1 records')
    expect(out).not.toMatch(/^filter of 2026-10/m)
    const written = await run('inspect', 'viewer', 'damaged', '--data', join(folder, 'data'), '--filters', join('out', 'filters'))
    expect(written.out).toContain(`wrote ${join('out', 'filters', '2026-11.filter')}`)
    expect(readdirSync(join(files, 'out', 'filters'))).toEqual(['2026-11.filter'])
    expect(readFileSync(join(files, 'out', 'filters', '2026-11.filter')).equals(filter)).toBe(true)
    const stores = (await run('inspect', 'stores', '--data', join(folder, 'data'))).out
    expect(stores).toMatch(/filters +2 are quarantined/)
    expect(stores).toContain(`  viewer damaged: filter of 2026-10, version 1, ${filter.length} bytes: its sum is wrong`)
  })

  test('a folder that does not exist is refused and not created', async () => {
    const { status, error } = await run('inspect', 'stores', '--data', 'mistyped')
    expect([status, error]).toEqual([1, expect.stringContaining('mistyped does not exist')])
    expect(existsSync(join(files, 'mistyped'))).toBe(false)
  })

  test('unknown arguments are refused with a sentence', async () => {
    expect((await run('inspect', 'planet')).error).toMatch(/CONFIG_INVALID: inspect cannot show "planet"/)
    expect((await run('inspect', 'viewer')).error).toMatch(/ID_INVALID/)
    expect((await run('inspect', 'stores', '--filters', '.')).error).toMatch(/CONFIG_INVALID: --filters writes the filters of one viewer/)
  })
})

describe('doctor and migrate', () => {
  test.each([['doctor'], ['migrate']])('%s has nothing to do on the embedded stores, and ends with status 0', async (command) => {
    const { status, out, error } = await run(command)
    expect([status, out, error]).toEqual([0, expect.stringMatching(/^nothing to do: [^\n]*the embedded stores need no preparation/), ''])
  })
})

describe('help', () => {
  test.each([['job'], ['subgraph']])('of %s names every possible value', async (command) => {
    const { out } = await run(command, '--help')
    for (const name of SUBGRAPH_NAMES) expect(out).toMatch(new RegExp(`name .*\\b${name}\\b`))
  })
})

describe('invalid arguments', () => {
  const script = (file: string, ...args: string[]) =>
    new Promise<{ status: number; error: string }>((resolve) => {
      execFile(process.execPath, [join(COMMAND, '..', '..', file), ...args], { cwd: files }, (failure, _, error) =>
        resolve({ status: failure === null ? 0 : Number(failure.code), error }),
      )
    })

  test.each([
    ['scripts/simulate.ts', ['--seeds', '-1']],
    ['scripts/simulate.ts', ['--seeds']],
    ['scripts/simulate.ts', ['--seeds', '0']],
    ['scripts/simulate.ts', ['--frst', '1']],
    ['scripts/simulate.ts', ['foo']],
    ['bench/run.ts', ['chaos', '--bogus']],
    ['bench/run.ts', ['nothing']],
  ])('%s %j ends with a sentence, the usage and status 2', async (file, args) => {
    const { status, error } = await script(file, ...args)
    expect(status).toBe(2)
    expect(error).toContain('usage: npm run')
    expect(error).not.toContain('    at ')
  })

  test.each([['scripts/simulate.ts'], ['bench/run.ts']])('%s --help succeeds', async (file) => {
    expect(await script(file, '--help')).toEqual({ status: 0, error: '' })
  })
})

describe('a data folder that cannot be created', () => {
  test.each([['start'], ['gateway']])(
    'ends %s with a sentence, and in time',
    async (command) => {
      const { status, error } = await new Promise<{ status: number; error: string }>((resolve) => {
        const stores = {
          TIDEMARK_REDIS_URL: 'redis://127.0.0.1:1',
          TIDEMARK_KAFKA_BROKERS: '127.0.0.1:1',
          TIDEMARK_MYSQL_URL: 'mysql://tidemark@127.0.0.1:1/tidemark',
        }
        const env = { ...process.env, ...(command === 'start' ? {} : stores) }
        const args = [COMMAND, command, '--port', '0', '--data', '/proc/nope/data']
        execFile(process.execPath, args, { cwd: files, env, timeout: 30_000 }, (failure, _, said) =>
          resolve({ status: failure === null ? 0 : Number(failure.code), error: said }),
        )
      })
      expect(error).toMatch(/CONFIG_INVALID: the data folder \/proc\/nope\S* cannot be used/)
      expect(status).toBe(1)
    },
    40_000,
  )
})
