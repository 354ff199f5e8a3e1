/** A new process of the product in production mode with default limits, and its figures, read from outside. */
import { Redis } from 'ioredis'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDeployment } from '../deployment/deployment.ts'
import { freePorts } from '../deployment/ports.ts'
import { makeRole, type Role } from '../deployment/role.ts'

export const SHAPES = ['embedded', 'distributed'] as const
export type Shape = (typeof SHAPES)[number]

export type Product = {
  role: Role
  /** Bytes of anonymous memory of the process. */
  memoryBytes(): number
  /** Bytes that it has written to its log. */
  logBytes(): number
  /** Bytes that Redis uses; undefined on the embedded shape. */
  redisBytes(): Promise<number | undefined>
  /** One sentence per unexpected end of the process. */
  deaths(): readonly string[]
  remove(): Promise<void>
}

export const SECRET = 'the secret of the tokens of this benchmark'
/** By default all of 127.0.0.0/8 belongs to the site. Here it represents the internet, except for the healthy client. */
const SETTINGS = { server: { mode: 'production' }, auth: { secret: SECRET }, limits: { sharedAddresses: ['127.0.0.1'] } }

export async function startProduct(shape: Shape, role: 'start' | 'subgraph'): Promise<Product> {
  return shape === 'embedded' ? startEmbedded(role) : startDistributed()
}

async function startEmbedded(kind: 'start' | 'subgraph'): Promise<Product> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-abuse-'))
  const [port] = (await freePorts(1)) as [number]
  const command = kind === 'start' ? ['start'] : ['subgraph', 'thumbup']
  const settings = { ...SETTINGS, stores: { data: join(folder, 'data') } }
  const role = makeRole({ name: command.join('-'), command, port, folder, settings })
  await role.start()
  return {
    ...productOf(role, folder),
    redisBytes: () => Promise.resolve(undefined),
    async remove() {
      await role.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startDistributed(): Promise<Product> {
  const deployment = await startDeployment({ gateways: 1, jobs: 1, markJobs: 1, seenJobs: 1, settings: SETTINGS })
  const role = deployment.gateways[0] as Role
  return {
    ...productOf(role, join(deployment.servers.folder, role.name)),
    redisBytes: () => redisMemory(deployment.servers.redis.port),
    remove: deployment.remove,
  }
}

function productOf(role: Role, folder: string): Pick<Product, 'role' | 'memoryBytes' | 'logBytes' | 'deaths'> {
  return {
    role,
    memoryBytes: () => treeOf(role.pid()).reduce((sum, pid) => sum + anonymousBytes(pid), 0),
    logBytes: () => statSync(join(folder, 'output.log')).size,
    deaths: () => role.deaths(),
  }
}

function anonymousBytes(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kilobytes) * 1_024
  } catch {
    return 0
  }
}

function treeOf(pid: number | undefined): number[] {
  if (pid === undefined) return []
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const children = threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean))
    return [pid, ...children.flatMap((child) => treeOf(Number(child)))]
  } catch {
    return [pid]
  }
}

async function redisMemory(port: number): Promise<number> {
  const redis = new Redis({ port, host: '127.0.0.1' })
  try {
    return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
  } finally {
    redis.disconnect()
  }
}
