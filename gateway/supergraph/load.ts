/**
 * Loads the supergraph that server.supergraph names, and finds the place of each subgraph. Composed and listed supergraphs follow the
 * same rule: one of our subgraphs runs in this process unless it has an address, and all others are reached at their address in the
 * supergraph.
 */
import { createHash } from 'node:crypto'
import { Kind, parse, type ConstDirectiveNode, type DocumentNode } from 'graphql'
import type { GatheredSchemas } from './gather.ts'
import { configError } from './config-error.ts'
import { parseSdl, type SubgraphSdl } from './subgraph-sdl.ts'

/** `url` undefined: in this process. */
export type Placement = { readonly name: string; readonly url: string | undefined }

export type LoadedSupergraph = {
  readonly sdl: string
  /** The first 16 hexadecimal digits of the SHA-256 of the SDL, without the final line break of a file. */
  readonly hash: string
  readonly placements: readonly Placement[]
  /**
   * One sentence per configured subgraph of Tidemark with fields missing from the supergraph. Only a precomposed supergraph can lack
   * fields.
   */
  readonly gaps: readonly string[]
}

/** Throws CONFIG_INVALID if it does not compose, or if it does not fit our subgraphs. */
export function loadSupergraph({ content }: GatheredSchemas, ours: readonly SubgraphSdl[]): LoadedSupergraph {
  if ('subgraphs' in content) {
    const sdl = content.compose(content.subgraphs)
    return { sdl, hash: hashOf(sdl), placements: content.subgraphs.map(({ name, url }) => ({ name, url })), gaps: [] }
  }
  const { supergraph: sdl } = content
  const document = parseSupergraph(sdl)
  const graphs = readGraphs(document)
  return { sdl, hash: hashOf(sdl), placements: placementsOf(document, graphs, ours), gaps: findGaps(document, graphs, ours) }
}

function hashOf(sdl: string): string {
  return createHash('sha256').update(sdl.trimEnd()).digest('hex').slice(0, 16)
}

type Graph = { readonly id: string; readonly name: string; readonly url: string | undefined }

function placementsOf(document: DocumentNode, graphs: readonly Graph[], ours: readonly SubgraphSdl[]): Placement[] {
  for (const { id, name, url } of graphs) {
    const own = ours.find((each) => each.name === name)
    if (own === undefined && url === undefined) {
      throw configError(`the supergraph gives no address for the subgraph "${name}": compose it with a routing_url`)
    }
    if (own !== undefined && url === undefined) refuseStale(document, id, own)
  }
  return graphs.map(({ name, url }) => ({ name, url }))
}

function parseSupergraph(sdl: string): DocumentNode {
  try {
    return parse(sdl)
  } catch (cause) {
    throw configError(`the supergraph is not GraphQL (${(cause as Error).message}): compose it again`, cause)
  }
}

/** `enum join__Graph { HISTORY @join__graph(name: "history", url: "…") }` */
function readGraphs({ definitions }: DocumentNode): Graph[] {
  const graphs = definitions.find((definition) => definition.kind === Kind.ENUM_TYPE_DEFINITION && definition.name.value === 'join__Graph')
  const values = graphs?.kind === Kind.ENUM_TYPE_DEFINITION ? (graphs.values ?? []) : []
  return values.map((value) => {
    const [directive] = value.directives ?? []
    const url = textArgument(directive, 'url')
    return { id: value.name.value, name: textArgument(directive, 'name') ?? value.name.value, url: url === '' ? undefined : url }
  })
}

/** The supergraph may use fields of ours that no longer exist (a removed business, another version). Plans that use them would fail. */
function refuseStale({ definitions }: DocumentNode, graph: string, own: SubgraphSdl): void {
  const known = fieldsOf(parseSdl(own.name, own.sdl))
  for (const definition of definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) continue
    const type = definition.name.value
    const owners = graphsOf(definition.directives, 'join__type')
    if (!owners.includes(graph)) continue
    for (const field of definition.fields ?? []) {
      const joins = graphsOf(field.directives, 'join__field')
      const isOurs = joins.includes(graph) || (joins.length === 0 && owners.length > 0)
      if (!isOurs || known.has(`${type}.${field.name.value}`)) continue
      throw configError(
        `the supergraph takes ${type}.${field.name.value} from "${own.name}", which has no such field in this configuration: compose it again`,
      )
    }
  }
}

/** The supergraph may be older than a configured business or subgraph, whose fields would be missing without notice. */
function findGaps(document: DocumentNode, graphs: readonly Graph[], ours: readonly SubgraphSdl[]): string[] {
  const known = fieldsOf(document)
  return ours.flatMap(({ name, sdl }) => {
    if (!graphs.some((each) => each.name === name))
      return [`the supergraph has no subgraph "${name}", which is configured: compose it again`]
    const missing = [...fieldsOf(parseSdl(name, sdl))].filter((field) => !known.has(field))
    if (missing.length === 0) return []
    const others = missing.length === 1 ? '' : ` and ${missing.length - 1} more fields`
    return [`the supergraph lacks ${missing[0]}${others} of the subgraph "${name}", which are configured: compose it again`]
  })
}

function graphsOf(directives: readonly ConstDirectiveNode[] | undefined, name: string): string[] {
  return (directives ?? []).flatMap((directive) => {
    const value = directive.name.value === name ? directive.arguments?.find((each) => each.name.value === 'graph')?.value : undefined
    return value?.kind === Kind.ENUM ? [value.value] : []
  })
}

function fieldsOf({ definitions }: DocumentNode): Set<string> {
  const fields = new Set<string>()
  for (const definition of definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.OBJECT_TYPE_EXTENSION) continue
    for (const field of definition.fields ?? []) fields.add(`${definition.name.value}.${field.name.value}`)
  }
  return fields
}

function textArgument(directive: ConstDirectiveNode | undefined, name: string): string | undefined {
  const value = directive?.arguments?.find((argument) => argument.name.value === name)?.value
  return value?.kind === Kind.STRING ? value.value : undefined
}
