import { renameSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../gateway/operation/engine.ts'
import { makeFrontSchema, post, startServer, type TestServer } from '../../support/front-schema.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'
import { makePlainEngine } from '../../support/plain-engine.ts'
import { eventually } from '../../../harness/until.ts'

const A = 'query A { hello(name: "a") }'
const B = 'query B { hello(name: "b") }'
const BAD = 'query Bad { nothing }'
type Files = ReturnType<typeof makeManifestFolder>

let files: Files
let server: TestServer | undefined
beforeEach(() => {
  files = makeManifestFolder()
})
afterEach(async () => {
  await server?.close()
  server = undefined
  files.remove()
})

async function start(paths: string[] = [files.folder], more: { watchEveryMs?: number; engine?: Engine } = {}): Promise<TestServer> {
  const { engine, ...persisted } = more
  server = await startServer({
    persisted: { mode: 'enforce', manifests: paths, ...persisted },
    ...(engine === undefined ? {} : { engine }),
  })
  return server
}

async function runs({ url }: TestServer, text: string): Promise<boolean> {
  return (await post(url, { documentId: sha(text) })).json.data !== undefined
}

const logOf = ({ logged }: TestServer) => logged.map((line) => String(line['msg'])).join('\n')

describe('at start', () => {
  it.each([
    ['is broken', () => files.write('m.json', '{'), /m\.json is not JSON/],
    [
      'does not fit the schema',
      () => files.write('m.json', apollo({ body: BAD })),
      /m\.json: Bad \(id [0-9a-f]+\) does not fit the schema: Cannot query field "nothing"/,
    ],
    [
      'disagrees with another',
      () => {
        files.write('m.json', '{"1": "{ hello }"}')
        files.write('n.json', '{"1": "{ viewer }"}')
      },
      /m\.json and .*n\.json: the id 1 occurs twice/,
    ],
  ])('a manifest that %s is refused at start with a message', async (_name, make, sentence) => {
    make()
    await expect(start()).rejects.toThrow(sentence)
  })

  it('a missing path is refused, and an empty folder is accepted', async () => {
    await expect(start([files.path('none')])).rejects.toThrow(/none cannot be read: name an existing file or folder/)
    expect(await runs(await start(), A)).toBe(false)
  })
})

describe('while the process runs', () => {
  it('added, changed and removed manifests are taken over', async () => {
    const running = await start([files.folder], { watchEveryMs: 20 })
    expect(await runs(running, A)).toBe(false)
    files.write('a.json', apollo({ body: A }))
    await eventually(async () => expect(await runs(running, A)).toBe(true))
    files.write('new', apollo({ body: B }))
    renameSync(files.path('new'), files.path('a.json'))
    await eventually(async () => expect([await runs(running, A), await runs(running, B)]).toEqual([false, true]))
    rmSync(files.path('a.json'))
    await eventually(async () => expect(await runs(running, B)).toBe(false))
  })

  it('a broken manifest keeps its old state, is logged once, and counts as broken until it is corrected', async () => {
    files.write('a.json', apollo({ body: A }))
    const running = await start([files.folder], { watchEveryMs: 20 })
    files.write('b.json', apollo({ body: B }))
    files.write('a.json', apollo({ body: A }).slice(0, -5))
    await eventually(async () => expect(await runs(running, B)).toBe(true))
    await eventually(async () => expect(await running.registry.metrics()).toContain('tidemark_persisted_broken_manifests 1'))
    expect(await runs(running, A)).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(logOf(running).match(/a\.json is not JSON/g)).toHaveLength(1)
    files.write('a.json', apollo())
    await eventually(async () => expect(await running.registry.metrics()).toContain('tidemark_persisted_broken_manifests 0'))
    expect([await runs(running, A), await runs(running, B)]).toEqual([false, true])
  })

  it('a named file that is gone keeps its old state', async () => {
    const running = await start([files.write('a.json', apollo({ body: A }))])
    rmSync(files.path('a.json'))
    expect(await running.persisted.reload()).toBe(false)
    expect([await runs(running, A), logOf(running)]).toEqual([true, expect.stringContaining('a.json cannot be read')])
  })

  it('a folder that is gone keeps its old state', async () => {
    files.write('a.json', apollo({ body: A }))
    const running = await start()
    files.remove()
    expect(await running.persisted.reload()).toBe(false)
    expect(await runs(running, A)).toBe(true)
  })

  it('two manifests that begin to conflict change nothing', async () => {
    files.write('a.json', JSON.stringify({ 1: A }))
    const running = await start()
    files.write('b.json', JSON.stringify({ 1: B, 2: B }))
    expect(await running.persisted.reload()).toBe(false)
    expect((await post(running.url, { documentId: '1' })).json).toEqual({ data: { hello: 'hello a' } })
    expect((await post(running.url, { documentId: '2' })).json.data).toBeUndefined()
  })

  it('an operation that does not fit the schema is answered with its error, and the others of its manifest work', async () => {
    const running = await start()
    files.write('a.json', apollo({ body: A }, { body: BAD }))
    expect(await running.persisted.reload()).toBe(true)
    expect(await runs(running, A)).toBe(true)
    expect((await post(running.url, { documentId: sha(BAD) })).json.errors?.[0]?.extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
    expect(await running.registry.metrics()).toContain('tidemark_persisted_failing_operations 1')
    expect(logOf(running)).toContain('Bad (id')
  })

  it('a running request ends on its first version of the operation', async () => {
    files.write('a.json', apollo({ body: 'query Held { held }' }))
    const running = await start()
    const gate = running.hold()
    const answer = post(running.url, { documentId: sha('query Held { held }') })
    await gate.entered
    rmSync(files.path('a.json'))
    await running.persisted.reload()
    gate.open()
    expect((await answer).json).toEqual({ data: { held: true } })
  })

  it('an unchanged operation is not prepared again', async () => {
    files.write('a.json', apollo({ body: A }))
    const running = await start()
    const { prepared } = running.engine.calls
    files.write('b.json', apollo({ body: B }))
    await running.persisted.reload()
    expect(running.engine.calls.prepared - prepared).toBe(1)
  })
})

describe('another engine', () => {
  it('a new engine takes over all operations at once, and reports the ones that do not fit before', async () => {
    files.write('a.json', apollo({ body: A }, { body: B }))
    const running = await start()
    const next = makePlainEngine(makeFrontSchema().schema)
    const refusing: Pick<Engine, 'pin'> = { pin: (text, name) => next.pin(text === B ? BAD : text, name) }
    const ready = await running.persisted.prepareWith(refusing)
    expect(ready.failures.map(({ operation }) => operation.body)).toEqual([B])
    expect(await runs(running, B)).toBe(true)
    ready.commit()
    expect([await runs(running, A), await runs(running, B)]).toEqual([true, false])
    expect(next.calls.prepared).toBe(2)
  })

  it('a new engine during a reload prepares the operations of that reload', async () => {
    const [old, next] = [makePlainEngine(makeFrontSchema().schema), makePlainEngine(makeFrontSchema().schema)]
    let current: Engine = old
    const running = await start([files.folder], { engine: { ...old, pin: (text, name) => current.pin(text, name) } })
    const ready = await running.persisted.prepareWith(next)
    files.write('a.json', apollo(...Array.from({ length: 50 }, (_, index) => ({ body: `query Q${index} { hello }` }))))
    const reloaded = running.persisted.reload()
    while (old.calls.prepared < 10) await new Promise((resolve) => setImmediate(resolve))
    current = next
    ready.commit()
    expect([await reloaded, old.calls.prepared < 50, next.calls.parsed]).toEqual([true, true, 50])
  })
})
