/**
 * The executor compiles a plan into functions, once per operation, and runs them per request. A node of the plan becomes a step: a
 * function of the run. A step returns a promise only if it awaits something. Steps that wait for nothing then cost no turn of the event
 * loop, and all resolvers of a wave call their loaders in the same turn.
 *
 * A step never throws. It notes a failure in the run with its path, and the other steps continue with the data that they have. A later
 * fetch that needs missing data finds no objects or no representations, and is not sent.
 */
import type { BatchFetchNode, FetchNode, FlattenNode, PlanNode, SubscriptionNode } from '@graphql-hive/router-query-planner'
import { Kind, getOperationAST, parse } from 'graphql'
import type { DocumentNode } from 'graphql'
import type { Batch, EntityList } from './entities.ts'
import { compileEntityList } from './entities.ts'
import { makeSharedBatches, type SharedBatches } from './shared-batches.ts'
import { failLists, mergeAnswer } from './entity-answer.ts'
import { compileFlatten, sharedStart } from './flatten.ts'
import { compileForeignKeys } from './foreign-keys.ts'
import { countNodes, type PlanSize } from '../memory/estimates.ts'
import { mergeObjects } from './merge.ts'
import type { PossibleTypes } from '../operation/planner.ts'
import { compileRewrites, renamedKeys } from './rewrites.ts'
import type { DataPath, Run } from './run.ts'
import { isPromise, failTargets } from './run.ts'
import { isTooDeep, tooDeep, unavailable } from './subgraph-errors.ts'
import { copyOf } from '../transports/tree-copy.ts'
import type { CompiledFetch, FetchResult, FetchVariables, Transport } from '../transports/transport.ts'

export type Step = (run: Run) => void | Promise<void>

export type Source = {
  /** Opens the subscription of a plan in its subgraph. */
  open(variables: FetchVariables, context: object): Promise<FetchResult | AsyncIterator<FetchResult>>
  /** Merges one event into a run, as a root fetch merges its result. */
  take(run: Run, event: FetchResult): void
  readonly subgraph: string
}

export type CompiledPlan = {
  readonly step: Step
  readonly source: Source | undefined
  /** Whether all fetches go to remote subgraphs. The plan can then run on an escaped tree; see escaped.ts. */
  readonly isRemote: boolean
  /** The size of the texts of its fetches. */
  readonly size: PlanSize
}

type Surroundings = {
  readonly transports: ReadonlyMap<string, Transport>
  readonly possible: PossibleTypes
  /** All fetches that were compiled so far. */
  readonly fetches: Fetch[]
  /**
   * Set only for a fetch that is a direct child of a `Parallel` node. A fetch inside a nested sequence may start later and must not use these
   * batches.
   */
  readonly shared?: SharedBatches<Batch>
}

export function compilePlan(plan: PlanNode | undefined, transports: ReadonlyMap<string, Transport>, possible: PossibleTypes): CompiledPlan {
  const fetches: Fetch[] = []
  const around = { transports, possible, fetches }
  return { ...compileSteps(plan, around), size: sizeOf(fetches) }
}

function compileSteps(plan: PlanNode | undefined, around: Surroundings): Omit<CompiledPlan, 'size'> {
  if (plan === undefined) return { step: () => {}, source: undefined, isRemote: false }
  if (plan.kind === 'Subscription') return { step: () => {}, source: compileSource(plan, around), isRemote: false }
  const [first, ...rest] = plan.kind === 'Sequence' ? plan.nodes : []
  if (first?.kind === 'Subscription')
    return { step: inSequence(rest.map((node) => compileNode(node, around))), source: compileSource(first, around), isRemote: false }
  const step = compileNode(plan, around)
  const { fetches } = around
  return { step, source: undefined, isRemote: fetches.length > 0 && fetches.every(({ compiled }) => compiled.runEscaped !== undefined) }
}

function sizeOf(fetches: readonly Fetch[]): PlanSize {
  let [characters, nodes, scannedNodes] = [0, 0, 0]
  for (const fetch of fetches) {
    characters += fetch.characters
    nodes += fetch.nodes
    if (fetch.compiled.runEscaped !== undefined) scannedNodes += fetch.nodes
  }
  return { fetches: fetches.length, characters, nodes, scannedNodes }
}

function compileNode(node: PlanNode, around: Surroundings): Step {
  switch (node.kind) {
    case 'Sequence':
      return inSequence(node.nodes.map((inner) => compileNode(inner, around)))
    case 'Parallel':
      return compileParallel(node.nodes, around)
    case 'Condition':
      throw new Error('conditions are decided before an operation is planned')
    case 'Fetch':
      return compileRootFetch(node, around)
    case 'BatchFetch':
      return compileEntityFetch(node, around)
    case 'Flatten':
      return compileFlattened(node, around)
    case 'Defer':
      return inSequence(
        [node.primary.node, ...node.deferred.map((deferred) => deferred.node)].map((inner) => compileOptional(inner, around)),
      )
    case 'Subscription':
      throw new Error('a subscription can only be the first node of a plan')
    default:
      throw new Error(`the planner returned an unknown kind of node: ${JSON.stringify(node satisfies never)}`)
  }
}

function compileOptional(node: PlanNode | null | undefined, around: Surroundings): Step {
  return node === null || node === undefined ? () => {} : compileNode(node, around)
}

function inSequence(steps: readonly Step[]): Step {
  const runFrom = (start: number, run: Run): void | Promise<void> => {
    for (let index = start; index < steps.length; index += 1) {
      const pending = steps[index]?.(run)
      if (pending !== undefined) return pending.then(() => runFrom(index + 1, run))
    }
  }
  return (run) => runFrom(0, run)
}

function compileParallel(nodes: readonly PlanNode[], around: Surroundings): Step {
  const shared = makeSharedBatches<Batch>()
  const isOneFetch = ({ kind }: PlanNode): boolean => kind === 'BatchFetch' || kind === 'Flatten'
  const steps = nodes.map((inner) => compileNode(inner, isOneFetch(inner) ? { ...around, shared } : around))
  const forget = shared.seal()
  return (run) => {
    const pending: Promise<void>[] = []
    try {
      for (const step of steps) {
        const promise = step(run)
        if (promise !== undefined) pending.push(promise)
      }
    } finally {
      forget()
    }
    if (pending.length > 0) return Promise.all(pending).then(() => {})
  }
}

type Fetch = {
  readonly compiled: CompiledFetch
  readonly document: DocumentNode
  readonly subgraph: string
  readonly remote: boolean
  /** The size of its text. */
  readonly characters: number
  readonly nodes: number
  /** Removes the keys of an answer that the fetch did not select. */
  clean(result: FetchResult): void
  pick(run: Run): Record<string, unknown>
}

function compileFetch(node: FetchNode | BatchFetchNode, { transports, fetches }: Surroundings): Fetch {
  const transport = transports.get(node.serviceName)
  if (transport === undefined) throw new Error(`the plan asks the subgraph "${node.serviceName}", but the gateway has no transport for it`)
  // No code reads source locations in a fetch, and tokens are two thirds of a document.
  const document = parse(node.operation, { noLocation: true })
  const compiled = transport.compile({
    kind: node.operationKind ?? 'query',
    name: node.operationName ?? undefined,
    text: node.operation,
    document,
  })
  let removeForeign: ((data: Record<string, unknown>) => void) | undefined
  const clean = ({ data, isExact }: FetchResult): void => {
    if (transport.remote && isExact !== true && data != null) (removeForeign ??= compileForeignKeys(document))(data)
  }
  const usages = node.variableUsages ?? []
  const pick = (run: Run): Record<string, unknown> => pickVariables(run.variables, usages)
  const size = { characters: node.operation.length, nodes: countNodes(document) }
  const fetch = { compiled, document, subgraph: node.serviceName, remote: transport.remote, ...size, clean, pick }
  fetches.push(fetch)
  return fetch
}

function pickVariables(variables: FetchVariables, names: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {}
  // A variable that the client omitted and that has no default stays absent: absent and null differ.
  for (const name of names) if (Object.hasOwn(variables, name)) picked[name] = variables[name]
  return picked
}

/** Calls the subgraph; exactly one of `take` and `fail` is called. */
function send(
  fetch: Fetch,
  variables: FetchVariables,
  run: Run,
  take: (result: FetchResult) => void,
  fail: (thrown: unknown) => void,
): void | Promise<void> {
  let result: FetchResult | Promise<FetchResult>
  try {
    const { compiled } = fetch
    result =
      run.isEscaped && compiled.runEscaped !== undefined
        ? compiled.runEscaped(variables, run.context)
        : compiled.run(variables, run.context)
  } catch (thrown) {
    return fail(thrown)
  }
  const takeOrFail = (taken: FetchResult): void => {
    try {
      fetch.clean(taken)
      take(taken)
    } catch (thrown) {
      if (!isTooDeep(thrown)) throw thrown
      fail(tooDeep(fetch.subgraph, thrown))
    }
  }
  return isPromise(result) ? result.then(takeOrFail, fail) : takeOrFail(result)
}

function compileRootFetch(node: FetchNode, around: Surroundings): Step {
  const fetch = compileFetch(node, around)
  const taker = compileTaker(node, fetch, around)
  return (run) =>
    send(
      fetch,
      fetch.pick(run),
      run,
      (result) => taker.take(run, run.data, [], result),
      (thrown) => taker.fail(run, [run.data], [[]], thrown),
    )
}

/** Merges the result of root fields into an object, and gives their errors a path. */
function compileTaker(node: FetchNode, { document, subgraph }: Pick<Fetch, 'document' | 'subgraph'>, { possible }: Surroundings) {
  const rewrite = compileRewrites(node.outputRewrites, possible)
  const renamed = renamedKeys(node.outputRewrites)
  const keys = rootKeys(document)
  const below = keys.length === 1 ? keys : []
  return {
    take(run: Run, target: Record<string, unknown>, place: DataPath, { data, errors }: FetchResult): void {
      if (data != null) {
        rewrite?.(data)
        mergeObjects(target, data)
      }
      for (const error of errors ?? []) {
        const path = error.path?.map((key) => (typeof key === 'string' ? (renamed.get(key) ?? key) : key))
        if (path === undefined || data == null) failTargets(run, [target], error, path === undefined ? undefined : [...place, ...path])
        else run.failures.push({ error, path: [...place, ...path] })
      }
      if (data == null && (errors ?? []).length === 0)
        this.fail(run, [target], [place], new Error('its answer has neither data nor errors'))
    },
    fail(run: Run, targets: readonly object[], places: readonly DataPath[], thrown: unknown): void {
      const path = [...sharedStart(places), ...(places.length === 1 ? below : [])]
      failTargets(run, targets, unavailable(subgraph, thrown), path.length === 0 ? undefined : path)
    },
  }
}

function rootKeys(document: DocumentNode): string[] {
  const operation = getOperationAST(document)
  const selections = operation?.selectionSet.selections ?? []
  return selections.flatMap((selection) => (selection.kind === Kind.FIELD ? [(selection.alias ?? selection.name).value] : []))
}

function compileFlattened(node: FlattenNode, around: Surroundings): Step {
  const { node: inner, path } = node
  if (inner.kind !== 'Fetch') throw new Error(`the plan flattens a ${inner.kind}: the executor can only flatten a Fetch`)
  const { requires, inputRewrites, outputRewrites, ...fetch } = inner
  if (requires === null || requires === undefined || requires.length === 0) return compileNestedRoot(node, inner, around)
  const rewrites = { ...(inputRewrites == null ? {} : { inputRewrites }), ...(outputRewrites == null ? {} : { outputRewrites }) }
  const alias = { alias: '_entities', representationsVariableName: 'representations', paths: [path], requires, ...rewrites }
  return compileEntityFetch({ ...fetch, kind: 'BatchFetch', entityBatch: { aliases: [alias] } }, around)
}

/** Root fields below other fields, as in `mutation { rename { query { feed } } }`. They are fetched once and merged into each place. */
function compileNestedRoot(node: FlattenNode, inner: FetchNode, around: Surroundings): Step {
  const fetch = compileFetch(inner, around)
  const taker = compileTaker(inner, fetch, around)
  const flatten = compileFlatten(node.path, around.possible)
  return (run) => {
    const places = [...flatten.locate(run.data)]
    if (places.length === 0) return
    const fail = (thrown: unknown): void => {
      const paths = places.flatMap(([, at]) => at)
      const targets = places.map(([target]) => target)
      taker.fail(run, targets, paths, thrown)
    }
    const take = (result: FetchResult): void => {
      // Each place gets its own tree, because later fetches write into it. Trees are copied before the first write.
      const results = places.map((_, index) =>
        index === 0 ? result : { ...result, data: run.isEscaped ? copyOf(result.data) : structuredClone(result.data) },
      )
      for (const [index, [target, [path = []]]] of places.entries()) taker.take(run, target, path, results[index] ?? result)
    }
    return send(fetch, fetch.pick(run), run, take, fail)
  }
}

function compileEntityFetch(node: BatchFetchNode, around: Surroundings): Step {
  const fetch = compileFetch(node, around)
  const { possible, shared } = around
  const lists = node.entityBatch.aliases.map((alias) => compileEntityList(alias, fetch.document, fetch.remote, possible, shared))
  return (run) => {
    const batches = collectAll(lists, run, fetch.subgraph)
    if (batches.every(({ targets }) => targets.length === 0)) return
    return send(
      fetch,
      withRepresentations(fetch.pick(run), lists, batches),
      run,
      (result) => mergeAnswer(run, lists, batches, result),
      (thrown) => failLists(run, lists, batches, unavailable(fetch.subgraph, thrown)),
    )
  }
}

/** A subgraph may nest objects so deeply that no representation can be made. Nothing is sent for them. */
function collectAll(lists: readonly EntityList[], run: Run, subgraph: string): readonly Batch[] {
  try {
    return lists.map((list) => list.collect(run))
  } catch (thrown) {
    if (!isTooDeep(thrown)) throw thrown
    run.failures.push({ error: unavailable(subgraph, tooDeep(subgraph, thrown)), path: undefined })
    return []
  }
}

function withRepresentations(variables: Record<string, unknown>, lists: readonly EntityList[], batches: readonly Batch[]): FetchVariables {
  for (const [index, { variable }] of lists.entries()) variables[variable] = batches[index]?.representations
  return variables
}

function compileSource({ primary }: SubscriptionNode, around: Surroundings): Source {
  const fetch = compileFetch({ ...primary, kind: 'Fetch', operationKind: 'subscription' }, around)
  const taker = compileTaker(primary, fetch, around)
  const usages = primary.variableUsages ?? []
  return {
    subgraph: fetch.subgraph,
    open: (variables, context) => fetch.compiled.subscribe(pickVariables(variables, usages), context),
    take(run, event) {
      fetch.clean(event)
      taker.take(run, run.data, [], event)
    },
  }
}
