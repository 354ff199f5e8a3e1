/**
 * Takes the answer of an entity fetch: merges the entities, and notes each error at the places that it concerns. These are the places of one
 * representation, of a list, or of all lists. An answer may have thousands of errors, so the places of a list are found once per answer.
 */
import type { Batch, EntityList } from './entities.ts'
import { sharedStart, type Target } from './flatten.ts'
import { failTargets, markLost, type DataPath, type Run } from './run.ts'
import type { FetchError, FetchResult } from '../transports/transport.ts'

/** One list of an answer with errors. */
type Part = {
  readonly list: EntityList
  readonly batch: Batch
  places: Places | undefined
  /** An error concerns all its targets. */
  isLost: boolean
}

/** Where the targets of a list are in the data. */
type Places = {
  readonly paths: ReadonlyMap<Target, readonly DataPath[]>
  /** The targets of a representation, by its index. */
  readonly targets: ReadonlyMap<unknown, ReadonlySet<Target>>
  /** The common start of all paths. Undefined without paths. */
  readonly start: DataPath | undefined
}

export function mergeAnswer(run: Run, lists: readonly EntityList[], batches: readonly Batch[], { data, errors = [] }: FetchResult): void {
  const merged = lists.map((list, index) => data != null && list.merge(batches[index] as Batch, data))
  if (errors.length === 0 && !merged.includes(false)) return
  const parts = partsOf(lists, batches)
  for (const error of errors) failPlaces(run, parts, error)
  // An error of the whole list explains why the list is missing. It does not explain an invalid list.
  const unexplained = parts.filter(
    ({ list, batch, isLost }, index) =>
      merged[index] === false && batch.targets.length > 0 && (!isLost || (data != null && data[list.alias] != null)),
  )
  if (unexplained.length > 0)
    failParts(run, unexplained, { message: 'The subgraph did not answer with one entity or null per representation.' })
}

/** Notes one error for all targets of the fetch. */
export function failLists(run: Run, lists: readonly EntityList[], batches: readonly Batch[], error: FetchError): void {
  failParts(run, partsOf(lists, batches), error)
}

function partsOf(lists: readonly EntityList[], batches: readonly Batch[]): Part[] {
  return lists.map((list, index) => ({ list, batch: batches[index] as Batch, places: undefined, isLost: false }))
}

/** An error that names no list concerns all lists. An error that names no target of its list concerns the list. */
function failPlaces(run: Run, parts: readonly Part[], error: FetchError): void {
  const [alias, index, ...rest] = error.path ?? []
  const part = parts.find(({ list }) => list.alias === alias)
  if (part === undefined) return failParts(run, parts, error)
  const places = placesOf(run, part)
  const targets = [...(places.targets.get(index) ?? [])]
  const paths = targets.flatMap((target) => places.paths.get(target) ?? [])
  if (paths.length === 0) return failParts(run, [part], error)
  const below = rest.map((key) => (typeof key === 'string' ? (part.list.renamed.get(key) ?? key) : key))
  if (below.length === 0) markLost(run, targets)
  for (const path of paths) run.failures.push({ error, path: [...path, ...below] })
}

function failParts(run: Run, parts: readonly Part[], error: FetchError): void {
  const targets = parts.flatMap(({ batch, isLost }) => (isLost ? [] : batch.targets))
  const starts = parts.map((part) => placesOf(run, part).start).filter((start) => start !== undefined)
  failTargets(run, targets, error, sharedStart(starts))
  for (const part of parts) part.isLost = true
}

function placesOf(run: Run, part: Part): Places {
  return (part.places ??= findPlaces(part.batch, part.list.locate(run)))
}

function findPlaces({ targets, places }: Batch, paths: Places['paths']): Places {
  const byIndex = new Map<number, Set<Target>>()
  for (const [index, target] of targets.entries()) {
    const place = places?.[index] ?? index
    const known = byIndex.get(place)
    if (known === undefined) byIndex.set(place, new Set([target]))
    else known.add(target)
  }
  const all = [...new Set(targets)].flatMap((target) => paths.get(target) ?? [])
  return { paths, targets: byIndex, start: all.length === 0 ? undefined : sharedStart(all) }
}
