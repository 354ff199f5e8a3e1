/** The pipelines of docs/gateway/checks-in-ci.md: their commands, run as the page has them, against a running service. */
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { VIDEOS, startPartner, type Partner } from '../support/partner.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'gateway', 'checks-in-ci.md'), 'utf8')

const blocks = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text)

type Workflow = { jobs: { check: { steps: { run?: string; shell?: string }[] } } }
type Pipeline = { supergraph: { script: string[] } }

const [workflow = '', pipeline = ''] = blocks('yaml')
const [withoutIntrospection = ''] = blocks('sh')

/** The commands after the installation of packages. */
const GITHUB = (parse(workflow) as Workflow).jobs.check.steps.filter(({ run }) => run?.includes('tidemark')).map(({ run = '' }) => run)
const GITLAB = (parse(pipeline) as Pipeline).supergraph.script.filter((line) => !line.startsWith('npm ci'))

const { folder, remove } = makeServiceFolder()
const repository = join(folder, 'repository')
let partner: Partner
let service: Service

beforeAll(async () => {
  partner = await startPartner()
  for (const path of ['supergraph/manifests', 'node_modules/.bin']) mkdirSync(join(repository, path), { recursive: true })
  const command = join(repository, 'node_modules', '.bin', 'tidemark')
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'cli', 'tidemark.ts')}" "$@"\n`)
  chmodSync(command, 0o755)
  writeFileSync(
    join(repository, 'supergraph', 'supergraph.yaml'),
    JSON.stringify({ subgraphs: { videos: { routing_url: partner.url, schema: { file: 'videos.graphql' } } } }),
  )
  writeFileSync(join(repository, 'supergraph', 'manifests', 'title.graphql'), 'query Title { video(id: 1) { title viewerMark } }\n')
  writeSchema(VIDEOS)
  // A change to the files does not reach the service: it has its own copy of the graph.
  const supergraph = join(folder, 'supergraph.yaml')
  writeFileSync(supergraph, JSON.stringify({ subgraphs: { videos: { routing_url: partner.url, schema: { sdl: VIDEOS } } } }))
  service = await startService({ folder, settings: { server: { supergraph } } })
})
beforeEach(() => writeSchema(VIDEOS))
afterAll(async () => {
  await service?.stop()
  await partner?.stop()
  remove()
})

const writeSchema = (sdl: string): void => writeFileSync(join(repository, 'supergraph', 'videos.graphql'), sdl)

type Ended = { status: number; out: string; file(name: string): string }

/** As a runner does: the shell of the service, with its variables. */
function run(script: readonly string[], flags: readonly string[], cwd = repository): Promise<Ended> {
  const summary = join(folder, 'summary.md')
  rmSync(summary, { force: true })
  const PATH = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
  const env = { ...process.env, PATH, TIDEMARK_API: service.url, GITHUB_STEP_SUMMARY: summary }
  const file = (name: string) => readFileSync(name === 'summary' ? summary : join(cwd, name), 'utf8')
  return new Promise((resolve) => {
    execFile('bash', ['--noprofile', '--norc', ...flags, '-c', script.join('\n')], { cwd, env }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out: out + error, file }),
    )
  })
}

const BROKEN = VIDEOS.replace('title: String', 'name: String')
const SHELL = ['-eo', 'pipefail']

test('the page has one command of tidemark for each service', () => {
  expect([GITHUB.length, GITLAB.length]).toEqual([1, 1])
  expect(workflow).toContain('shell: bash')
})

describe.each([
  ['GitHub Actions', GITHUB, 'summary', 'BREAKS  Video.title was removed.'],
  ['GitLab CI', GITLAB, 'report.json', 'Video.title was removed.'],
])('the pipeline of %s', (_, script, report, sentence) => {
  test('passes for an unchanged schema and for an added field', async () => {
    for (const sdl of [VIDEOS, VIDEOS.replace('title: String', 'title: String year: Int')]) {
      writeSchema(sdl)
      const { status, out, file } = await run(script, SHELL)
      expect([status, out]).toEqual([0, expect.any(String)])
      expect(file(report)).toMatch(/Nothing breaks\.|"ok":true/)
    }
  })

  test('fails for a removed field that a known operation uses, and keeps the report', async () => {
    writeSchema(BROKEN)
    const { status, file } = await run(script, SHELL)
    expect(status).toBe(1)
    expect(file(report)).toContain(sentence)
    expect(file(report)).toContain('Title')
  })

  test('fails for a schema that does not compose', async () => {
    writeSchema(VIDEOS.replace('id: ID! title', 'id: String! title'))
    const { status, out } = await run(script, SHELL)
    expect([status, out]).toEqual([1, expect.stringContaining('FIELD_TYPE_MISMATCH: ')])
  })
})

test('without introspection, the check compares with the main branch', async () => {
  const origin = join(folder, 'origin')
  const clone = join(folder, 'clones', 'clone')
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example', ...args], { cwd, stdio: 'pipe' })
  mkdirSync(join(folder, 'clones'))
  execFileSync('cp', ['-r', repository, origin])
  git(origin, 'init', '-q', '-b', 'main')
  git(origin, 'add', '-A')
  git(origin, 'commit', '-qm', 'main')
  git(folder, 'clone', '-q', origin, clone)
  const lines = withoutIntrospection.trim().split('\n')
  expect(await run(lines, SHELL, clone)).toMatchObject({ status: 0, out: expect.stringContaining('Nothing breaks.') as unknown })
  writeFileSync(join(clone, 'supergraph', 'videos.graphql'), BROKEN)
  const check = lines.filter((line) => line.includes('tidemark'))
  expect(await run(check, SHELL, clone)).toMatchObject({
    status: 1,
    out: expect.stringContaining('BREAKS  Video.title was removed.') as unknown,
  })
  expect(existsSync(join(folder, 'clones', 'base'))).toBe(true)
})
