/**
 * A transport reaches one subgraph. The executor hands it each operation of a plan once, to compile, and runs what comes
 * back per request; whether the subgraph lives in this process or behind HTTP is the transport's secret.
 */
import type { DocumentNode } from 'graphql'
import type { RemoteErrors } from '../request/remote-error.ts'

export type FetchOperation = {
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly name: string | undefined
  readonly text: string
  /** The same as `text`, parsed. It has no @skip and @include: see gateway/operation/conditions.ts. */
  readonly document: DocumentNode
}

/** An error of a subgraph; `GraphQLError` and errors parsed from a response body both fit. */
export type FetchError = {
  readonly message: string
  readonly path?: readonly (string | number)[] | undefined
  readonly extensions?: { readonly [name: string]: unknown } | undefined
  /** What the subgraph threw, if it runs in this process. */
  readonly originalError?: unknown
  /** What it is a part of, if it came over a network: clients learn little of it. */
  readonly remote?: RemoteErrors
}

export type FetchResult = {
  /** A tree that belongs to the caller from here on: the executor writes into it. */
  readonly data?: Record<string, unknown> | null | undefined
  readonly errors?: readonly FetchError[] | undefined
}

export type FetchVariables = Readonly<Record<string, unknown>>

export type CompiledFetch = {
  /** Runs a query or mutation. Throws or rejects only if the subgraph gave no answer at all. */
  run(variables: FetchVariables, context: object): FetchResult | Promise<FetchResult>
  /** Runs a subscription: an error result, or a stream whose `return` ends the subscription in the subgraph. */
  subscribe(variables: FetchVariables, context: object): Promise<FetchResult | AsyncIterator<FetchResult>>
  /** `run` in two steps, for queries whose answers depend on nothing but what the subgraph sends: see gateway/execution/answer-replay.ts. */
  readonly wire?: Wire
}

export type Wire = {
  /** What is sent for these variables. */
  callOf(variables: FetchVariables): string
  send(call: string, context: object): Promise<Read>
}

export type Transport = {
  /** True if bytes travel: then sending an entity once is worth looking for repeated ones. */
  readonly remote: boolean
  compile(operation: FetchOperation): CompiledFetch
}

/** Stands for the bytes of one answer to one call: whoever gets it again was sent the same ones. */
export type Kept = object

/** `kept`: the tree is remembered, and nobody may write into it. */
export type Read = { readonly result: FetchResult; readonly kept: Kept | undefined }
