/**
 * Reads the file that `server.supergraph` names: a supergraph.yaml in rover's format, which lists subgraphs beside ours, or a composed
 * supergraph. gather.ts reads the schemas that it names.
 *
 *   federation_version: =2.9.0              # read and checked; the composer knows the 2.x that subgraphs link to
 *   subgraphs:
 *     catalog:
 *       routing_url: http://catalog:4001/   # the address for requests
 *       schema:
 *         file: ./catalog.graphql           # or subgraph_url: http://… (asked for its SDL), or sdl: |
 *     history:
 *       routing_url: http://history:4002/   # a name of ours: it runs there instead of in this process
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { configError } from './config-error.ts'

/** The source of a subgraph's SDL. `own`: it is one of our subgraphs, with a known SDL. */
export type SchemaSource =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'url'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'sdl'; readonly sdl: string }
  | { readonly kind: 'own' }

export type ListedSubgraph = { readonly name: string; readonly routingUrl: string | undefined; readonly schema: SchemaSource }

export type SupergraphSource =
  | { readonly kind: 'composed'; readonly sdl: string }
  | { readonly kind: 'listed'; readonly subgraphs: readonly ListedSubgraph[] }

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

const httpUrl = z.string().regex(/^https?:\/\/[^\s/]+/, 'write http://host:port/path, or https://')

const schemaSchema = z
  .object({
    file: z.string().min(1).optional(),
    subgraph_url: httpUrl.optional(),
    introspection_headers: z.record(z.string()).optional(),
    sdl: z.string().min(1).optional(),
  })
  .strict()

const listSchema = z
  .object({
    federation_version: z.union([z.string(), z.number()]).optional(),
    subgraphs: z.record(z.object({ routing_url: httpUrl.optional(), schema: schemaSchema.optional() }).strict()),
  })
  .strict()

/** `environment` gives the values for `${env.NAME}`, as in rover. Throws CONFIG_INVALID with one sentence per mistake. */
export function readSource(path: string, environment: EnvironmentVariables = {}): SupergraphSource {
  const text = readText(path)
  if (isComposed(text)) return { kind: 'composed', sdl: text }
  if (/\.(?:graphqls?|gql)$/.test(path)) {
    throw configError(`${path} is a schema, not a supergraph: compose it (tidemark compose), or list it in a supergraph.yaml`)
  }
  const parsed = listSchema.safeParse(expand(parseYaml(path, text), environment, path))
  if (!parsed.success) throw configError(parsed.error.issues.flatMap((issue) => describe(path, issue)).join('\n'))
  checkVersion(path, parsed.data.federation_version)
  const subgraphs = Object.entries(parsed.data.subgraphs).map(([name, listed]) => ({
    name: checkName(path, name),
    routingUrl: listed.routing_url ?? listed.schema?.subgraph_url,
    schema: schemaSource(path, name, listed.schema),
  }))
  refuseTwins(path, subgraphs)
  return { kind: 'listed', subgraphs }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw configError(supergraphMissing(path), cause)
    throw configError(`the supergraph ${path} cannot be read (${(cause as Error).message}): ${CORRECT_IT}`, cause)
  }
}

const CORRECT_IT = 'correct server.supergraph or --supergraph'

export function supergraphMissing(path: string): string {
  return `the supergraph ${path} does not exist: ${CORRECT_IT}`
}

/** Every composed supergraph declares the enum of its subgraphs. */
export function isComposed(text: string): boolean {
  return /^\s*enum\s+join__Graph\b/m.test(text)
}

function parseYaml(path: string, text: string): unknown {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    throw configError(`${path}:${lines.linePos(error.pos[0]).line} is not YAML: ${error.message.split('\n', 1)[0]}`, error)
  }
  const value: unknown = document.toJS()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw configError(
      `${path} is neither a supergraph.yaml (it has no "subgraphs:") nor a composed supergraph: see docs/gateway/partners.md`,
    )
  }
  return value
}

/** Replaces `${env.NAME}` in every text, so that secrets stay out of the file. */
function expand(value: unknown, environment: EnvironmentVariables, path: string): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{env\.(\w+)\}/g, (_, name: string) => {
      const given = Object.hasOwn(environment, name) ? environment[name] : undefined
      if (given === undefined) throw configError(`${path} needs the environment variable ${name}: set it`)
      return given
    })
  }
  if (Array.isArray(value)) return value.map((each) => expand(each, environment, path))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, expand(each, environment, path)]))
}

function describe(path: string, issue: z.ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const place = [...issue.path, key].join('.')
      return key === 'graphref' || key === 'subgraph'
        ? `${path}: ${place} names a schema registry, which Tidemark does not support: use file, subgraph_url or sdl`
        : `${path}: ${place} is not a key of supergraph.yaml: remove it, or see docs/gateway/partners.md for the names`
    })
  }
  return [`${path}: ${issue.path.join('.') || 'the file'}: ${issue.message === 'Required' ? 'this key is missing' : issue.message}`]
}

function checkVersion(path: string, version: string | number | undefined): void {
  if (version === undefined || /^=?2(?:\.\d+){0,2}$/.test(String(version))) return
  throw configError(`${path}: federation_version is "${version}": write 2, or a version such as =2.9.0; federation 1 is not supported`)
}

function checkName(path: string, name: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)) return name
  throw configError(`${path}: the subgraph "${name}" needs a name of letters, digits, _ and -, beginning with a letter, of at most 64`)
}

/** In a supergraph the names of subgraphs lose case and punctuation. */
function refuseTwins(path: string, subgraphs: readonly ListedSubgraph[]): void {
  const seen = new Map<string, string>()
  for (const { name } of subgraphs) {
    const key = name.toUpperCase().replaceAll('-', '_')
    const twin = seen.get(key)
    if (twin !== undefined)
      throw configError(`${path}: the subgraphs "${twin}" and "${name}" have names that differ only in case or punctuation: rename one`)
    seen.set(key, name)
  }
}

function schemaSource(path: string, name: string, schema: z.infer<typeof schemaSchema> | undefined): SchemaSource {
  if (schema === undefined) return { kind: 'own' }
  const { file, subgraph_url: url, sdl, introspection_headers: headers = {} } = schema
  if ([file, url, sdl].filter((each) => each !== undefined).length !== 1) {
    throw configError(`${path}: subgraphs.${name}.schema needs exactly one of file, subgraph_url and sdl`)
  }
  if (file !== undefined) return { kind: 'file', file: resolve(dirname(path), file) }
  if (url !== undefined) return { kind: 'url', url, headers }
  return { kind: 'sdl', sdl: sdl ?? '' }
}
