/** Reads docker-compose.yml as Docker Compose does: merged mappings, and variables of the shell. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import type { Container } from './container.ts'
import { CHECKOUT } from './image.ts'

export type Service = {
  image?: string
  build?: string
  command?: string[]
  environment?: Record<string, string | number>
  configs?: { source: string; target: string }[]
  healthcheck?: { test?: string[]; disable?: boolean }
  profiles?: string[]
  mem_limit?: string
  stop_grace_period?: string
  networks?: string[]
  ports?: string[]
}

export type ComposeFile = {
  services: Record<string, Service>
  configs: Record<string, { file: string }>
}

export const COMPOSE_FILE = join(CHECKOUT, 'docker-compose.yml')

/** Throws for a variable that is not set and must be. */
export function readComposeFile(variables: Readonly<Record<string, string>>, path = COMPOSE_FILE): ComposeFile {
  return interpolated(parse(readFileSync(path, 'utf8'), { merge: true }), variables) as ComposeFile
}

/** `health`: the check of the image, for services that have none of their own. */
export function containerOf(file: ComposeFile, name: string, health: readonly string[], path = COMPOSE_FILE): Container {
  const service = file.services[name]
  if (service === undefined) throw new Error(`docker-compose.yml has no service "${name}"`)
  const mounted = (service.configs ?? []).map(({ source, target }) => {
    const config = file.configs[source]
    if (config === undefined) throw new Error(`docker-compose.yml has no configuration "${source}"`)
    return [target, readFileSync(join(dirname(path), config.file), 'utf8')]
  })
  return {
    name,
    args: service.command ?? [],
    environment: Object.fromEntries(Object.entries(service.environment ?? {}).map(([key, value]) => [key, String(value)])),
    files: Object.fromEntries(mounted) as Record<string, string>,
    health: healthOf(service, health),
  }
}

function healthOf({ healthcheck }: Service, ofImage: readonly string[]): Container['health'] {
  if (healthcheck?.disable === true) return { kind: 'none' }
  const [form, ...rest] = healthcheck?.test ?? ['CMD', ...ofImage]
  return { kind: 'command', command: form === 'CMD-SHELL' ? ['sh', '-c', ...rest] : rest }
}

function interpolated(value: unknown, variables: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return interpolatedText(value, variables)
  if (Array.isArray(value)) return value.map((each) => interpolated(each, variables))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, interpolated(each, variables)]))
}

/** The two forms that the file uses: `${NAME:?sentence}`, and `$$` for a dollar sign. */
function interpolatedText(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\{(\w+):\?([^}]*)\}/g, (_all, name: string | undefined, sentence: string) => {
    if (name === undefined) return '$'
    const value = variables[name]
    if (value === undefined || value === '') throw new Error(`${name} is missing: ${sentence}`)
    return value
  })
}
