/** `tidemark config` on the embedded shape. processes.long.test.ts uses it on running processes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { config, type ConfigFlags } from '../../../cli/configuration/command.ts'
import { runCommand } from '../../../harness/deployment/command.ts'

const FILE = {
  history: { flushKeysMax: 40 },
  auth: { secret: 'a secret of at least 32 characters!' },
  businesses: [{ number: 1, name: 'video', entity: 'Video', glanceMax: 0 }],
}
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-config-'))
  write('tidemark.yaml', JSON.stringify(FILE))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

async function run(what: string, args: readonly string[] = [], flags: Partial<ConfigFlags> = {}): Promise<string> {
  const lines: string[] = []
  const own = { config: join(folder, 'tidemark.yaml'), data: join(folder, 'data'), ...flags }
  await config(what, args, own, (line) => lines.push(line))
  return lines.join('\n')
}

/** Returns the version. The first is the current time in milliseconds. */
async function set(document: object, expect: number, note?: string): Promise<number> {
  const file = write('live.json', JSON.stringify(document))
  return versionIn(await run('set', [file], { expect: String(expect), ...(note !== undefined && { note }) }))
}

const versionIn = (text: string): number => Number(/version (\d+)/.exec(text)?.[1])

const slow = { limits: { viewer: { points: 10, perSeconds: 60 } } }

test('a version that was printed, edited and set again is the next one, without --expect', async () => {
  expect(await run('get')).toBe('# version 0\n{}')
  const file = write('live.yaml', `${await run('get')}\n`.replace('{}', 'limits:\n  viewer: none'))
  const answer = await run('set', [file])
  expect(answer).toMatch(/^version \d+ is set: processes take it over within 2 seconds$/)
  expect(await run('get')).toBe(`# version ${versionIn(answer)}\nlimits:\n  viewer: none`)
})

test.each(['set', 'rollback'])('%s replaces a stored version that is not valid', async (way) => {
  const first = await set(slow, 0)
  const bad = { at: 1, value: { limits: { viewer: 5 } } }
  write(join('data', 'live', `${first + 1}.json`), JSON.stringify(bad))
  await expect(run('get')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  const next = way === 'set' ? await set(slow, first + 1) : versionIn(await run('rollback', [String(first)]))
  expect(next).toBe(first + 2)
  expect(await run('get')).toContain('points: 10')
})

test('get prints a stored version that is not valid, the version that processes keep, and the mistake', async () => {
  const first = await set(slow, 0)
  const get = () => runCommand(folder, ['config', 'get', '--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data')])
  write(join('data', 'live', `${first + 1}.json`), JSON.stringify({ at: 1, value: { limits: { viewer: 5 } } }))
  const { status, out, error } = await get()
  expect({ status, out }).toEqual({
    status: 1,
    out: `# version ${first + 1}\n# not valid: processes keep version ${first}\nlimits:\n  viewer: 5\n`,
  })
  expect(error).toMatch(
    new RegExp(`^CONFIG_INVALID: version ${first + 1} is not valid, and processes keep version ${first}: limits\\.viewer: `),
  )
  // The printed text can be corrected and set.
  expect(await run('set', [write('live.yaml', out.replace('viewer: 5', 'viewer: none'))])).toContain(`version ${first + 2} is set`)
  write(join('data', 'live', `${first + 3}.json`), '{')
  expect((await get()).out).toBe(`# version ${first + 3}\n# not valid: processes keep version ${first + 2}\n# its text cannot be read\n`)
  for (const version of [first, first + 2]) rmSync(join(folder, 'data', 'live', `${version}.json`))
  expect((await get()).out).toContain('# not valid: processes run without a live version\n')
})

test('a version after one that is not valid keeps the businesses of the last valid one', async () => {
  const first = await set({ businesses: [{ number: 9, name: 'podcast', entity: 'Podcast' }] }, 0)
  write(join('data', 'live', `${first + 1}.json`), JSON.stringify({ at: 1, value: { limits: { viewer: 5 } } }))
  await expect(set(slow, first + 1)).rejects.toThrow('businesses: podcast: number 9 is missing, and processes serve it')
})

test('of two operators who edit the same version, the second is refused with the newer version, and changes nothing', async () => {
  const [one, other] = ['one.yaml', 'other.yaml'].map((name) => write(name, '# version 0\nlimits: {viewer: none}\n')) as [string, string]
  const version = versionIn(await run('set', [one]))
  await expect(run('set', [other])).rejects.toMatchObject({
    code: 'LIVE_VALUE_CHANGED',
    message: `the live configuration has version ${version}, not 0: look at that version, and repeat the change on it`,
  })
  expect((await run('history')).split('\n')).toHaveLength(1)
})

test.each([
  ['limits: {viewer: {points: 0, perSeconds: 1}}', /^limits\.viewer\.points: 0 is not possible: give at least 1/],
  ['server: {port: 1}', /^server\.port cannot change while processes run: set it in tidemark\.yaml, and restart the processes$/],
  ['limits: {viewer', /live\.yaml is not YAML \(line 2\)/],
  ['', /live\.yaml is not a mapping|live\.yaml is empty: write the value of the live configuration into it/],
  ['- a', /live\.yaml is not a mapping: write settings as in tidemark\.yaml/],
])('%j is refused by check and by set, and no version is made', async (text, reason) => {
  const file = write('live.yaml', `# version 0\n${text}\n`)
  for (const what of ['check', 'set']) {
    await expect(run(what, [file])).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(reason) as string })
  }
  expect(await run('history')).toBe('no version was set yet')
})

test('a valid file passes the check', async () => {
  const file = write('live.yaml', 'limits: {viewer: none}')
  expect(await run('check', [file])).toBe(`${file} is valid`)
})

test('differences have a line for the old and for the new value of each setting', async () => {
  const first = await set(slow, 0)
  const second = await set({ limits: { viewer: { points: 20, perSeconds: 60 } } }, first)
  const changed = '- limits.viewer.points: 10\n+ limits.viewer.points: 20'
  expect(await run('diff', [String(first), String(second)])).toBe(changed)
  expect(await run('diff', [String(first)])).toBe(changed)
  expect(await run('diff', [write('empty.yaml', '{}')])).toBe('- limits.viewer.points: 20\n- limits.viewer.perSeconds: 60')
  expect(await run('diff', [String(second)])).toBe('no difference')
})

test('the history has each version with its time, its note and its settings, and a rollback is a new version', async () => {
  const first = await set(slow, 0, 'a campaign')
  const second = await set({ limits: { viewer: 'none' } }, first)
  expect(await run('rollback', [String(first)])).toContain(`version ${second + 1} is set`)
  expect(await run('get')).toBe(`# version ${second + 1}\nlimits:\n  viewer:\n    points: 10\n    perSeconds: 60`)
  const lines = (await run('history')).split('\n')
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatch(new RegExp(`^${second + 1} {2}\\d{4}-.*Z {2}rollback to ${first} {2}limits\\.viewer, limits\\.viewer\\.points`))
  expect(lines[2]).toMatch(new RegExp(`^${first} {2}\\d{4}-.*Z {2}a campaign {2}limits\\.viewer\\.points, limits\\.viewer\\.perSeconds$`))
  expect(await run('get', [String(second)])).toBe(`# version ${second}\nlimits:\n  viewer: none`)
  await expect(run('rollback', ['9'])).rejects.toMatchObject({ message: expect.stringContaining('has no version 9') as string })
})

test('version 0 has no live settings: it can be printed, compared, and set again', async () => {
  const first = await set(slow, 0)
  expect(await run('get', ['0'])).toBe('# version 0\n{}')
  expect(await run('diff', ['0'])).toBe('+ limits.viewer.points: 10\n+ limits.viewer.perSeconds: 60')
  expect(await run('rollback', ['0'])).toContain(`version ${first + 1} is set`)
  expect(await run('get')).toBe(`# version ${first + 1}\n{}`)
  expect((await run('history')).split('\n')[0]).toContain('rollback to 0')
})

test('a rollback to version 0 keeps a business that came since, disabled, and says so', async () => {
  const podcast = { number: 9, name: 'podcast', entity: 'Podcast' }
  await set({ ...slow, businesses: [podcast, { number: 1, glanceMax: 5 }] }, 0)
  expect(await run('rollback', ['0'])).toContain('business podcast came after version 0: it stays, with enabled: false')
  expect(parse(await run('get'))).toEqual({ businesses: [{ ...podcast, enabled: false }] })
})

test('the printed configuration is valid YAML with the source of each setting, and without secrets', async () => {
  const version = await set(slow, 0)
  const text = await run('print')
  expect(text).toContain('flushKeysMax: 40 # ' + join(folder, 'tidemark.yaml'))
  expect(text).toContain('flushAgeMaxMs: 60000 # default')
  expect(text).toContain(`points: 10 # live version ${version}`)
  expect(text).toContain('data: ' + join(folder, 'data') + ' # --data')
  expect(text).toMatch(/secret: \(secret\) # .*tidemark\.yaml/)
  expect(text).not.toContain(FILE.auth.secret)
  expect(parse(text)).toMatchObject({ history: { flushKeysMax: 40 }, limits: { viewer: { points: 10, perSeconds: 60 } } })
})

test('of an address, the printed configuration shows neither a password with "@" nor a query', async () => {
  const { secret: _, ...auth } = { ...FILE.auth, jwksUrl: 'https://id.example/keys?token=one@two' }
  const stores = {
    redis: { urls: ['redis://:a@b@cache:6379/1'] },
    mysql: { url: 'mysql://root:p@ss@db/t' },
    kafka: { brokers: ['log:9092'] },
  }
  write('tidemark.yaml', JSON.stringify({ ...FILE, auth, stores, live: { from: 'off' } }))
  const text = await run('print', [], { data: undefined })
  expect(parse(text)).toMatchObject({
    auth: { jwksUrl: 'https://id.example/keys?(secret)' },
    stores: { redis: { urls: ['redis://(secret)@cache:6379/1'] }, mysql: { url: 'mysql://(secret)@db/t' } },
  })
})

describe('a source without versions', () => {
  test('is not changed, and the sentence says where to change it', async () => {
    const live = write('mounted.yaml', 'limits: {viewer: none}')
    write('tidemark.yaml', JSON.stringify({ live: { from: 'mounted.yaml' } }))
    await expect(set(slow, 0)).rejects.toMatchObject({
      message: expect.stringContaining(`from ${live}, which has no versions`) as string,
    })
    expect(await run('get')).toMatch(/^# version \d+\nlimits:\n {2}viewer: none$/)
    write('tidemark.yaml', JSON.stringify({ live: { from: 'off' } }))
    await expect(set(slow, 0)).rejects.toMatchObject({ message: expect.stringContaining('live.from is off') as string })
    expect(await run('get')).toBe('# version 0\n{}')
  })
})

describe('the JSON Schema', () => {
  test('has all settings with their descriptions, and that of a live version has live settings only', async () => {
    const whole = JSON.parse(await run('schema'))
    expect(whole.properties.history.properties.flushKeysMax).toMatchObject({ type: 'integer', minimum: 1, default: 500 })
    expect(whole.properties.stores.properties.data.description).toBeTypeOf('string')
    const live = JSON.parse(await run('schema', [], { live: true }))
    expect(Object.keys(live.properties)).toContain('limits')
    expect(Object.keys(live.properties)).not.toContain('stores')
    expect(Object.keys(live.properties.cache.properties)).toEqual(['layout', 'memoryBytesMax'])
    expect(live.properties.limits.additionalProperties).toBe(false)
  })
})

test('an operator gets errors as one line with the code, and status 1', async () => {
  const own = ['--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data')]
  expect(await runCommand(folder, ['config', 'change', ...own])).toMatchObject({
    status: 1,
    error: expect.stringMatching(/^CONFIG_INVALID: "change" is not a command of config: use get, check FILE/) as string,
  })
  expect(await runCommand(folder, ['config', 'set', ...own])).toMatchObject({
    status: 1,
    error: expect.stringContaining('needs a file') as string,
  })
  expect(await runCommand(folder, ['config', 'get', ...own])).toMatchObject({ status: 0, out: '# version 0\n{}\n' })
})
