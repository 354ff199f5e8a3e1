/** A subgraph in this process for a gateway that calls a function per fetch: graphql-jit, each document compiled once. */
import { print } from 'graphql'
import type { DocumentNode, GraphQLSchema } from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import type { CompiledQuery } from 'graphql-jit'

export function compileSubgraph(schema: GraphQLSchema) {
  const byText = new Map<string, CompiledQuery>()
  const byDocument = new WeakMap<DocumentNode, CompiledQuery>()
  return (document: DocumentNode, context: object, variables: Record<string, unknown> | undefined) => {
    let compiled = byDocument.get(document)
    if (compiled === undefined) {
      const text = print(document)
      compiled = byText.get(text) ?? compile(schema, document)
      byText.set(text, compiled)
      byDocument.set(document, compiled)
    }
    return compiled.query(undefined, context, variables)
  }
}

function compile(schema: GraphQLSchema, document: DocumentNode): CompiledQuery {
  const compiled = compileQuery(schema, document, undefined, { disablingCapturingStackErrors: true })
  if (!isCompiledQuery(compiled)) throw new Error('graphql-jit does not compile a fetch of the feed')
  return compiled
}
