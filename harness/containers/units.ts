/** Reads the systemd units in ops/systemd. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Container } from './container.ts'
import { CHECKOUT } from './image.ts'

export const SYSTEMD = join(CHECKOUT, 'ops', 'systemd')
/** The command that the npm package installs. */
const PROGRAM = '/usr/local/bin/tidemark '
const ETC = '/etc/tidemark/'

/** `instance`: of a template, such as `history` of `tidemark-job@`. */
export function containerOfUnit(unit: string, instance = ''): Container {
  const text = readFileSync(join(SYSTEMD, `${unit}.service`), 'utf8').replaceAll('%i', instance)
  const [command = ''] = settingsOf(text, 'ExecStart')
  if (!command.startsWith(PROGRAM)) throw new Error(`${unit}.service does not run ${PROGRAM}`)
  const files = settingsOf(text, 'EnvironmentFile').map((path) => {
    if (!path.startsWith(ETC)) throw new Error(`${unit}.service reads ${path}, which is not in ${ETC}`)
    return readFileSync(join(SYSTEMD, 'etc', path.slice(ETC.length)), 'utf8')
  })
  return {
    name: `${unit}${instance}`,
    args: command.slice(PROGRAM.length).split(' '),
    environment: Object.assign({}, ...files.map(variablesOf)) as Record<string, string>,
    files: {},
    health: settingsOf(text, 'Type')[0] === 'oneshot' ? { kind: 'none' } : { kind: 'paths', paths: ['/health/live', '/health/ready'] },
  }
}

function settingsOf(text: string, name: string): string[] {
  return [...text.matchAll(/^(\w+)=(.*)$/gm)].flatMap(([, key, value = '']) => (key === name ? [value] : []))
}

function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
}
