/**
 * Gathers the parts of a supergraph: the SDLs of our subgraphs, which this process knows, and those of partners, from files, addresses
 * or supergraph.yaml itself. It does not compose them. `fingerprint` changes when the parts change, so that a poll every few seconds
 * rarely composes.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Kind } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import { composerFor, type Compose } from './composer.ts'
import { fetchSubgraphSdl } from './introspect.ts'
import { readSource, type EnvironmentVariables, type ListedSubgraph } from './source.ts'
import { configError } from './config-error.ts'
import { parseSdl, type SubgraphSdl } from './subgraph-sdl.ts'

export type GatheredSchemas = {
  /** A composed supergraph, or subgraphs to compose. */
  readonly content: { readonly supergraph: string } | { readonly subgraphs: readonly SubgraphSdl[]; readonly compose: Compose }
  readonly fingerprint: string
  /** The files to watch. */
  readonly files: readonly string[]
  /** Whether addresses were asked, which need polling. */
  readonly asked: boolean
}

export type GatherOptions = {
  /** Milliseconds in which an address must answer with its schema. */
  readonly fetchTimeoutMs: number
  readonly environment?: EnvironmentVariables
}

/** `path` undefined: only our subgraphs. Rejects with CONFIG_INVALID, one sentence per mistake. */
export async function gather(path: string | undefined, ours: readonly SubgraphSdl[], options: GatherOptions): Promise<GatheredSchemas> {
  if (path === undefined) return gathered(await toCompose(ours), [], false)
  const source = readSource(path, options.environment)
  if (source.kind === 'composed') return gathered({ supergraph: source.sdl }, [path], false)
  // All at once: a slow partner does not delay the others, and all mistakes are reported together.
  const settled = await Promise.allSettled(source.subgraphs.map((listed) => resolveListed(path, listed, ours, options)))
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  if (failures.length > 0) throw mistakesOf(failures)
  const listed = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const names = new Set(listed.map(({ name }) => name))
  const files = source.subgraphs.flatMap(({ schema }) => (schema.kind === 'file' ? [schema.file] : []))
  return gathered(
    await toCompose([...ours.filter(({ name }) => !names.has(name)), ...listed]),
    [path, ...files],
    source.subgraphs.some(({ schema }) => schema.kind === 'url'),
  )
}

async function toCompose(subgraphs: readonly SubgraphSdl[]): Promise<GatheredSchemas['content']> {
  return { subgraphs, compose: await composerFor(subgraphs) }
}

function gathered(content: GatheredSchemas['content'], files: readonly string[], asked: boolean): GatheredSchemas {
  return { content, fingerprint: createHash('sha256').update(JSON.stringify(content)).digest('hex'), files, asked }
}

async function resolveListed(
  path: string,
  { name, routingUrl, schema }: ListedSubgraph,
  ours: readonly SubgraphSdl[],
  options: GatherOptions,
): Promise<SubgraphSdl & { url: string }> {
  const own = ours.find((each) => each.name === name)
  if (routingUrl === undefined) {
    throw configError(
      own === undefined
        ? `${path}: subgraphs.${name} has no routing_url: give the address for its requests`
        : `${path}: subgraphs.${name} is one of ours and runs in this process: leave it out, or give a routing_url to run it elsewhere`,
    )
  }
  if (schema.kind === 'own') {
    if (own === undefined) throw configError(`${path}: subgraphs.${name} has no schema: give it a file, a subgraph_url or an sdl`)
    return { name, sdl: own.sdl, url: routingUrl }
  }
  const sdl = await readSdl(path, name, schema, options)
  if (own !== undefined) refuseStranger(path, name, own.sdl, sdl)
  return { name, sdl, url: routingUrl }
}

async function readSdl(
  path: string,
  name: string,
  schema: Exclude<ListedSubgraph['schema'], { kind: 'own' }>,
  { fetchTimeoutMs }: GatherOptions,
): Promise<string> {
  if (schema.kind === 'sdl') return schema.sdl
  if (schema.kind === 'url') return fetchSubgraphSdl(name, schema.url, { timeoutMs: fetchTimeoutMs, headers: schema.headers })
  try {
    return readFileSync(schema.file, 'utf8')
  } catch (cause) {
    throw configError(`${path}: the schema of subgraphs.${name}, ${schema.file}, cannot be read: ${(cause as Error).message}`, cause)
  }
}

const ROOTS = new Set(['Query', 'Mutation', 'Subscription'])

/**
 * A partner's subgraph with the name of one of ours would replace ours without notice. A shared field may be missing: our published SDL
 * has `subjects` in one subgraph only.
 */
function refuseStranger(path: string, name: string, ours: string, theirs: string): void {
  const given = fieldsOfRoots(name, theirs)
  const missing = [...fieldsOfRoots(name, ours)].filter(([field, isShared]) => !isShared && !given.has(field))
  if (missing.length === 0) return
  throw configError(
    `${path}: "${name}" is the name of one of our subgraphs, but its schema lacks ${missing[0]?.[0]}: ` +
      'give the partner another name, or leave out schema to run our subgraph elsewhere',
  )
}

/** The fields of the root types, each with whether it is `@shareable`. */
function fieldsOfRoots(name: string, sdl: string): Map<string, boolean> {
  const fields = new Map<string, boolean>()
  for (const definition of parseSdl(name, sdl).definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.OBJECT_TYPE_EXTENSION) continue
    const type = definition.name.value
    if (!ROOTS.has(type)) continue
    for (const field of definition.fields ?? []) {
      const isShared = field.directives?.some((directive) => directive.name.value === 'shareable') === true
      fields.set(`${type}.${field.name.value}`, isShared)
    }
  }
  return fields
}

function mistakesOf(failures: readonly unknown[]): unknown {
  const [first] = failures
  if (failures.length === 1 || !failures.every((each) => each instanceof TidemarkError)) return first
  return configError(failures.map(({ message }) => message).join('\n'))
}
