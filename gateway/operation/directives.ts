/** Reads directives of a supergraph: their arguments, and the specifications that the supergraph links. */
import { Kind, valueFromASTUntyped } from 'graphql'
import type { ConstDirectiveNode, DocumentNode } from 'graphql'

export function argumentsOf(directive: ConstDirectiveNode): Record<string, unknown> {
  return Object.fromEntries((directive.arguments ?? []).map(({ name, value }) => [name.value, valueFromASTUntyped(value)]))
}

/** `@link(url: "https://specs.apollo.dev/cost/v0.1", as: "price", import: ["@cost"])` */
export type SpecLink = { readonly url: string; readonly as: string | undefined; readonly imports: unknown }

export function linksOf({ definitions }: DocumentNode): SpecLink[] {
  const links: SpecLink[] = []
  for (const definition of definitions) {
    if (definition.kind !== Kind.SCHEMA_DEFINITION && definition.kind !== Kind.SCHEMA_EXTENSION) continue
    for (const directive of definition.directives ?? []) {
      if (directive.name.value !== 'link') continue
      const { url, as, import: imports } = argumentsOf(directive)
      if (typeof url === 'string') links.push({ url, as: typeof as === 'string' ? as : undefined, imports })
    }
  }
  return links
}
