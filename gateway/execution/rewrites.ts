/**
 * Rewrites of a plan rename a key or set a value. A key is renamed if two types of one selection give it different types: one of them
 * is fetched under another key. A value is set for an interface object, which a subgraph knows by the interface's name. Rewrites change
 * trees of this request in place.
 */
import type { FetchNodePathSegment, FetchRewrite } from '@graphql-hive/router-query-planner'
import type { PossibleTypes } from '../operation/planner.ts'
import { isRecord } from './run.ts'

export type Rewrite = (value: unknown) => void

/** Undefined if no rewrite is needed. */
export function compileRewrites(rewrites: readonly FetchRewrite[] | null | undefined, possible: PossibleTypes): Rewrite | undefined {
  const steps = (rewrites ?? []).map((rewrite) => compileRewrite(rewrite, possible))
  if (steps.length === 0) return undefined
  return (value) => {
    for (const step of steps) step(value)
  }
}

/** The keys in errors of a fetch, and the keys that they were renamed to. */
export function renamedKeys(rewrites: readonly FetchRewrite[] | null | undefined): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>()
  for (const rewrite of rewrites ?? []) {
    if (!('KeyRenamer' in rewrite)) continue
    const last = rewrite.KeyRenamer.path.at(-1)
    if (last !== undefined && 'Key' in last) renamed.set(last.Key, rewrite.KeyRenamer.renameKeyTo)
  }
  return renamed
}

function compileRewrite(rewrite: FetchRewrite, possible: PossibleTypes): Rewrite {
  if ('KeyRenamer' in rewrite) {
    const { path, renameKeyTo } = rewrite.KeyRenamer
    return compileAt(path, possible, (parent, key) => {
      if (!Object.hasOwn(parent, key)) return
      parent[renameKeyTo] = parent[key]
      delete parent[key]
    })
  }
  const { path, setValueTo } = 'ValueSetter' in rewrite ? rewrite.ValueSetter : rewrite
  return compileAt(path, possible, (parent, key) => {
    parent[key] = setValueTo
  })
}

function compileAt(
  path: readonly FetchNodePathSegment[],
  possible: PossibleTypes,
  act: (parent: Record<string, unknown>, key: string) => void,
): Rewrite {
  const [segment, ...rest] = path
  if (segment === undefined) return () => {}
  if ('TypenameEquals' in segment) {
    const names = new Set(segment.TypenameEquals.flatMap((name) => [...possible(name)]))
    const next = compileAt(rest, possible, act)
    return overLists((value) => {
      if (typeof value['__typename'] !== 'string' || names.has(value['__typename'])) next(value)
    })
  }
  if (rest.length === 0) return overLists((value) => act(value, segment.Key))
  const next = compileAt(rest, possible, act)
  return overLists((value) => next(value[segment.Key]))
}

function overLists(act: (value: Record<string, unknown>) => void): Rewrite {
  const rewrite: Rewrite = (value) => {
    if (Array.isArray(value)) for (const item of value) rewrite(item)
    else if (isRecord(value)) act(value)
  }
  return rewrite
}
