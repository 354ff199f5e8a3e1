/**
 * Every container, pod and unit of the deployment files, run as a process against real servers: its command line, its environment, its
 * mounted files and its health check are those of the file.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { containerOf, readComposeFile } from '../../harness/containers/compose-file.ts'
import type { Container } from '../../harness/containers/container.ts'
import { buildImage, readImage } from '../../harness/containers/image.ts'
import { containerOfPod, podOf, readManifests } from '../../harness/containers/manifests.ts'
import { placed, runContainer, watch, type RunningContainer } from '../../harness/containers/run.ts'
import { containerOfUnit } from '../../harness/containers/units.ts'
import { makeOwnServers, startOwnServers, type OwnServers } from '../../harness/deployment/own-servers.ts'
import { freePorts } from '../../harness/deployment/ports.ts'
import { until } from '../../harness/until.ts'
import { ensurePrograms, findProgram } from '../../scripts/servers/packages.ts'
import { openDatabase, type Database } from '../../stores/mysql/database.ts'

const SECRET = 'a secret of at least 32 bytes for tests'
/** Ten processes start, and some stop again: on a loaded machine that takes minutes. */
const START_AND_STOP_MAX_MS = 400_000
/** Of the user of the servers of this test. */
const PASSWORD = 'tidemark'
const REPORT =
  'mutation ($id: ID!) { reportProgress(input: { business: "video", id: $id, position: 61, duration: 600 }) { outcome userErrors { code } } }'

/** With CI=true the missing ones are installed. */
const PROGRAMS = ['redis-server', 'memcached', 'haproxy', 'mariadbd', 'java']
const areHere = process.env['CI'] === 'true' || PROGRAMS.every((each) => findProgram(each) !== undefined)

describe.skipIf(!areHere)('the deployment files', () => {
  const image = readImage()
  const file = readComposeFile({ TIDEMARK_MYSQL_PASSWORD: PASSWORD, TIDEMARK_JWT_SECRET: SECRET })
  const running: RunningContainer[] = []
  let servers: OwnServers
  let imageFolder: string
  let addresses: Record<string, string>
  let database: Database

  /** Redis and Memcached run by the command lines of docker-compose.yml, and the rest by its addresses. */
  beforeAll(async () => {
    await ensurePrograms('docker-compose.yml', ['redis-server', 'memcached', 'haproxy'], ['redis-server', 'memcached', 'haproxy'])
    servers = await makeOwnServers()
    imageFolder = join(servers.folder, 'image')
    buildImage(image, imageFolder)
    const names = ['redis:6379', 'cache-main:11211', 'cache-backup:11211']
    const ports = await freePorts(names.length)
    const here = (port: number): string => `127.0.0.1:${port}`
    addresses = {
      ...Object.fromEntries(names.map((name, at) => [name, here(ports[at] as number)])),
      'kafka:9092': here(servers.kafka.port),
      'mysql:3306': here(servers.mariadb.port),
    }
    for (const [at, name] of names.entries()) startServer(name.split(':')[0] as string, ports[at] as number)
    await startOwnServers(servers, ['kafka', 'mariadb'])
    database = openDatabase(systemClock, { url: `mysql://tidemark:${PASSWORD}@127.0.0.1:${servers.mariadb.port}/tidemark` })
  })

  function startServer(name: string, port: number): void {
    const { args } = containerOf(file, name, [])
    const folder = join(servers.folder, name)
    mkdirSync(folder)
    const more = name === 'redis' ? ['--port', String(port), '--dir', folder] : [`--port=${port}`, '--user=nobody']
    others.push(watch(spawn(findProgram(args[0] as string) as string, [...args.slice(1), ...more]), join(folder, 'output.log')))
  }
  const others: Pick<RunningContainer, 'kill' | 'ended'>[] = []

  afterEach(async () => {
    await Promise.all(running.splice(0).map(end))
  })
  afterAll(async () => {
    await database?.close()
    await Promise.all(others.map(end))
    await servers?.remove()
  })
  async function end(process: Pick<RunningContainer, 'kill' | 'ended'>): Promise<void> {
    process.kill()
    await process.ended
  }

  async function run(container: Container, name = container.name, places = addresses): Promise<RunningContainer> {
    const [port] = (await freePorts(1)) as [number]
    const started = runContainer(container, { image, imageFolder, folder: servers.folder, addresses: places }, port, name)
    running.push(started)
    return started
  }
  async function runAll(containers: readonly Container[], places = addresses): Promise<RunningContainer[]> {
    const started = await Promise.all(containers.map((each) => run(each, each.name, places)))
    await Promise.all(started.map((each) => each.healthy()))
    return started
  }

  const token = (viewer: string): Promise<string> =>
    new SignJWT({ sub: viewer, exp: Math.floor(Date.now() / 1_000) + 600 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(SECRET))

  async function report(url: string, viewer: string, id: string): Promise<void> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await token(viewer)}` },
      body: JSON.stringify({ query: REPORT, variables: { id } }),
    })
    expect(await response.json()).toEqual({ data: { reportProgress: { outcome: 'ACCEPTED', userErrors: [] } } })
  }

  /** Reports as this viewer, stops the process as an operator does, and finds the row in the database. */
  async function reportedRow(gateway: RunningContainer, viewer: number): Promise<void> {
    await report(gateway.url, String(viewer), '1')
    expect(await gateway.stop(), gateway.output()).toBe(0)
    await until('the row of the report', async () => (await rowsOf(viewer)) === 1)
  }
  /** core/keys.ts packs an integer into 8 bytes. */
  async function rowsOf(viewer: number): Promise<number> {
    const packed = viewer.toString(16).padStart(16, '0')
    return Number((await database.send(`SELECT COUNT(*) FROM history WHERE HEX(viewer) LIKE '%${packed.toUpperCase()}'`)).rows[0]?.[0])
  }

  it('the image has the compiled code of every role, and its processes write nothing into it', () => {
    const program = /--eval "([^"]*)"/.exec(image.runs.join('\n'))?.[1] ?? ''
    const cache = join(imageFolder, 'compile-cache')
    const here = program.replaceAll(`${image.folder}/`, `${imageFolder}/`)
    const env = { ...image.environment, NODE_COMPILE_CACHE: cache }
    execFileSync(process.execPath, ['--input-type=module', '--eval', here], { cwd: imageFolder, env })
    expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(500)
  })

  it(
    'docker-compose.yml: a report through the proxy reaches MySQL, and a restart of each gateway fails no request',
    async () => {
      const container = (name: string): Container => containerOf(file, name, image.health)
      const before = readdirSync(imageFolder)
      const migrate = await run(container('migrate'))
      expect(await migrate.ended, migrate.output()).toBe(0)
      expect(migrate.output()).toContain('created topic')

      const jobs = ['job', 'job-thumbup', 'job-existence', 'job-feed'].map(container)
      const gateways = await runAll([...['gateway-1', 'gateway-2'].map((name) => ({ ...container('gateway'), name })), ...jobs])
      const [first, second] = gateways as [RunningContainer, RunningContainer]
      const proxy = await startProxy(container('proxy'), [first, second])
      await report(proxy, '71', '1')
      for (const path of ['/metrics', '/%6Detrics', '/metrics?name=x'])
        expect([path, (await fetch(proxy + path)).status]).toEqual([path, 404])

      let stopped = false
      const load = async (lane: number): Promise<number> => {
        for (let count = 0; ; count++) {
          await report(proxy, String(lane), String(count))
          if (stopped) return count
          await sleep(20)
        }
      }
      const lanes = [101, 102, 103].map(load)
      expect(await first.stop()).toBe(0)
      const again = runContainer(
        container('gateway'),
        { image, imageFolder, folder: servers.folder, addresses },
        Number(new URL(first.url).port),
        'gateway-1',
      )
      running.push(again)
      await again.healthy()
      await until('the proxy sends reports to the restarted gateway', async () =>
        /^tidemark_reports_total\{[^}]*\} [1-9]/m.test(await (await fetch(`${again.url}/metrics`)).text()),
      )
      expect(await second.stop()).toBe(0)
      stopped = true
      for (const count of await Promise.all(lanes)) expect(count).toBeGreaterThan(10)
      await until('the row of the report', async () => (await rowsOf(71)) === 1)
      expect(readdirSync(imageFolder)).toEqual(before)
    },
    START_AND_STOP_MAX_MS,
  )

  /** With the addresses of these gateways, where Docker's name server would answer. */
  async function startProxy(container: Container, gateways: readonly RunningContainer[]): Promise<string> {
    const [port] = (await freePorts(1)) as [number]
    const [text = ''] = Object.values(container.files)
    const places = gateways.map(({ url }, at) => `server gateway${at + 1} ${new URL(url).host}`).join('\n  ')
    const here = placed(text, { 'bind :4000': `bind 127.0.0.1:${port}` }).replace(/server-template gateway .*/, places)
    expect(here.match(/^ {2}server gateway/gm)).toHaveLength(2)
    const config = join(servers.folder, 'haproxy.cfg')
    writeFileSync(config, here)
    others.push(watch(spawn(findProgram('haproxy') as string, ['-f', config]), join(servers.folder, 'haproxy.log')))
    const url = `http://127.0.0.1:${port}`
    await until('the proxy serves', async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200)
    return url
  }

  it('ops/kubernetes: a report to a gateway reaches MySQL', async () => {
    const secrets = { 'tidemark-mysql/password': PASSWORD, 'tidemark-tokens/jwt-secret': SECRET }
    const manifests = [...readManifests('config'), ...readManifests('migrate'), ...readManifests('roles')]
    const pods = manifests.filter((each) => podOf(each) !== undefined)
    const [job, ...roles] = pods.map((each) => containerOfPod(each, manifests, secrets)) as [Container, ...Container[]]
    const migrate = await run(job)
    expect(await migrate.ended, migrate.output()).toBe(0)
    const started = await runAll(roles)
    expect(started).toHaveLength(5)
    await reportedRow(started[0] as RunningContainer, 72)
  })

  it('ops/systemd: a report reaches MySQL, or the data folder', async () => {
    // The files in ops/systemd/etc have the ports of servers on the same machine, and passwords to change.
    const own = Object.fromEntries(Object.entries(addresses).map(([name, address]) => [`127.0.0.1:${name.split(':')[1]}`, address]))
    const places = { ...own, 'change-me-to-at-least-32-random-bytes': SECRET, 'change-me': PASSWORD }
    const migrate = await run(containerOfUnit('tidemark-migrate'), 'unit-migrate', places)
    expect(await migrate.ended, migrate.output()).toBe(0)
    const units = [containerOfUnit('tidemark-gateway'), containerOfUnit('tidemark'), containerOfUnit('tidemark-job@', 'history')]
    const [gateway, embedded] = await runAll(units, places)
    await report(embedded?.url ?? '', '73', '1')
    expect(await embedded?.stop()).toBe(0)
    await reportedRow(gateway as RunningContainer, 73)
  })
})
