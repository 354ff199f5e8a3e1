/** Flatten paths of a plan: the objects that they lead to, and the places of these objects for errors. */
import type { FlattenNodePathSegment } from '@graphql-hive/router-query-planner'
import type { PossibleTypes } from '../operation/planner.ts'
import type { DataPath } from './run.ts'
import { isRecord } from './run.ts'

export type Target = Record<string, unknown>
export type FlattenPath = readonly FlattenNodePathSegment[]
/** Appends the objects in `value` to `found`. */
type Visit = (value: unknown, found: Target[]) => void

export type Flatten = {
  collect(data: unknown): Target[]
  /** The paths of all objects that `collect` finds. One object may be in several places. Only errors need them. */
  locate(data: unknown): Map<Target, DataPath[]>
  /** Whether the same entity is likely to occur several times. A list at the root rarely repeats; references of its items often do. */
  readonly repeats: boolean
}

export function compileFlatten(path: FlattenPath, possible: PossibleTypes): Flatten {
  const visit = compileVisit(path, possible)
  const afterList = path.slice(path.indexOf('@') + 1)
  return {
    repeats: path.includes('@') && afterList.some((segment) => segment === '@' || 'Field' in segment),
    collect(data) {
      const found: Target[] = []
      visit(data, found)
      return found
    },
    locate(data) {
      const places = new Map<Target, DataPath[]>()
      locateIn(data, path, [], possible, (target, place) => {
        const known = places.get(target)
        if (known === undefined) places.set(target, [place])
        else known.push(place)
      })
      return places
    },
  }
}

function compileVisit(path: FlattenPath, possible: PossibleTypes): Visit {
  const [segment, ...rest] = path
  if (segment === undefined) return collectObjects
  const next = compileVisit(rest, possible)
  if (segment === '@') {
    return (value, found) => {
      if (Array.isArray(value)) for (const item of value) next(item, found)
    }
  }
  if ('Field' in segment) {
    const { Field } = segment
    return (value, found) => {
      if (isRecord(value)) next(value[Field], found)
    }
  }
  const names = namesOf(segment.TypeCondition, possible)
  return (value, found) => {
    if (isRecord(value) && mayBe(value, names)) next(value, found)
  }
}

/** Nested lists that are followed. No type nests lists this deeply, but an answer of a subgraph may. */
export const LISTS_MAX = 32

const collectObjects: Visit = (value, found) => collectWithin(value, found, 0)

function collectWithin(value: unknown, found: Target[], depth: number): void {
  if (Array.isArray(value)) {
    if (depth < LISTS_MAX) for (const item of value) collectWithin(item, found, depth + 1)
  } else if (typeof value === 'object' && value !== null) found.push(value as Target)
}

/** The root has no type name in the data, and passes. An entity without a type name has no representation anyway. */
function mayBe(value: Record<string, unknown>, names: ReadonlySet<string>): boolean {
  const typename = value['__typename']
  return typename === undefined || (typeof typename === 'string' && names.has(typename))
}

function namesOf(conditions: readonly string[], possible: PossibleTypes): ReadonlySet<string> {
  return new Set(conditions.flatMap((name) => [...possible(name)]))
}

function locateIn(
  value: unknown,
  path: FlattenPath,
  place: DataPath,
  possible: PossibleTypes,
  found: (target: Target, place: DataPath) => void,
  depth = 0,
): void {
  const [segment, ...rest] = path
  if (Array.isArray(value) && (segment === undefined || segment === '@')) {
    if (depth < LISTS_MAX)
      value.forEach((item, index) => locateIn(item, rest, [...place, index], possible, found, segment === undefined ? depth + 1 : 0))
  } else if (isRecord(value)) {
    if (segment === undefined) found(value, place)
    else if (segment === '@') return
    else if ('Field' in segment) locateIn(value[segment.Field], rest, [...place, segment.Field], possible, found)
    else if (mayBe(value, namesOf(segment.TypeCondition, possible))) locateIn(value, rest, place, possible, found)
  }
}

/** The common start of all paths: the place where a fetch for many objects was to be merged. */
export function sharedStart(paths: readonly DataPath[]): DataPath {
  const [first = [], ...others] = paths
  let length = first.length
  for (const path of others) {
    let same = 0
    while (same < length && path[same] === first[same]) same += 1
    length = same
  }
  return first.slice(0, length)
}
