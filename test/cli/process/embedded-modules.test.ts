import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask, makeServiceFolder, startService } from '../../../harness/deployment/service.ts'

/** Writes the names of all packages that a process has loaded, when it ends. Node's own copy of undici (`fetch`) counts as undici. */
const RECORDER = `
  import { writeFileSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  const names = new Set()
  registerHooks({ load(url, context, next) {
    const name = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1]
    if (name !== undefined) names.add(name)
    return next(url, context)
  } })
  process.on('exit', () => {
    if (process.moduleLoadList.includes('NativeModule internal/deps/undici/undici')) names.add('undici')
    writeFileSync(process.env.LOADED_FILE, JSON.stringify([...names]))
  })`

/** Drivers of the servers, the client of remote subgraphs, and parts of commands and pages. */
const NOT_AT_REST = new Set([
  '@apollo/server',
  '@graphql-yoga/render-graphiql',
  '@theguild/federation-composition',
  '@vlasky/zongji',
  'amaro',
  'hyparquet',
  'ioredis',
  'kafkajs',
  'listr2',
  'mysql2',
  'undici',
])

test('a process on the embedded stores loads no driver of the servers, no HTTP client and no page before somebody needs them', async () => {
  const { folder, remove } = makeServiceFolder()
  const file = join(folder, 'loaded.json')
  const service = await startService({
    folder,
    environment: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(RECORDER)}`, LOADED_FILE: file },
  })
  try {
    expect(await ask(service.url, '1', '{ subjects(business: "video", ids: ["42"]) { id likeCount } }')).toMatchObject({ data: {} })
  } finally {
    await service.stop()
  }
  const loaded = JSON.parse(readFileSync(file, 'utf8')) as string[]
  remove()
  expect(loaded).toEqual(expect.arrayContaining(['fastify', 'graphql', 'lmdb']))
  expect(loaded.filter((name) => NOT_AT_REST.has(name))).toEqual([])
})
