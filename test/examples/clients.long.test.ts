/**
 * The examples for web front ends, with the real libraries against a real server. Each program compares its cache with the server after
 * every step, and fails if they differ.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { makeTcpProxy } from '../../harness/faults/tcp-proxy.ts'
import { until } from '../../harness/until.ts'
import { settled } from '../support/feed-shapes.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CLIENTS = join(ROOT, 'examples', 'clients')
const COMMAND = join(ROOT, 'cli', 'tidemark.ts')
const { folder, remove } = makeServiceFolder()
let service: Service

beforeAll(async () => {
  if (!existsSync(join(CLIENTS, 'node_modules'))) run('npm', ['ci', '--no-audit', '--no-fund'])
  service = await startService({ folder })
  const sdl = await fetch(`${service.url}/schema.graphql`)
  expect(sdl.status).toBe(200)
  writeFileSync(join(CLIENTS, 'schema.graphql'), await sdl.text())
  run('npm', ['run', 'generate'])
  run(process.execPath, [COMMAND, 'persist', 'persisted', '--schema', 'schema.graphql', '--out', 'generated/manifest.json'])
})
afterAll(async () => {
  await service.stop()
  remove()
})

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: CLIENTS, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Runs a program of the story. Earlier likes are counted first: a count that changes meanwhile would differ from the program's cache. */
async function tell(program: string, ...args: string[]): Promise<string[]> {
  await settled(service.url)
  return run(process.execPath, [program, service.url, ...args])
    .trim()
    .split('\n')
}

const STEPS = ['load', 'like', 'report', 'another device, live', 'remove', 'another device removes, live']

test.each([
  ['apollo.ts', 'Apollo Client: done'],
  ['urql.ts', 'urql: done'],
  ['relay.ts', 'Relay: done'],
])('%s: after every step the cache equals the server', async (program, end) => {
  expect(await tell(program)).toEqual([...STEPS.map((step) => `${step}: the cache equals the server`), end])
})

test('relay.ts with ids that differ between businesses: Relay works with its default settings', async () => {
  expect(await tell('relay.ts', 'article-42')).toEqual([...STEPS.map((step) => `${step}: the cache equals the server`), 'Relay: done'])
})

test('graphql-codegen gives types without any, and the program that uses them compiles and runs', () => {
  const types = readFileSync(join(CLIENTS, 'generated', 'graphql.ts'), 'utf8')
  expect(types).toContain('viewedAt: number')
  expect(types).toMatch(/export type TypedSubjectsQuery = /)
  // The one use of the word is the parameter of a marker class, which no operation type has.
  expect(types.split('\n').filter((line) => /\bany\b/.test(line) && !/DocumentTypeDecoration|^\s*(\/\*)?\*/.test(line))).toEqual([])
  run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', CLIENTS])
  expect(run(process.execPath, ['typed.ts', service.url])).toMatch(/^42: at 60000, seen 20\S+Z, \d+ likes$/m)
})

test('persisted.ts: operations of three manifests run by id, and all others are refused', async () => {
  const own = makeServiceFolder()
  const manifests = ['manifest.json', 'apollo-manifest.json', 'relay-manifest.json'].map((file) => join(CLIENTS, 'generated', file))
  const enforcing = await startService({ folder: own.folder, settings: { persisted: { mode: 'enforce', manifests } } })
  try {
    const printed = run(process.execPath, ['persisted.ts', enforcing.url]).trim().split('\n')
    expect(printed).toEqual(['fetch: done', 'Apollo Client: done', 'Relay: done', 'any other operation: refused'])
  } finally {
    await enforcing.stop()
    own.remove()
  }
})

describe.each(['sse', 'ws'])('live.ts by %s', (transport) => {
  test('no change is lost while the token expires and the network breaks', async () => {
    const own = makeServiceFolder()
    const settings = { server: { mode: 'production' }, auth: { secret: SECRET, clockToleranceSeconds: 0 } }
    const secured = await startService({ folder: own.folder, settings })
    const proxy = await makeTcpProxy(Number(new URL(secured.url).port))
    let tokens = 0
    const login = createServer((_, response) => {
      tokens += 1
      void token(3).then((text) => response.end(text))
    }).listen(0)
    await once(login, 'listening')
    const addresses = [`http://127.0.0.1:${proxy.port}/graphql`, `http://127.0.0.1:${(login.address() as AddressInfo).port}/`]
    const program = spawn(process.execPath, ['live.ts', addresses[0] as string, transport, addresses[1] as string], { cwd: CLIENTS })
    const ended = once(program, 'exit')
    let out = ''
    program.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    program.stderr.pipe(process.stderr)
    const headers = { authorization: `Bearer ${await token(300)}` }
    const report = async (id: string, position: number): Promise<void> => {
      const input = { business: 'video', id, position, duration: 600_000 }
      const { data } = await ask(secured.url, undefined, REPORT, { input }, headers)
      expect(data.reportProgress.outcome).toBe('ACCEPTED')
    }
    try {
      // The subscription may not be open yet when the first report arrives.
      for (let position = 10_000; !out.includes('REPORTED 1 '); position += 1_000) {
        await report('1', position)
        await wait(100)
      }
      await until('a new token', () => tokens === 2)
      await report('2', 20_000)
      await until('the event', () => out.includes('REPORTED 2 20000'))

      proxy.cut('broken')
      await report('3', 30_000)
      await ask(secured.url, undefined, REMOVE, {}, headers)
      await report('4', 40_000)
      proxy.mend()
      await report('5', 600_000)
      expect(await ended).toEqual([0, null])
      const lines = out
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('REPORTED 1 '))
      expect(lines).toEqual(['REPORTED 2 20000', 'REPORTED 3 30000', 'DELETED 1 undefined', 'REPORTED 4 40000', 'REPORTED 5 600000'])
      expect(tokens).toBeGreaterThanOrEqual(3)
    } finally {
      program.kill()
      login.close()
      await proxy.close()
      await secured.stop()
      own.remove()
    }
  })
})

const SECRET = 'the secret of clients, at least 32 bytes'
const REPORT = 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }'
const REMOVE = 'mutation { deleteHistory(input: { business: "video", ids: ["1"] }) { deletedIds } }'

function token(seconds: number): Promise<string> {
  return new SignJWT({ sub: '7', exp: Math.floor(Date.now() / 1_000) + seconds })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(SECRET))
}
