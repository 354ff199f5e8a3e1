/**
 * A transport reaches one subgraph. The executor passes it each operation of a plan once, to compile, and runs the compiled fetch per
 * request. The executor does not know whether the subgraph is in this process or behind HTTP.
 */
import type { DocumentNode } from 'graphql'
import type { RemoteErrors } from '../request/remote-error.ts'

export type FetchOperation = {
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly name: string | undefined
  readonly text: string
  /** `text`, parsed. It has no @skip and @include: see gateway/operation/conditions.ts. */
  readonly document: DocumentNode
}

/** An error of a subgraph. `GraphQLError` and parsed errors of a response both fit. */
export type FetchError = {
  readonly message: string
  readonly path?: readonly (string | number)[] | undefined
  readonly extensions?: { readonly [name: string]: unknown } | undefined
  /** The exception of a subgraph in this process. */
  readonly originalError?: unknown
  /** The remote errors that it is a part of. Clients see little of them. */
  readonly remote?: RemoteErrors
}

export type FetchResult = {
  /** The caller owns the tree: the executor writes into it. */
  readonly data?: Record<string, unknown> | null | undefined
  readonly errors?: readonly FetchError[] | undefined
  /** `data` has only keys that the operation selects. Otherwise the executor removes other keys from the answer of a remote subgraph. */
  readonly isExact?: boolean
}

export type FetchVariables = Readonly<Record<string, unknown>>

export type CompiledFetch = {
  /** Runs a query or mutation. Throws or rejects only if the subgraph gave no answer. */
  run(variables: FetchVariables, context: object): FetchResult | Promise<FetchResult>
  /** Runs a subscription. Resolves to an error result, or to a stream; `return` of the stream ends the subscription in the subgraph. */
  subscribe(variables: FetchVariables, context: object): Promise<FetchResult | AsyncIterator<FetchResult>>
  /** `run` with the data as an escaped tree; see execution/escaped.ts. Only remote subgraphs have it. */
  readonly runEscaped?: (variables: FetchVariables, context: object) => FetchResult | Promise<FetchResult>
}

export type Transport = {
  /** True if entities are sent over a network. Then it pays to look for repeated entities. */
  readonly remote: boolean
  compile(operation: FetchOperation): CompiledFetch
}
