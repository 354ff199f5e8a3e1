/** `tidemark migrate-played`, run as by an operator, beside a running service and a Redis of sorted sets. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { MARK_MONTH } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { filterKeyBytes } from '../../../subgraphs/feed-existence/stores/lmdb/filter-values.ts'
import { redisIsHere } from '../../../harness/deployment/redis-servers.ts'
import { startLegacy, type LegacyRedis } from '../../../harness/samples/legacy-redis.ts'
import { until } from '../../../harness/until.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../../harness/deployment/service.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const COMMAND = join(import.meta.dirname, '..', '..', '..', 'cli', 'tidemark.ts')
const isHere = await redisIsHere()
const files = mkdtempSync(join(tmpdir(), 'tidemark-migrate-'))
const { folder, remove } = makeServiceFolder()
let redis: LegacyRedis
let service: Service

beforeAll(async () => {
  if (!isHere) return
  redis = await startLegacy()
  // The second play of a viewer folds the viewer at once, so that no test waits for the end of an hour.
  service = await startService({
    folder,
    settings: { existence: { stagedMax: 1, legacy: { urls: [redis.url], businesses: ['video'], patienceMs: 60_000 } } },
  })
})
afterAll(async () => {
  await service?.stop()
  await redis?.stop()
  remove()
  rmSync(files, { recursive: true, force: true })
})
beforeEach(async () => void (await redis?.clear()))

const argumentsOf = (flags: readonly string[], settings = join(folder, 'tidemark.yaml'), command = ['migrate-played']): string[] => {
  const own = ['--data', join(folder, 'data'), '--config', settings]
  return [COMMAND, ...command, ...own, ...flags]
}

type Ended = { status: number; out: string; error: string }

const run = (flags: readonly string[], settings?: string): Promise<Ended> => runArguments(argumentsOf(flags, settings))
const inspect = (viewer: string): Promise<Ended> => runArguments(argumentsOf([], undefined, ['inspect', 'viewer', viewer]))

function runArguments(args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: files, timeout: 120_000 }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })
}

function write(name: string, text: string): string {
  const path = join(files, name)
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text)
  return path
}

const play = (viewer: string, ids: readonly string[]) =>
  ask(service.url, viewer, 'mutation ($ids: [ID!]!) { recordPlayed(input: { business: "video", ids: $ids }) { recordedCount } }', { ids })

async function unseen(viewer: string, candidates: readonly string[]): Promise<string[]> {
  const query = 'query ($candidates: [ID!]!) { unseen(business: "video", candidates: $candidates) { ids } }'
  return (await ask(service.url, viewer, query, { candidates })).data.unseen.ids
}

let nextViewer = 1_000
const freshViewers = (count: number): string[] => Array.from({ length: count }, () => String(nextViewer++))

describe.skipIf(!isHere)('tidemark migrate-played', { timeout: 600_000 }, () => {
  test('resumes after a kill while listing, migrates all viewers without loss, and finds and repairs a gap', async () => {
    const viewers = freshViewers(60)
    const now = Date.now()
    for (const viewer of viewers) await redis.fill(viewer, { a: now - 1_000, b: now - 2_000, old: 1_000 })
    const users = write('viewers.gz', `${viewers.join('\n')}\n`)
    const place = join(files, 'place.json')
    const lineOf = (): number => (existsSync(place) ? (JSON.parse(readFileSync(place, 'utf8')) as { line: number }).line : 0)
    const first = spawn(process.execPath, argumentsOf(['--users', users, '--resume', place, '--rate', '10', '--no-wait']), {
      stdio: 'ignore',
    })
    while (lineOf() === 0 && first.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20))
    first.kill('SIGKILL')
    await once(first, 'exit')
    expect(lineOf()).toBeGreaterThan(0)
    expect(lineOf()).toBeLessThan(60)
    const left = 60 - lineOf()

    const second = await run(['--users', users, '--resume', place, '--no-wait'])
    expect(second).toMatchObject({ status: 0 })
    expect(second.out).toContain('goes on after line')
    expect(second.out).toContain(`${left} viewers: ${left} listed (0 of them have no set), 0 migrated before, 0 mistakes`)

    // Not yet: each viewer is answered from the legacy set.
    const early = await run(['--users', users, '--verify-only'])
    expect([early.status, early.out]).toEqual([1, expect.stringContaining('60 viewers are not migrated')])
    expect(await unseen(viewers[0] as string, ['a', 'b', 'old', 'c'])).toEqual(['old', 'c'])
    for (const viewer of viewers) await play(viewer, ['live', 'other'])

    const third = await run(['--users', users, '--verify'])
    expect(third.out).toContain('of 60 viewers: 0 missing')
    expect(third.status).toBe(0)
    await redis.clear()
    expect(await unseen(viewers[0] as string, ['a', 'b', 'old', 'live', 'c'])).toEqual(['old', 'c'])

    const holed = viewers[7] as string
    await redis.fill(holed, { hole: now - 500 })
    const found = await run(['--users', users, '--verify-only'])
    expect([found.status, found.out]).toEqual([
      1,
      expect.stringContaining(`viewer "${holed}": 1 plays are missing, such as played:video:${holed} "hole"`),
    ])
    const mended = await run(['--users', users, '--verify-only', '--repair'])
    expect([mended.status, mended.out]).toEqual([1, expect.stringContaining('1 plays were staged again')])
    expect((await run(['--users', users, '--verify-only'])).status).toBe(0)
    expect(await unseen(holed, ['hole', 'c'])).toEqual(['c'])
  })

  test('plays are written to both stores', async () => {
    const [viewer] = freshViewers(1) as [string]
    await play(viewer, ['1'])
    while (Object.keys(await redis.read(viewer)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    const written = (await redis.read(viewer))['1'] as number
    expect(Math.abs(written - Date.now())).toBeLessThan(60_000)
  })

  test('invalid ids, keys that are not sets, and unknown viewers are named and counted, and the others are listed', async () => {
    const [viewer, stranger, wrong] = freshViewers(3) as [string, string, string]
    await redis.fill(viewer, { a: Date.now(), ['x'.repeat(70)]: Date.now() })
    await redis.client.set(`played:video:${wrong}`, 'a string')
    const users = write('bad.txt', `${viewer}\n\n${'y'.repeat(65)}\n${stranger}\n${wrong}\n${viewer}\n`)
    const dry = await run(['--users', users, '--dry-run'])
    expect(dry).toMatchObject({ status: 1 })
    expect(dry.out).toContain('3 viewers: 2 would be listed (1 of them have no set), 0 migrated before, 2 mistakes')
    expect(dry.out).toMatch(/ID_INVALID: .*bad\.txt:3: the viewer "y+…" has 65 bytes/)
    expect(dry.out).toContain(
      `LEGACY_INVALID: played:video:${wrong} is not a sorted set: viewer "${wrong}" is not migrated from it; remove`,
    )
    expect((await run(['--users', users, '--no-wait'])).out).toContain('3 viewers: 2 listed')
    for (const each of [viewer, stranger]) await play(each, ['p', 'q'])
    const verified = await run(['--users', users, '--verify'])
    expect(verified.status).toBe(1)
    expect(verified.out).toContain(`played:video:${viewer} has 1 members that are not ids, such as "xxxx`)
    expect(verified.out).toContain('0 missing')
    // Waiting does not help this viewer, so no hint suggests it. The viewer is named once.
    for (const { status, out } of [verified, await run(['--users', users, '--verify-only'])]) {
      expect(status).toBe(1)
      expect(out.split(`viewer "${wrong}" is not migrated`)).toHaveLength(2)
      expect(out).not.toMatch(/wait for the job|for \d+ minutes/)
    }
  })

  test('a viewer with damaged rows is answered, named, and migrated again', async () => {
    const [viewer, other] = freshViewers(2) as [string, string]
    for (const each of [viewer, other]) await redis.fill(each, { old: Date.now() })
    const users = write('damaged.txt', `${viewer}\n${other}\n`)
    expect(await run(['--users', users, '--no-wait'])).toMatchObject({ status: 0 })
    for (const each of [viewer, other]) await play(each, ['p', 'q'])
    expect(await run(['--users', users])).toMatchObject({ status: 0 })

    const environment = openEnvironment(join(folder, 'data'), { regions: makeConfig([]).stores.regions, sizeMaxGb: 1 })
    const filters = environment.table('seen-filters')
    await environment.write(() => {
      for (const month of [MARK_MONTH, monthOf(Date.now())]) void filters.put(filterKeyBytes({ viewer, month }), Buffer.from('zz'))
    })
    await environment.close()
    const dry = await run(['--users', users, '--dry-run'])
    expect(dry).toMatchObject({ status: 0, error: '' })
    expect(dry.out).toContain(`the migration mark of viewer "${viewer}" is damaged: the viewer counts as not migrated`)
    expect(dry.out).toContain('2 viewers: 1 would be listed (0 of them have no set), 1 migrated before, 0 mistakes')

    // Answered from the legacy set at first, and from the rebuilt filter after the new migration.
    await until('the filter is rebuilt', async () => {
      expect(await unseen(viewer, ['old', 'new'])).toEqual(['new'])
      return service.log().includes('rebuilt from other data as far as possible')
    })
    expect(await run(['--users', users, '--no-wait'])).toMatchObject({ status: 0 })
    await play(viewer, ['r', 's'])
    const verified = await run(['--users', users, '--verify'])
    expect([verified.status, verified.out]).toEqual([0, expect.stringContaining('0 missing')])
    expect(service.log()).not.toMatch(new RegExp(`viewer \\\\?"${viewer}`))
  })

  test('lines that hardly look like ids are named if no set exists for them', async () => {
    const [viewer, odd] = freshViewers(2) as [string, string]
    await redis.fill(viewer, { a: Date.now() })
    await redis.fill(`${odd},x`, { a: Date.now() })
    const users = write('odd.txt', `# viewers of May\n${viewer}\n${odd},x\n${odd},extra\n"${odd}"\nabc-def\n`)
    const { status, out } = await run(['--users', users, '--dry-run'])
    expect(status).toBe(0)
    for (const line of ['# viewers of May', `${odd},extra`, `"${odd}"`])
      expect(out).toContain(`the line "${line}" counts as the id of a viewer without a set`)
    expect(out.split('counts as the id of a viewer')).toHaveLength(4)
    expect(out).toContain('6 viewers: 6 would be listed (4 of them have no set)')
  })

  test('a viewer that is never folded in is named when the patience is over', async () => {
    const [moved, stuck] = freshViewers(2) as [string, string]
    for (const viewer of [moved, stuck]) await redis.fill(viewer, { a: Date.now() })
    const users = write('stuck.txt', `${moved}\n${stuck}\n${moved}\n`)
    const listed = await run(['--users', users, '--no-wait'])
    expect([listed.status, listed.out]).toEqual([0, expect.stringMatching(/^the job folds them in from \d\d:\d\d UTC on/m)])
    const { out: inspected } = await inspect(stuck)
    expect(inspected).toContain('listed for the migration; the job folds the plays in when the hour is over: video')
    expect(inspected).not.toContain('nothing seen')
    // While the command waits, it reports its progress every ten seconds.
    const waiter = spawn(process.execPath, argumentsOf(['--users', users]))
    let waiting = ''
    waiter.stderr.on('data', (some: Buffer) => void (waiting += String(some)))
    // Only this viewer has a second play, and is therefore folded before the hour is over.
    await play(moved, ['p', 'q'])
    const wait = (flags: readonly string[]) => run(['--users', users, '--patience', '0', ...flags])
    const isMoved = async (): Promise<boolean> => !(await wait([])).out.includes(`viewer "${moved}"`)
    for (let turn = 0; turn < 30 && !(await isMoved()); turn++) await new Promise((resolve) => setTimeout(resolve, 200))
    const { status, out } = await wait([])
    expect([status, out]).toEqual([1, expect.stringContaining(`viewer "${stuck}" is still listed`)])
    expect(out).toContain('1 viewers are not migrated, and none was migrated in the last 0 minutes')
    expect(out).not.toContain(`viewer "${moved}"`)
    expect((await inspect(moved)).out).toMatch(/^migrated from the legacy store: video \([1-3] plays\)$/m)
    await until('it says how many of how many are moved', () => /in: 1 of 2 viewers migrated, [1-3] plays/.test(waiting))
    waiter.kill('SIGKILL')
    await once(waiter, 'exit')
  })

  test('each mistake is one sentence with a code', async () => {
    const [port] = await freePorts(1)
    const users = write('users.txt', '7\n')
    const bare = write('bare.yaml', '{}')
    const mistakes: [readonly string[], string, string?][] = [
      [['--users', users], 'CONFIG_INVALID: existence.legacy is not set', bare],
      [['--users', 'nowhere.txt'], 'CONFIG_INVALID: --users nowhere.txt is not a file'],
      [['--users', write('empty.txt', '\n\n')], 'names no viewer: write one per line'],
      [['--users', write('none.txt', `${'y'.repeat(65)}\n`)], 'names no viewer with a valid id'],
      [['--users', users, '--from', `redis://127.0.0.1:${port}`, '--verify-only'], 'LEGACY_UNAVAILABLE: the legacy Redis at'],
      [
        ['--users', users, '--from', `redis://old:secret@127.0.0.1:${port}`],
        `CONFIG_INVALID: --from names 127.0.0.1:${port}, and existence.legacy.urls, from which the job reads, ${new URL(redis.url).host}: leave`,
      ],
      [['--users', users, '--from', 'localhost'], 'CONFIG_INVALID: existence.legacy.urls.0'],
      [['--users', users, '--rate', 'many'], "option '--rate <number>' argument 'many' is invalid: give a whole number"],
      [['--users', users, '--key', 'p:{viewer}:{business}'], 'CONFIG_INVALID: --key "p:{viewer}:{business}" is not existence.legacy.key'],
      [['--users', users, '--business', 'vidoe'], 'BUSINESS_UNKNOWN: business "vidoe" is not configured'],
      [['--users', users, '--business', 'comic'], 'CONFIG_INVALID: business "comic" is not one of existence.legacy.businesses'],
      [['--users', users, '--resume', write('other.json', '{"users":"a.txt","businesses":[1],"line":5}')], 'is of another migration'],
      [['--users', users, '--resume', write('torn.json', '{"users"')], 'has no progress of a migration'],
      [
        ['--users', users, '--resume', join('nowhere', 'place.json')],
        'CONFIG_INVALID: --resume nowhere/place.json cannot be written (ENOENT',
      ],
      [['--users', users, '--verify-only', '--dry-run'], 'CONFIG_INVALID: --verify-only changes nothing without --repair'],
      [
        ['--users', users, '--repair'],
        'CONFIG_INVALID: --repair records the plays that a verification finds missing: add --verify or --verify-only',
      ],
      [['--users', users, '--resume', ''], 'CONFIG_INVALID: --resume names no file'],
    ]
    writeFileSync(join(files, 'torn.gz'), gzipSync('7\n8\n'.repeat(10_000)).subarray(0, 30))
    mistakes.push([['--users', 'torn.gz'], 'CONFIG_INVALID: torn.gz cannot be read'])
    const halves = [0, 1].map((half) => mistakes.filter((_, at) => at % 2 === half))
    await Promise.all(
      halves.map(async (half) => {
        for (const [flags, sentence, settings] of half) {
          const { status, error } = await run([...flags, '--no-wait'], settings)
          expect(error, flags.join(' ')).toContain(sentence)
          expect(error).not.toContain('    at ')
          expect(status).toBe(1)
        }
      }),
    )
    // Nothing was listed before a mistake was found.
    expect((await inspect('7')).out).toContain('nothing seen')
  })
})
