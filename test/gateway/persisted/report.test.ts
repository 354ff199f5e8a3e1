import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { makeRecorder } from '../../../gateway/persisted/recorder.ts'
import { readManifest } from '../../../gateway/persisted/manifest.ts'
import { post, startServer } from '../../support/front-schema.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { eventually } from '../../../harness/until.ts'

const KNOWN = 'query Known { hello }'
const OTHER = 'query Other { hello(name: "other") }'
let files: ReturnType<typeof makeManifestFolder>
beforeEach(() => {
  files = makeManifestFolder()
})
afterEach(() => files.remove())

type Written = {
  operations: {
    id: string
    name: string
    type: string
    body: string
    clientName?: string
    count: number
    firstSeen: string
    lastSeen: string
  }[]
}
const readReport = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as Written).operations

describe('report mode', () => {
  it('unknown operations are recorded by client, with count and times, in a manifest that can be used unchanged', async () => {
    const report = files.path('unknown.json')
    files.write('m.json', apollo({ body: KNOWN }))
    const server = await startServer({ persisted: { mode: 'report', manifests: [files.path('m.json')], report } })
    for (const name of ['ios', 'ios', 'web']) await post(server.url, { query: OTHER }, { 'x-client-name': name })
    await post(server.url, { query: KNOWN })
    await post(server.url, { documentId: sha(KNOWN) })
    await post(server.url, { query: '{ nothing }' })
    await post(server.url, { query: 'mutation { report(oid: "1") }' })
    expect(await server.registry.metrics()).toContain('tidemark_persisted_unknown_operations 3')
    await server.close()
    const times = { firstSeen: expect.stringMatching(/^\d{4}-.*Z$/), lastSeen: expect.stringMatching(/^\d{4}-.*Z$/) }
    expect(readReport(report)).toEqual([
      { id: sha(OTHER), name: 'Other', type: 'query', body: OTHER, clientName: 'ios', count: 2, ...times },
      { id: sha(OTHER), name: 'Other', type: 'query', body: OTHER, clientName: 'web', count: 1, ...times },
      { id: sha('mutation { report(oid: "1") }'), name: '', type: 'mutation', body: 'mutation { report(oid: "1") }', count: 1, ...times },
    ])
    expect(readManifest(readFileSync(report, 'utf8'), report, 1_000).mistakes).toEqual([])
    const enforced = await startServer({ persisted: { mode: 'enforce', manifests: [files.folder] } })
    expect((await post(enforced.url, { query: OTHER }, { 'x-client-name': 'web' })).json).toEqual({ data: { hello: 'hello other' } })
    await enforced.close()
  })

  it('a flood of distinct operations is answered, and at most the limit is recorded', async () => {
    const server = await startServer({ persisted: { mode: 'report', reportMax: 20 } })
    for (let i = 0; i < 100; i++) expect((await post(server.url, { query: `{ hello(name: "${i}") }` })).status).toBe(200)
    const metrics = await server.registry.metrics()
    expect(metrics).toContain('tidemark_persisted_unknown_operations 20')
    expect(metrics).toContain('tidemark_persisted_unknown_dropped 80')
    await server.close()
  })
})

describe('the file of unknown operations', () => {
  const unknown = (body: string) => ({ id: sha(body), name: undefined, type: 'query', body, client: undefined })
  const make = (file: string, clock = makeSteppedClock()) => {
    const lines: string[] = []
    const log = pino({}, { write: (line: string) => void lines.push(line) })
    return { recorder: makeRecorder(clock, log, makeClientMemory(), () => {}, { file, countMax: 100, writeEveryMs: 1_000 }), clock, lines }
  }
  const note = ({ recorder }: ReturnType<typeof make>, body: string) => recorder.note(() => unknown(body), body)

  it('the counts of several processes add up in a shared file', async () => {
    const file = files.path('u.json')
    const [a, b] = [make(file), make(file)]
    for (let i = 0; i < 3; i++) note(a, OTHER)
    for (let i = 0; i < 4; i++) note(b, OTHER)
    note(b, KNOWN)
    await Promise.all([a.recorder.close(), b.recorder.close()])
    expect(
      readReport(file)
        .map(({ body, count }) => `${body} ${count}`)
        .toSorted((a, b) => (a < b ? -1 : 1)),
    ).toEqual([`${KNOWN} 1`, `${OTHER} 7`])
  })

  it('the file is written after an interval, and continues after a restart', async () => {
    const file = files.path('u.json')
    const first = make(file)
    note(first, OTHER)
    first.clock.advance(1_000)
    await first.recorder.close()
    const second = make(file)
    note(second, OTHER)
    await second.recorder.close()
    expect(readReport(file)[0]?.count).toBe(2)
    expect(second.clock.pending()).toBe(0)
  })

  it('the file is written at the next interval if another process had the lock', async () => {
    const file = files.path('u.json')
    writeFileSync(`${file}.lock`, '')
    const recording = make(file)
    note(recording, OTHER)
    recording.clock.advance(1_000)
    await eventually(() => expect(recording.clock.pending()).toBe(1))
    expect(existsSync(file)).toBe(false)
    rmSync(`${file}.lock`)
    recording.clock.advance(1_000)
    await eventually(() => expect(readReport(file)[0]?.count).toBe(1))
    await recording.recorder.close()
  })

  it('a file with other content is not changed, and the log has a warning', async () => {
    const file = files.path('important.json')
    writeFileSync(file, '{"my": "thesis"}')
    const recording = make(file)
    note(recording, OTHER)
    await recording.recorder.close()
    expect(readFileSync(file, 'utf8')).toBe('{"my": "thesis"}')
    expect(recording.lines.join('')).toContain('important.json cannot be written')
  })
})
