/**
 * `tidemark config` as an operator uses it (docs/operating/live-configuration.md), on running processes of both shapes: four processes that
 * share a data folder, and gateways, a job and a subgraph alone on Redis, Kafka and MariaDB.
 */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand, type Ended } from '../../../harness/deployment/command.ts'
import { startDeployment, type Deployment } from '../../../harness/deployment/deployment.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../../harness/deployment/service.ts'
import { service } from '../../../harness/deployment/services.ts'
import { until } from '../../../harness/until.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]
const PAGE = '{ viewerHistory(first: 5) { edges { node { id } } } }'
const WORKERS = 3

type Shape = {
  /** Ports of the processes, or of the one that all workers share. */
  origins: string[]
  /** Answers at `/health/ready` that must agree, because workers answer in turn. */
  processes: number
  run(...args: string[]): Promise<Ended>
  write(name: string, document: unknown): string
}

/** The versions that processes run, by `/health/ready`; workers answer several times. */
async function runningVersions({ origins, processes }: Shape): Promise<unknown[]> {
  const answers = Array.from({ length: 4 * processes }, async (_, at) => {
    const response = await fetch(`${origins[at % origins.length]}/health/ready`, { headers: { connection: 'close' } })
    return JSON.stringify(((await response.json()) as { config: unknown }).config)
  })
  return [...new Set(await Promise.all(answers))].map((text) => JSON.parse(text) as unknown)
}

const versionOf = ({ out }: Ended): number => Number(/version (\d+)/.exec(out)?.[1] ?? Number.NaN)

async function set(shape: Shape, document: unknown): Promise<number> {
  const file = shape.write('live.json', document)
  const ended = await shape.run('set', file, '--expect', String(versionOf(await shape.run('get'))))
  expect(ended).toMatchObject({ status: 0, error: '' })
  const version = versionOf(ended)
  await untilAllRun(shape, version)
  return version
}

/** The metrics of workers are those of all of them, so none is missed. */
function untilAllRun(shape: Shape, version: number): Promise<void> {
  return until(`version ${version} in all processes`, async () => {
    const texts = await Promise.all(shape.origins.map(async (origin) => (await fetch(`${origin}/metrics`)).text()))
    const found = texts.map((text) => Array.from(text.matchAll(/^tidemark_config_version\{.*\} (\d+)$/gm), (match) => Number(match[1])))
    return found.every((versions) => isDeepStrictEqual(versions, [version]))
  })
}

/** A rate is set, holds in every process that serves the gateway, and is removed again. No restart, and no error besides the refusals. */
async function changesLimits(shape: Shape, apis: readonly string[]): Promise<void> {
  const refused = async (): Promise<boolean> => {
    const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => ask(`${apis[at % apis.length]}/graphql`, '7', PAGE)))
    return answers.some(({ errors }) => errors?.[0]?.extensions.code === 'RATE_LIMITED')
  }
  expect(await refused()).toBe(false)
  await set(shape, { limits: { viewer: { points: 20, perSeconds: 60 } } })
  expect(await refused()).toBe(true)
  await set(shape, { limits: { viewer: 'none' } })
  expect(await refused()).toBe(false)
}

/** No process takes a version that is not valid, or that contradicts another setting, and the version stays. */
async function refusesBadVersions(shape: Shape): Promise<void> {
  const before = await runningVersions(shape)
  for (const [document, sentence] of [
    [{ limits: { viewer: { points: 0, perSeconds: 1 } } }, 'limits.viewer.points: 0 is not possible'],
    [{ limits: { abuse: { refusals: 1, perSeconds: 1, blockSeconds: 1 }, viewer: 'none' } }, 'limits.abuse counts refusals'],
    [{ stores: { regions: 10 } }, 'stores.regions cannot change while processes run'],
  ] as const) {
    const ended = await shape.run('set', shape.write('bad.json', document), '--expect', String(versionOf(await shape.run('get'))))
    expect(ended).toMatchObject({ status: 1, error: expect.stringContaining(sentence) as string })
  }
  expect(await runningVersions(shape)).toEqual(before)
}

async function oneOfTwoOperatorsWins(shape: Shape): Promise<void> {
  const version = String(versionOf(await shape.run('get')))
  const files = [30_000, 40_000].map((points) => shape.write(`${points}.json`, { limits: { viewer: { points, perSeconds: 60 } } }))
  const ends = await Promise.all(files.map((file) => shape.run('set', file, '--expect', version)))
  const [winner, loser] = ends.toSorted((one, other) => one.status - other.status) as [Ended, Ended]
  expect([winner.status, loser.status]).toEqual([0, 1])
  expect(loser.error).toContain(`LIVE_VALUE_CHANGED: the live configuration has version ${versionOf(winner)}, not ${version}`)
}

const REPORT = `mutation R($business: String!, $id: ID!, $position: Float!, $duration: Float) {
  reportProgress(input: {business: $business, id: $id, position: $position, duration: $duration}) {
    outcome progress { finished } userErrors { code }
  }
}`
const MARK = `mutation M($business: String!, $id: ID!, $mark: Mark!) {
  setMark(input: {business: $business, id: $id, mark: $mark}) { outcome userErrors { code } }
}`
const SUBJECT =
  '{ subjects(business: "podcast", ids: ["1"]) { __typename ... on Podcast { viewerMark viewerProgress { finished } viewerSeen } } }'
const ENTITY =
  '{ _entities(representations: [{__typename: "Podcast", id: "1"}]) { ... on Podcast { business viewerProgress { finished } } } }'
const PODCAST = { number: 9, name: 'podcast', entity: 'Podcast' }

/** A business is added, changed and disabled while other requests run. None of them fails. */
async function changesBusinesses(shape: Shape, apis: readonly string[]): Promise<void> {
  let isOver = false
  let count = 0
  async function lane(viewer: string): Promise<void> {
    while (!isOver) {
      const url = `${apis[count++ % apis.length]}/graphql`
      const reported = await ask(url, viewer, REPORT, { business: 'video', id: String(count), position: 60_000 })
      expect(reported).toMatchObject({ data: { reportProgress: { outcome: 'ACCEPTED' } } })
      const page = await ask(url, viewer, PAGE)
      expect([page.errors, page.data?.viewerHistory.edges.length]).toEqual([undefined, expect.any(Number)])
    }
  }
  /** The same call at every process that serves the API. */
  const everywhere = (query: string, variables: Record<string, unknown> = {}) =>
    Promise.all(Array.from({ length: 2 * shape.processes }, (_, at) => ask(`${apis[at % apis.length]}/graphql`, '8', query, variables)))
  const report = (position: number) => everywhere(REPORT, { business: 'podcast', id: '1', position, duration: 100_000 })

  const lanes = Promise.allSettled(['21', '22', '23'].map(lane))
  try {
    for (const answer of await report(60_000))
      expect(answer).toMatchObject({ data: { reportProgress: { userErrors: [{ code: 'BUSINESS_UNKNOWN' }] } } })
    const added = await set(shape, { businesses: [PODCAST] })
    for (const { data } of await report(60_000))
      expect(data.reportProgress).toMatchObject({ outcome: 'ACCEPTED', progress: { finished: false } })
    for (const { data } of await everywhere(MARK, { business: 'podcast', id: '1', mark: 'LIKE' }))
      expect(data.setMark.userErrors).toEqual([])
    await until('the graph has its type', async () => (await everywhere(SUBJECT)).every(({ errors }) => errors === undefined))
    const subjects = [{ __typename: 'Podcast', viewerMark: 'LIKE', viewerProgress: { finished: false }, viewerSeen: 'PLAYED' }]
    for (const answer of await everywhere(SUBJECT)) expect(answer).toEqual({ data: { subjects } })

    await set(shape, { businesses: [{ ...PODCAST, finishedPercent: 50 }] })
    for (const { data } of await report(61_000)) expect(data.reportProgress.progress).toEqual({ finished: true })

    await set(shape, { businesses: [{ ...PODCAST, enabled: false }] })
    for (const { data } of await report(62_000)) expect(data.reportProgress.userErrors).toEqual([{ code: 'BUSINESS_DISABLED' }])
    for (const { data } of await everywhere(SUBJECT))
      expect(data.subjects).toMatchObject([{ viewerMark: 'LIKE', viewerProgress: { finished: true } }])

    const removed = await shape.run('set', shape.write('removed.json', {}), '--expect', String(versionOf(await shape.run('get'))))
    expect(removed).toMatchObject({ status: 1, error: expect.stringContaining('businesses: podcast: number 9 is missing') as string })
    const again = await shape.run('rollback', String(added))
    expect(again).toMatchObject({ status: 0 })
    await until('podcast takes writes again', async () =>
      (await report(63_000)).every(({ data }) => data.reportProgress.userErrors.length === 0),
    )
  } finally {
    isOver = true
  }
  expect((await lanes).filter(({ status }) => status === 'rejected')).toEqual([])
  expect(count).toBeGreaterThan(20)
}

describe('the embedded shape with workers', () => {
  const { folder, remove } = makeServiceFolder()
  let running: Service
  let shape: Shape
  beforeAll(async () => {
    running = await startService({ folder, workers: WORKERS })
    shape = {
      origins: [running.url.replace('/graphql', '')],
      processes: WORKERS,
      run: (...args) => runCommand(folder, ['config', ...args, '--config', 'tidemark.yaml', '--data', 'data']),
      write: (name, document) => (writeFileSync(join(folder, name), JSON.stringify(document)), name),
    }
  })
  afterAll(async () => {
    await running?.stop()
    remove()
  })

  test('a limit is changed in every process without a restart', () => changesLimits(shape, shape.origins))
  test('a bad version is refused and reaches no process', () => refusesBadVersions(shape))
  test('of two operators at once, one gets the newer version as an error', () => oneOfTwoOperatorsWins(shape))

  test('a version that another program stored and that is not valid is refused by every process, and the last one stays', async () => {
    const version = versionOf(await shape.run('get'))
    await untilAllRun(shape, version)
    writeFileSync(join(folder, 'data', 'live', `${version + 1}.json`), JSON.stringify({ at: 1, value: { limits: { viewer: 5 } } }))
    await until('all processes refuse it', async () => {
      const [one, ...others] = (await runningVersions(shape)) as { version: number; refused?: true }[]
      return others.length === 0 && one?.refused === true && one.version === version
    })
    expect(running.log()).toContain('limits.viewer: 5 is not possible: give points')
    rmSync(join(folder, 'data', 'live', `${version + 1}.json`))
  })

  test('the metrics of the workers name one version, that of all of them', async () => {
    const version = await set(shape, { history: { flushAgeMaxMs: 30_000 } })
    let text = ''
    // Not every worker has answered at `/health/ready`.
    await until('the metrics name one version', async () => {
      text = await (await fetch(`${shape.origins[0]}/metrics`)).text()
      const versions = text.matchAll(/^tidemark_config_version\{hash="[0-9a-f]{8}"\} (\d+)$/gm)
      return isDeepStrictEqual(
        Array.from(versions, (match) => Number(match[1])),
        [version],
      )
    })
    expect(text).toMatch(/^tidemark_config_refused 0$/m)
  })

  // The last one: a business that was added never leaves.
  test('a business is added, changed and disabled under load, without an error', () => changesBusinesses(shape, shape.origins))
})

describe('a file that is mounted from a ConfigMap', () => {
  const { folder, remove } = makeServiceFolder()
  let running: Service | undefined
  afterAll(async () => {
    await running?.stop()
    remove()
  })

  /** Kubernetes writes a new folder, and then swaps the link `..data` to it. */
  function mount(name: string, text: string): void {
    mkdirSync(join(folder, 'mounted', name), { recursive: true })
    writeFileSync(join(folder, 'mounted', name, 'live.yaml'), text)
    symlinkSync(name, join(folder, 'mounted', '..data_tmp'))
    renameSync(join(folder, 'mounted', '..data_tmp'), join(folder, 'mounted', '..data'))
  }

  test('is followed when the link is swapped; a half-written one changes nothing', async () => {
    mount('..1', 'limits: {}\n')
    symlinkSync(join('..data', 'live.yaml'), join(folder, 'mounted', 'live.yaml'))
    running = await startService({ folder, settings: { live: { from: join('mounted', 'live.yaml') } } })
    const origin = running.url.replace('/graphql', '')
    const limited = async (): Promise<boolean> => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => ask(running?.url as string, '7', PAGE)))
      return answers.some(({ errors }) => errors?.[0]?.extensions.code === 'RATE_LIMITED')
    }
    expect(await limited()).toBe(false)
    mount('..2', 'limits: {viewer: {points: 10, perSeconds: 60}}\n')
    await until('the limit', limited)
    mount('..3', 'limits: {viewer: {points: 10, perSec')
    await until('the refusal', async () => {
      const { config } = (await (await fetch(`${origin}/health/ready`)).json()) as { config: { refused?: true } }
      return config.refused === true
    })
    expect(await limited()).toBe(true)
    mount('..4', 'limits: {viewer: none}\n')
    await until('no limit', async () => !(await limited()))
  })
})

describe.skipIf(servers.includes(undefined))('the distributed shape', () => {
  let deployment: Deployment
  let shape: Shape
  beforeAll(async () => {
    deployment = await startDeployment({ gateways: 2, jobs: 1, subgraphs: 1 })
    shape = {
      origins: deployment.roles.map(({ metricsUrl }) => metricsUrl.replace('/metrics', '')),
      processes: deployment.roles.length,
      run: (...args) => runCommand(deployment.servers.folder, ['config', ...args, '--config', join('gateway-1', 'tidemark.yaml')]),
      write: (name, document) => (writeFileSync(join(deployment.servers.folder, name), JSON.stringify(document)), name),
    }
  })
  afterAll(() => deployment?.remove())
  const apis = (): string[] => deployment.gateways.map(({ url }) => url.replace('/graphql', ''))

  test('a limit is changed in every process without a restart', () => changesLimits(shape, apis()))
  test('a bad version is refused and reaches no process', () => refusesBadVersions(shape))
  test('of two operators at once, one gets the newer version as an error', () => oneOfTwoOperatorsWins(shape))

  test('a business is added, changed and disabled under load, without an error', async () => {
    await changesBusinesses(shape, apis())
    const answer = await ask(deployment.subgraphs[0]?.url.replace('/graphql', '/') as string, '8', ENTITY)
    expect(answer).toEqual({ data: { _entities: [{ business: 'podcast', viewerProgress: { finished: false } }] } })
  })

  test('the metrics name the version, and doctor finds it valid', async () => {
    const version = versionOf(await shape.run('get'))
    await untilAllRun(shape, version)
    for (const role of deployment.roles) {
      const text = await (await fetch(role.metricsUrl)).text()
      expect(text).toMatch(new RegExp(`^tidemark_config_version\\{hash="[0-9a-f]{8}"\\} ${version}$`, 'm'))
      expect(text).toMatch(/^tidemark_config_refused 0$/m)
    }
    const { out } = await runCommand(deployment.servers.folder, ['doctor', '--config', join('gateway-1', 'tidemark.yaml')])
    expect(out).toMatch(new RegExp(`^good +config +live version ${version} is valid$`, 'm'))
  })
})
