/**
 * The examples for web front ends, with the real libraries against a real server. Each program compares its cache with the server after
 * every step, and fails if they differ.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CLIENTS = join(ROOT, 'examples', 'clients')
const { folder, remove } = makeServiceFolder()
let service: Service

beforeAll(async () => {
  if (!existsSync(join(CLIENTS, 'node_modules'))) run('npm', ['ci', '--no-audit', '--no-fund'])
  service = await startService({ folder })
  const sdl = await fetch(`${service.url}/schema.graphql`)
  expect(sdl.status).toBe(200)
  writeFileSync(join(CLIENTS, 'schema.graphql'), await sdl.text())
  run('npm', ['run', 'generate'])
})
afterAll(async () => {
  await service.stop()
  remove()
})

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: CLIENTS, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

const STEPS = ['load', 'like', 'report', 'another device, live', 'remove', 'another device removes, live']

test.each([
  ['apollo.ts', 'Apollo Client: done'],
  ['urql.ts', 'urql: done'],
  ['relay.ts', 'Relay: done'],
])('%s: after every step the cache equals the server', (program, end) => {
  const printed = run(process.execPath, [program, service.url]).trim().split('\n')
  expect(printed).toEqual([...STEPS.map((step) => `${step}: the cache equals the server`), end])
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
