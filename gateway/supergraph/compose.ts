/**
 * Composes the subgraphs' SDL into a supergraph, with the MIT composer. If they do not compose, the error has the reasons of the
 * composer, with hints (composition/hints.ts). It also names suspects: the subgraphs without which all others compose. That costs one
 * composition per subgraph, but only then.
 */
import { composeServices, compositionHasErrors } from '@theguild/federation-composition'
import { Kind, type DocumentNode, type GraphQLError } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import { withCacheHints, withoutCacheHints } from '../cache/composed-hints.ts'
import { expandRequires } from './composition/expand-requires.ts'
import { withHints } from './composition/hints.ts'
import { repairSupergraph } from './composition/supergraph-repairs.ts'
import { kindConflicts } from './composition/type-kinds.ts'
import { parseSdl, type SubgraphSdl } from './subgraph-sdl.ts'

type Service = { readonly name: string; readonly typeDefs: DocumentNode; readonly url?: string }

/** Further reasons are cut off: the first ones cause most others. */
const REASONS_MAX = 20

/** The supergraph's SDL. Throws CONFIG_INVALID with one sentence per reason. */
export function composeSupergraph(subgraphs: readonly SubgraphSdl[]): string {
  const documents = subgraphs.map(({ name, sdl }) => parseSdl(name, sdl))
  const services = subgraphs.map(({ name, url }, index) => ({
    name,
    typeDefs: withoutCacheHints(documents[index] as DocumentNode),
    ...(url === undefined ? {} : { url }),
  }))
  const result = attempt(services)
  if ('sdl' in result) return withCacheHints(result.sdl, documents)
  const shown = result.reasons.slice(0, REASONS_MAX)
  if (result.reasons.length > shown.length) shown.push(`and ${result.reasons.length - shown.length} more`)
  const names = subgraphs.map((each) => each.name).join(', ')
  const sentence = `the subgraphs ${names} do not compose:\n${[...shown, ...blame(services)].join('\n')}`
  throw new TidemarkError('CONFIG_INVALID', sentence, { cause: result.cause })
}

type Attempt = { readonly sdl: string } | { readonly reasons: readonly string[]; readonly cause?: unknown }

/** The composer throws on some graphs instead of reporting errors. The process must survive, and the message must name the cause. */
function attempt(services: readonly Service[]): Attempt {
  try {
    const result = composeInAnyWay(services)
    if (compositionHasErrors(result)) return { reasons: reasonsOf(services, result.errors) }
    return { sdl: repairSupergraph(result.supergraphSdl, services) }
  } catch (cause) {
    const conflicts = kindConflicts(services)
    return { reasons: conflicts.length > 0 ? conflicts : [`the composer failed: ${(cause as Error).message}`], cause }
  }
}

/** Conflicts of kinds come first: the composer reports some of them in other words, or as queries that no subgraph can answer. */
function reasonsOf(services: readonly Service[], errors: readonly GraphQLError[]): string[] {
  const conflicts = kindConflicts(services)
  const others = errors.filter(({ message }) => conflicts.length === 0 || !ABOUT_KINDS.test(message))
  const coded = others.map(({ message, extensions }) => ({ message, code: extensions['code'] as string | undefined }))
  return [...conflicts, ...withHints(coded)]
}

const ABOUT_KINDS = /has mismatched kind|@interfaceObject in all the subgraphs/

/** The reasons always refer to the subgraphs as they were given. */
function composeInAnyWay(services: readonly Service[]) {
  const result = composeServices([...services])
  if (!compositionHasErrors(result)) return result
  const expanded = composeServices(services.map((service) => ({ ...service, typeDefs: expandRequires(service.typeDefs) })))
  return compositionHasErrors(expanded) ? result : expanded
}

/** Sentences that name the subgraph to look at first. */
function blame(services: readonly Service[]): string[] {
  if (services.length < 2) return []
  const culprits = services.filter((one) => 'sdl' in attempt(services.filter((other) => other !== one)))
  // Tidemark's own subgraphs are sound and always included. If there are other subgraphs, the error must be in one of them.
  const isJoined = ({ url }: Service): boolean => url !== undefined
  const suspects = services.some(isJoined) ? culprits.filter(isJoined) : culprits
  return suspects.flatMap((suspect) => [
    `without "${suspect.name}" the others compose: correct its schema, or leave it out`,
    ...redefinitions(suspect, services),
  ])
}

/** Plain types that another subgraph also defines. The author of a separate type must give it another name. */
function redefinitions(suspect: Service, services: readonly Service[]): string[] {
  const own = plainTypes(suspect.typeDefs)
  return services
    .filter((other) => other !== suspect)
    .flatMap((other) =>
      [...plainTypes(other.typeDefs)]
        .filter((type) => own.has(type))
        .map(
          (type) =>
            `"${suspect.name}" defines the type ${type}, which "${other.name}" also defines: rename it in "${suspect.name}", ` +
            'or make the fields @shareable in both',
        ),
    )
}

/** Object types without @key and without @shareable. */
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
