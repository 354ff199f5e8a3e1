/**
 * Entity fetches: objects at a flatten path become representations and go to a subgraph in one call. Its answer is merged into the same
 * objects. One call may carry several lists of representations (`BatchFetch`), and a list may gather several paths. A plain `Flatten`
 * of a `Fetch` has one list and one path.
 */
import type { EntityBatchAlias } from '@graphql-hive/router-query-planner'
import { Kind } from 'graphql'
import type { DocumentNode } from 'graphql'
import { unescapeTree } from './escaped.ts'
import type { Flatten, Target } from './flatten.ts'
import { compileFlatten, sharedStart } from './flatten.ts'
import type { Merge } from './merge.ts'
import { compileMerge, mergeObjects } from './merge.ts'
import { fragmentsOf } from '../operation/plan-document.ts'
import type { PossibleTypes } from '../operation/planner.ts'
import type { Representation, Requires, TypeRequires } from './representations.ts'
import { NO_KEY, compileRequires } from './representations.ts'
import type { Rewrite } from './rewrites.ts'
import { compileRewrites, renamedKeys } from './rewrites.ts'
import type { DataPath, Run } from './run.ts'
import { isRecord, failTargets } from './run.ts'
import type { FetchError, FetchResult } from '../transports/transport.ts'

/**
 * The objects that `collect` found for one list. `places[i]` is the index of the representation of `targets[i]`; without `places` it is
 * `i`.
 */
export type Batch = {
  readonly targets: readonly Target[]
  readonly representations: readonly Representation[]
  readonly places: readonly number[] | undefined
}

export type EntityList = {
  readonly alias: string
  readonly variable: string
  collect(run: Run): Batch
  /** Merges the entities of an answer into the targets. False if the answer has no list of entities. */
  merge(batch: Batch, answer: Record<string, unknown>): boolean
  /** Notes an error of the subgraph below `[alias, ...]`, for each affected place. */
  fail(run: Run, batch: Batch, error: FetchError): void
  /** The places of all targets, for a fetch that failed as a whole. */
  locate(run: Run, batch: Batch): DataPath[]
}

export function compileEntityList(node: EntityBatchAlias, document: DocumentNode, remote: boolean, possible: PossibleTypes): EntityList {
  const flattens = node.paths.map((path) => compileFlatten(path, possible))
  const requires = compileRequires(node.requires, possible)
  const rewriteInput = compileRewrites(node.inputRewrites, possible)
  const rewriteOutput = compileRewrites(node.outputRewrites, possible)
  const merge = rewriteOutput === undefined ? mergeOf(document, node.alias) : mergeObjects
  const renamed = renamedKeys(node.outputRewrites)
  return {
    alias: node.alias,
    variable: node.representationsVariableName,
    collect: (run) => collectBatch(run, flattens, requires, rewriteInput, remote),
    merge: (batch, answer) => mergeEntities(batch, answer[node.alias], merge, rewriteOutput),
    fail: (run, batch, error) => failEntity(run, batch, error, flattens, renamed),
    locate: (run, batch) => locateAll(run, batch.targets, flattens),
  }
}

function mergeOf(document: DocumentNode, alias: string): Merge {
  const operation = document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  const fields = operation?.selectionSet.selections.filter((selection) => selection.kind === Kind.FIELD) ?? []
  const field = fields.find((candidate) => (candidate.alias ?? candidate.name).value === alias)
  return field?.selectionSet === undefined ? mergeObjects : compileMerge(field.selectionSet, fragmentsOf(document))
}

function collectBatch(run: Run, flattens: readonly Flatten[], requires: Requires, rewrite: Rewrite | undefined, remote: boolean): Batch {
  const representations: Representation[] = []
  const places: number[] = []
  const dedupes = flattens.some(({ repeats }) => repeats || remote)
  const targets: Target[] = []
  for (const flatten of flattens) {
    // One map per path. An entity that is fetched once becomes one object in several places, and later fetches add the same fields to
    // all places of one path.
    const known: Known = new Map()
    flatten.collect(run.data, (target) => {
      const type = requires(target)
      if (type === undefined) return
      if (dedupes) {
        const place = placeOf(target, type, known, representations, run, rewrite)
        if (place === undefined) return
        places.push(place)
      } else {
        const representation = representationOf(target, type, run, rewrite)
        if (representation === undefined) return
        representations.push(representation)
      }
      targets.push(target)
    })
  }
  return { targets, representations, places: targets.length === representations.length ? undefined : places }
}

function representationOf(target: Target, type: TypeRequires, run: Run, rewrite: Rewrite | undefined): Representation | undefined {
  const made = type.represent(target, run.variables)
  const representation = run.isEscaped ? unescapeTree(made) : made
  if (representation !== undefined) rewrite?.(representation)
  return representation
}

/** Maps keys to places, by type. The group `undefined` holds representations that are compared as a whole. */
type Known = Map<TypeRequires | undefined, Map<unknown, number>>

/** The index of the target's representation. Adds the representation if it is new. */
function placeOf(
  target: Target,
  type: TypeRequires,
  known: Known,
  representations: Representation[],
  run: Run,
  rewrite: Rewrite | undefined,
): number | undefined {
  let key = type.keyOf(target)
  if (key === undefined) return undefined
  let group: TypeRequires | undefined = type
  let representation: Representation | undefined
  if (key === NO_KEY) {
    representation = representationOf(target, type, run, rewrite)
    if (representation === undefined) return undefined
    key = JSON.stringify(representation)
    group = undefined
  }
  let places = known.get(group)
  if (places === undefined) known.set(group, (places = new Map()))
  let place = places.get(key)
  if (place !== undefined) return place
  representation ??= representationOf(target, type, run, rewrite)
  if (representation === undefined) return undefined
  place = representations.length
  places.set(key, place)
  representations.push(representation)
  return place
}

function mergeEntities(batch: Batch, entities: unknown, merge: Merge, rewrite: Rewrite | undefined): boolean {
  if (!Array.isArray(entities) || entities.length !== batch.representations.length) return false
  const { targets, places } = batch
  if (rewrite !== undefined) for (const entity of entities) rewrite(entity)
  for (let index = 0; index < targets.length; index += 1) {
    const entity: unknown = entities[places === undefined ? index : (places[index] ?? index)]
    const target = targets[index]
    if (target !== undefined && isRecord(entity)) merge(target, entity)
  }
  return true
}

function failEntity(run: Run, batch: Batch, error: FetchError, flattens: readonly Flatten[], renamed: ReadonlyMap<string, string>): void {
  const [, place, ...rest] = error.path ?? []
  const { targets, places } = batch
  const failed = typeof place === 'number' ? targets.filter((_, index) => (places?.[index] ?? index) === place) : targets
  const below = rest.map((key) => (typeof key === 'string' ? (renamed.get(key) ?? key) : key))
  const located = locateAll(run, failed, flattens)
  if (typeof place !== 'number') failTargets(run, failed, error, sharedStart(located))
  else if (below.length === 0) for (const path of located) failTargets(run, failed, error, path)
  else for (const path of located) run.failures.push({ error, path: [...path, ...below] })
}

function locateAll(run: Run, targets: readonly Target[], flattens: readonly Flatten[]): DataPath[] {
  const maps = flattens.map((flatten) => flatten.locate(run.data))
  return [...new Set(targets)].flatMap((target) => maps.flatMap((map) => map.get(target) ?? []))
}

/** Merges an answer for several lists. An error that names no list concerns all of them. */
export function mergeAnswer(run: Run, lists: readonly EntityList[], batches: readonly Batch[], result: FetchResult): void {
  const { data, errors } = result
  const complete = lists.map((list, index) => data != null && list.merge(batches[index] as Batch, data))
  if (errors !== undefined && errors.length > 0) for (const error of errors) failAnswer(run, lists, batches, error)
  else if (complete.includes(false))
    failLists(run, lists, batches, { message: 'The subgraph did not answer with one entity or null per representation.' })
}

function failAnswer(run: Run, lists: readonly EntityList[], batches: readonly Batch[], error: FetchError): void {
  const index = lists.findIndex(({ alias }) => alias === error.path?.[0])
  const list = lists[index]
  if (list === undefined) failLists(run, lists, batches, error)
  else list.fail(run, batches[index] as Batch, error)
}

/** Notes one error for all targets of the fetch. */
export function failLists(run: Run, lists: readonly EntityList[], batches: readonly Batch[], error: FetchError): void {
  const located = lists.flatMap((list, index) => list.locate(run, batches[index] as Batch))
  failTargets(
    run,
    batches.flatMap(({ targets }) => targets),
    error,
    sharedStart(located),
  )
}
