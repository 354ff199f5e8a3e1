/** A gateway that reaches a subgraph of Tidemark by its address, and the viewers that the subgraph learns. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'

const WARNING = 'subgraphs of Tidemark in other processes get no viewer'
const SECRET = 'the secret of gateway and subgraphs, 32+'

type Settings = { server?: object; auth?: object }

async function warningsAtStart(settings: Settings, name = 'history', workers = 1): Promise<string[]> {
  const { folder, remove } = makeServiceFolder()
  const listed = name === 'history' ? '' : '\n    schema: { sdl: "type Query { partner: Int }" }'
  writeFileSync(join(folder, 'supergraph.yaml'), `subgraphs:\n  ${name}:\n    routing_url: http://127.0.0.1:1/${listed}\n`)
  const service = await startService({
    folder,
    workers,
    settings: { server: { supergraph: 'supergraph.yaml', ...settings.server }, auth: settings.auth ?? {} },
  })
  onTestFinished(async () => {
    await service.stop()
    remove()
  })
  return service
    .log()
    .split('\n')
    .filter((line) => line.includes(WARNING))
}

describe('a start with a subgraph of ours elsewhere', () => {
  it.each([1, 2])('warns once without auth.identity, with %i workers', async (workers) => {
    const warnings = await warningsAtStart({}, 'history', workers)
    expect(warnings.map((line) => (JSON.parse(line) as { subgraphs: string[] }).subgraphs)).toEqual([['history']])
  })

  it.each([
    ['auth.identity', { auth: { identity: { secret: SECRET } } }, 'history'],
    ['a forwarded token', { server: { forwardHeaders: ['authorization'] } }, 'history'],
    ['a subgraph of a partner only', {}, 'partner'],
  ])('does not warn with %s', async (_, settings, name) => {
    expect(await warningsAtStart(settings, name)).toEqual([])
  })
})
