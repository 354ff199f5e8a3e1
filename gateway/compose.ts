/**
 * Subgraphs' SDL → one supergraph, by the MIT composer. Where they do not compose, the reasons are the composer's, and it is
 * found out whose fault it is: the subgraphs without which all others compose. That takes a composition per
 * subgraph, but only then.
 */
import { composeServices, compositionHasErrors } from '@theguild/federation-composition'
import { Kind, parse, type DocumentNode, type GraphQLError } from 'graphql'
import { TidemarkError } from '../core/errors.ts'
import { withCacheHints, withoutCacheHints } from './cache/compose.ts'
import { expandRequires } from './expand-requires.ts'
import { repairSupergraph } from './supergraph-repairs.ts'

/** `url`: where its requests go; absent for one that runs in this process. */
export type SubgraphSdl = { readonly name: string; readonly sdl: string; readonly url?: string }

type Service = { readonly name: string; readonly typeDefs: DocumentNode; readonly url?: string }

/** More are cut off: the first ones are the cause of most others. */
const REASONS_MAX = 20

/** The supergraph's SDL. Throws CONFIG_INVALID with one sentence per reason why the subgraphs do not compose. */
export function composeSupergraph(subgraphs: readonly SubgraphSdl[]): string {
  const documents = subgraphs.map(({ name, sdl }) => parseSdl(name, sdl))
  const services = subgraphs.map(({ name, url }, index) => ({
    name,
    typeDefs: withoutCacheHints(documents[index] as DocumentNode),
    ...(url === undefined ? {} : { url }),
  }))
  const result = composeInAnyWay(services)
  if (!compositionHasErrors(result)) return withCacheHints(repairSupergraph(result.supergraphSdl, services), documents)
  const reasons = result.errors.map((error) => error.message)
  const shown = reasons.slice(0, REASONS_MAX)
  if (reasons.length > shown.length) shown.push(`and ${reasons.length - shown.length} more`)
  const names = subgraphs.map((each) => each.name).join(', ')
  throw new TidemarkError('CONFIG_INVALID', `the subgraphs ${names} do not compose:\n${[...shown, ...blame(services)].join('\n')}`)
}

/** Reasons are those of the subgraphs as they were given. */
function composeInAnyWay(services: readonly Service[]) {
  const result = composeServices([...services])
  if (!compositionHasErrors(result)) return result
  const expanded = composeServices(services.map((service) => ({ ...service, typeDefs: expandRequires(service.typeDefs) })))
  return compositionHasErrors(expanded) ? result : expanded
}

/** Throws CONFIG_INVALID with the line. */
export function parseSdl(name: string, sdl: string): DocumentNode {
  try {
    return parse(sdl)
  } catch (error) {
    const { message, locations } = error as GraphQLError
    const line = locations?.[0]?.line
    throw new TidemarkError(
      'CONFIG_INVALID',
      `the schema of the subgraph "${name}" is not GraphQL${line === undefined ? '' : `, line ${line}`}: ${message.replace('Syntax Error: ', '')}`,
      { cause: error },
    )
  }
}

/** Sentences that say which subgraph to look at first. */
function blame(services: readonly Service[]): string[] {
  if (services.length < 2) return []
  const culprits = services.filter((one) => composes(services.filter((other) => other !== one)))
  // Ours come first and are known to be sound: where leaving out either helps, it is the one that joined.
  const joined = culprits.filter(({ url }) => url !== undefined)
  const suspects = joined.length > 0 ? joined : culprits
  return suspects.flatMap((suspect) => [
    `without "${suspect.name}" the others compose: repair its schema, or leave it out`,
    ...redefinitions(suspect, services),
  ])
}

function composes(services: readonly Service[]): boolean {
  try {
    return !compositionHasErrors(composeInAnyWay(services))
  } catch {
    return false
  }
}

/** Types that are a plain type elsewhere: whoever meant a type of his own must name it otherwise. */
function redefinitions(suspect: Service, services: readonly Service[]): string[] {
  const own = plainTypes(suspect.typeDefs)
  return services
    .filter((other) => other !== suspect)
    .flatMap((other) =>
      [...plainTypes(other.typeDefs)]
        .filter((type) => own.has(type))
        .map(
          (type) =>
            `"${suspect.name}" defines the type ${type} again, which is one of "${other.name}": give its own another name, ` +
            'or make the fields @shareable in both',
        ),
    )
}

/** Object types without @key that are not shared on purpose. */
function plainTypes({ definitions }: DocumentNode): Set<string> {
  const plain = new Set<string>()
  for (const definition of definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION || ROOTS.has(definition.name.value)) continue
    const shared = (definition.directives ?? []).some(({ name }) => /(?:^|__)(?:key|shareable|extends)$/.test(name.value))
    if (!shared) plain.add(definition.name.value)
  }
  return plain
}

const ROOTS = new Set(['Query', 'Mutation', 'Subscription'])
