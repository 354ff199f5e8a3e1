/** The memory limits of each process: the young generation of V8, and the arenas of the C library. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CHECKOUT, readImage } from '../../harness/containers/image.ts'
import { containerOfUnit, SYSTEMD } from '../../harness/containers/units.ts'
import { makeRole, SHIPPED_ENVIRONMENT, SHIPPED_OPTIONS } from '../../harness/deployment/role.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'

const LIMITS = { NODE_OPTIONS: '--max-semi-space-size=16', MALLOC_ARENA_MAX: '2' }
const SCRIPTS = ['start', 'tidemark']

/** The environment that a script of package.json gives to Tidemark. `caller` is the environment of its caller. */
function environmentOf(script: string, caller: Record<string, string>): Record<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const command = (scripts[script] ?? '').replace(/ node cli\/tidemark\.ts.*$/, ' env')
  const { stdout, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', ...caller } })
  expect(status).toBe(0)
  return Object.fromEntries([...stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value.trim()]))
}

test('npm start and npm run tidemark set them', () => {
  for (const script of SCRIPTS) expect(environmentOf(script, {})).toMatchObject(LIMITS)
})

test('the environment of the caller overrides them', () => {
  for (const script of SCRIPTS) {
    const { NODE_OPTIONS, MALLOC_ARENA_MAX } = environmentOf(script, { NODE_OPTIONS: '--max-semi-space-size=8', MALLOC_ARENA_MAX: '0' })
    // Node takes the last value of an option.
    expect(NODE_OPTIONS).toBe('--max-semi-space-size=16 --max-semi-space-size=8')
    expect(MALLOC_ARENA_MAX).toBe('0')
  }
})

test('the image and every unit set them', () => {
  expect(readImage().environment).toMatchObject(LIMITS)
  const units = readdirSync(SYSTEMD).filter((name) => name.endsWith('.service'))
  expect(units.length).toBeGreaterThan(0)
  for (const unit of units) expect(containerOfUnit(unit.replace('.service', ''), 'history').environment).toMatchObject(LIMITS)
})

test('the processes of tests and benchmarks have them', async () => {
  expect({ NODE_OPTIONS: SHIPPED_OPTIONS.join(' '), ...SHIPPED_ENVIRONMENT }).toEqual(LIMITS)
  vi.stubEnv('MALLOC_ARENA_MAX', undefined)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { folder, remove } = makeServiceFolder()
  onTestFinished(remove)
  const service = await startService({ folder })
  onTestFinished(() => service.kill())
  expectLimits(service.pid)
  const role = makeRole({ name: 'start', command: ['start'], port: 0, folder: join(folder, 'role'), settings: {} })
  onTestFinished(() => role.kill())
  await role.start()
  expectLimits(role.pid() as number)
})

function expectLimits(pid: number): void {
  const listOf = (file: string): string[] => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')
  expect(listOf('cmdline')).toContain(LIMITS.NODE_OPTIONS)
  expect(listOf('environ')).toContain(`MALLOC_ARENA_MAX=${LIMITS.MALLOC_ARENA_MAX}`)
}
