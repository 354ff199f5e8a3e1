/** The systemd units as files. containers.long.test.ts runs them. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { SYSTEMD } from '../../harness/containers/units.ts'
import { findProgram } from '../../scripts/servers/packages.ts'

const units = readdirSync(SYSTEMD).filter((name) => name.endsWith('.service'))
const read = (name: string): string => readFileSync(join(SYSTEMD, name), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-units-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** With the program and the user of this machine, because systemd looks both up. */
function verify(change: (text: string) => string = (text) => text): string {
  for (const name of units) {
    const here = read(name).replaceAll('/usr/local/bin/tidemark', process.execPath).replace('User=tidemark', `User=${userInfo().username}`)
    writeFileSync(join(folder, name), change(here))
  }
  const names = units.map((name) => join(folder, name.replace('@.', '@history.')))
  copyFileSync(join(folder, 'tidemark-job@.service'), join(folder, 'tidemark-job@history.service'))
  const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', ...names], { encoding: 'utf8' })
  return `${stdout}${stderr}`
    .split('\n')
    .filter((line) => line.includes(folder) || line.includes('tidemark'))
    .join('\n')
}

describe('the units', () => {
  it.skipIf(findProgram('systemd-analyze') === undefined)('are valid for systemd', () => {
    expect(verify()).toBe('')
    expect(verify((text) => text.replace('RestartSec=2', 'RestartSec=soon'))).toContain('Failed to parse sec value')
  })

  it('let each process end its drain', () => {
    const { drainMaxMs } = makeConfig([]).server
    for (const name of units) {
      const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read(name)) ?? []
      expect(Number(seconds) * 1_000, name).toBeGreaterThan(drainMaxMs)
    }
  })

  it('give the secret of tokens to processes that answer requests, and no secret in the unit itself', () => {
    const holders = units.filter((name) => read(name).includes('EnvironmentFile=/etc/tidemark/tokens'))
    expect(holders).toEqual(['tidemark-gateway.service', 'tidemark.service'])
    for (const name of units) expect(read(name)).not.toMatch(/PASSWORD|SECRET/)
  })

  it('have a port per job', () => {
    const ports = readdirSync(join(SYSTEMD, 'etc')).flatMap(
      (name) => /^PORT=(\d+)$/m.exec(readFileSync(join(SYSTEMD, 'etc', name), 'utf8'))?.[1] ?? [],
    )
    expect(new Set(ports).size).toBe(4)
  })
})
