/**
 * Entity fetches: objects at a flatten path become representations and go to a subgraph in one call. Its answer is merged into the same
 * objects (entity-answer.ts). One call may carry several lists of representations (`BatchFetch`), and a list may gather several paths. A
 * plain `Flatten` of a `Fetch` has one list and one path.
 */
import type { EntityBatchAlias } from '@graphql-hive/router-query-planner'
import { Kind, getOperationAST } from 'graphql'
import type { DocumentNode } from 'graphql'
import { unescapeTree } from './escaped.ts'
import type { Flatten, Target } from './flatten.ts'
import { compileFlatten } from './flatten.ts'
import type { Merge } from './merge.ts'
import { compileMerge, mergeObjects } from './merge.ts'
import { fragmentsOf } from '../operation/plan-document.ts'
import type { PossibleTypes } from '../operation/planner.ts'
import type { Representation, Requires, TypeRequires } from './representations.ts'
import { NO_KEY, compileRequires } from './representations.ts'
import type { Rewrite } from './rewrites.ts'
import { compileRewrites, renamedKeys } from './rewrites.ts'
import type { DataPath, Run } from './run.ts'
import { isRecord } from './run.ts'
import type { SharedBatches } from './shared-batches.ts'

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
  /** The keys in errors of the subgraph, and the keys that they were renamed to. */
  readonly renamed: ReadonlyMap<string, string>
  /** The paths of all targets. It walks the whole data. */
  locate(run: Run): Map<Target, DataPath[]>
}

/** `shared`: the batches of the fetches that start together with this one. */
export function compileEntityList(
  node: EntityBatchAlias,
  document: DocumentNode,
  remote: boolean,
  possible: PossibleTypes,
  shared?: SharedBatches<Batch>,
): EntityList {
  const flattens = node.paths.map((path) => compileFlatten(path, possible))
  const requires = compileRequires(node.requires, possible)
  const rewriteInput = compileRewrites(node.inputRewrites, possible)
  const rewriteOutput = compileRewrites(node.outputRewrites, possible)
  const collectBatch = remote || flattens.some(({ repeats }) => repeats) ? collectDistinct : collectEach
  const collect = (run: Run): Batch => collectBatch(run, flattens, requires, rewriteInput)
  const merge = rewriteOutput === undefined ? mergeOf(document, node.alias) : mergeObjects
  return {
    alias: node.alias,
    variable: node.representationsVariableName,
    collect: shared === undefined ? collect : shared.share([node.paths, node.requires, node.inputRewrites, remote], collect),
    merge: (batch, answer) => mergeEntities(batch, answer[node.alias], merge, rewriteOutput),
    renamed: renamedKeys(node.outputRewrites),
    locate: (run) => locateTargets(run, flattens),
  }
}

function mergeOf(document: DocumentNode, alias: string): Merge {
  const operation = getOperationAST(document)
  const fields = operation?.selectionSet.selections.filter((selection) => selection.kind === Kind.FIELD) ?? []
  const field = fields.find((candidate) => (candidate.alias ?? candidate.name).value === alias)
  return field?.selectionSet === undefined ? mergeObjects : compileMerge(field.selectionSet, fragmentsOf(document))
}

/** One representation per object. */
function collectEach(run: Run, flattens: readonly Flatten[], requires: Requires, rewrite: Rewrite | undefined): Batch {
  const targets = flattens.length === 1 ? (flattens[0] as Flatten).collect(run.data) : flattens.flatMap((each) => each.collect(run.data))
  // oxlint-disable-next-line unicorn/no-new-array -- the argument is a length. An array that grows is copied several times
  const representations = new Array<Representation>(targets.length)
  let count = 0
  for (const target of targets) {
    const type = requires(target)
    const representation = type && representationOf(target, type, run, rewrite)
    if (representation === undefined) continue
    representations[count] = representation
    targets[count] = target
    count += 1
  }
  targets.length = representations.length = count
  return { targets, representations, places: undefined }
}

/** One representation per entity and path. */
function collectDistinct(run: Run, flattens: readonly Flatten[], requires: Requires, rewrite: Rewrite | undefined): Batch {
  const representations: Representation[] = []
  const places: number[] = []
  const targets: Target[] = []
  for (const flatten of flattens) {
    // One map per path. An entity that is fetched once becomes one object in several places, and later fetches add the same fields to
    // all places of one path.
    const known: Known = new Map()
    for (const target of flatten.collect(run.data)) {
      const type = requires(target)
      const place = type && placeOf(target, type, known, representations, run, rewrite)
      if (place === undefined) continue
      places.push(place)
      targets.push(target)
    }
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

function locateTargets(run: Run, flattens: readonly Flatten[]): Map<Target, DataPath[]> {
  const located = new Map<Target, DataPath[]>()
  for (const flatten of flattens) {
    for (const [target, paths] of flatten.locate(run.data)) {
      const known = located.get(target)
      if (known === undefined) located.set(target, paths)
      else for (const path of paths) known.push(path)
    }
  }
  return located
}
