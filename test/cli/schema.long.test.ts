/** `tidemark schema`, the route and introspection show one schema: that of the process that serves. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
  type IntrospectionQuery,
} from 'graphql'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../harness/deployment/command.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'
import { VIDEOS, startPartner, type Partner } from '../support/partner.ts'

const OURS = ['history', 'thumbup', 'feed-existence']

let partner: Partner
const ends: (() => unknown)[] = []
beforeAll(async () => {
  partner = await startPartner()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(() => partner.stop())

type Place = { folder: string; service: Service; run(...args: string[]): ReturnType<typeof runCommand>; become(sdl: string): void }

/** A service with the partner, and commands with its configuration. */
async function serve(settings: Record<string, Record<string, unknown>> = {}, command?: readonly string[]): Promise<Place> {
  const { folder, remove } = makeServiceFolder()
  const become = (sdl: string) => {
    writeFileSync(join(folder, 'supergraph.yaml'), JSON.stringify({ subgraphs: { videos: { routing_url: partner.url, schema: { sdl } } } }))
  }
  become(VIDEOS)
  writeFileSync(join(folder, 'operations.json'), JSON.stringify({ title: 'query Title { video(id: 1) { title } }' }))
  const all = { ...settings, server: { supergraph: 'supergraph.yaml', ...settings['server'] } }
  const service = await startService({ folder, settings: all, ...(command === undefined ? {} : { command }) })
  ends.push(remove, () => service.stop())
  return { folder, service, become, run: (...args) => runCommand(folder, args) }
}

async function fileOf(service: Service, search = ''): Promise<{ status: number; text: string; type: string | null }> {
  const answer = await fetch(new URL(`/graphql/schema.graphql${search}`, service.url))
  return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') }
}

const sorted = (schema: Parameters<typeof lexicographicSortSchema>[0]) => printSchema(lexicographicSortSchema(schema))

async function introspected(service: Service): Promise<string> {
  const { data } = await ask(service.url, undefined, getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true }))
  return sorted(buildClientSchema(data as IntrospectionQuery))
}

test('the command, the route and introspection show the API that start serves, also after the graph changed', async () => {
  const { service, run, become } = await serve()
  const printed = await run('schema')
  expect(printed.status).toBe(0)
  const file = await fileOf(service)
  expect(file).toEqual({ status: 200, text: printed.out, type: 'text/plain; charset=utf-8' })
  expect(sorted(buildSchema(file.text))).toBe(await introspected(service))
  expect(file.text).toMatch(/type Video[^}]* title: String/)
  // The machinery of federation is not part of the API.
  expect(file.text).not.toMatch(/_service|_entities|join__|@key/)

  become(VIDEOS.replace('title: String', 'title: String year: Int'))
  await until('the new graph serves', async () => (await fileOf(service)).text.includes('year: Int'))
  const next = await fileOf(service)
  expect((await run('schema')).out).toBe(next.text)
  expect(sorted(buildSchema(next.text))).toBe(await introspected(service))
})

test('the SDL of each subgraph is the same from the command, from start and from the subgraph alone', async () => {
  const { service, run } = await serve()
  for (const name of OURS) {
    const { out } = await run('schema', '--subgraph', name)
    expect(out).toContain('@key(fields: "id")')
    expect(await fileOf(service, `?subgraph=${name}`)).toEqual({ status: 200, text: out, type: 'text/plain; charset=utf-8' })
    const alone = await serve({}, ['subgraph', name])
    const { data } = await ask(alone.service.url, undefined, '{ _service { sdl } }')
    expect(`${data._service.sdl}\n`).toBe(out)
    expect((await fileOf(alone.service)).text).toBe(out)
  }
  const unknown = await fileOf(service, '?subgraph=videos')
  expect([unknown.status, unknown.text]).toEqual([
    404,
    expect.stringContaining(
      'no subgraph \\"videos\\" runs in this process: use history, thumbup, feed-existence, feed, or leave ?subgraph out',
    ),
  ])
  expect(await run('schema', '--subgraph', 'videos')).toMatchObject({
    status: 1,
    error: expect.stringContaining('"videos" is no subgraph of Tidemark in this configuration: give --subgraph one of') as unknown,
  })
})

test.each([
  ['server.introspection: false', { server: { introspection: false } }],
  ['persisted.mode: enforce', { persisted: { mode: 'enforce', manifests: ['operations.json'] } }],
])('%s closes the file of the schema, and the answer names the setting', async (setting, settings) => {
  const { service } = await serve(settings)
  for (const search of ['', '?subgraph=history']) {
    const { status, text } = await fileOf(service, search)
    expect([status, JSON.parse(text)]).toMatchObject([
      403,
      { errors: [{ message: expect.stringContaining(`(${setting})`) as unknown, extensions: { code: 'FORBIDDEN' } }] },
    ])
  }
})

test('a served schema is a graph that check compares with', async () => {
  const { folder, run, become } = await serve()
  expect((await run('schema', '--out', 'api.graphql')).out).toBe('')
  expect((await run('check', '--against', 'api.graphql')).out).toContain('Nothing breaks.')
  become(VIDEOS.replace('title: String', 'name: String'))
  const { status, out } = await run('check', '--against', join(folder, 'api.graphql'))
  expect([status, out]).toEqual([1, expect.stringContaining('BREAKS  Video.title was removed.')])
})
