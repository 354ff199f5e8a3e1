/**
 * Runs a document whose `_entities` fields were rewritten to lists; see entity-schema.ts. Representations of several types are sorted into
 * the lists of their types. Afterwards, the entities and the paths of errors get the positions of their representations.
 *
 * root-list.ts uses it too, with the items of its list as the representations.
 */
import type { EntityLists } from './entity-schema.ts'
import type { FetchError, FetchResult, FetchVariables } from './transport.ts'

type Root = Record<string, unknown>
/** The positions of the representations of each list of one type, by its key. */
type Places = ReadonlyMap<string, readonly number[]>

/** `run` gets the root value with the lists. `whole` runs the document as it was, for a representation of a type that it does not name. */
export function runLists(
  lists: readonly EntityLists[],
  variables: FetchVariables,
  run: (root: Root) => FetchResult | Promise<FetchResult>,
  whole: () => FetchResult | Promise<FetchResult>,
): FetchResult | Promise<FetchResult> {
  const root: Root = {}
  const sorted: { key: string; places: Places }[] = []
  for (const { key, variable, types } of lists) {
    const representations = variables[variable]
    if (types.size === 1) root[key] = representations
    else {
      const places = Array.isArray(representations) ? sortInto(root, representations, types) : undefined
      if (places === undefined) return whole()
      sorted.push({ key, places })
    }
  }
  const result = run(root)
  if (sorted.length === 0) return result
  return result instanceof Promise ? result.then((each) => inOrder(each, sorted)) : inOrder(result, sorted)
}

/** Undefined if there is a representation of another type. Nulls and errors go to the first list. */
function sortInto(root: Root, representations: readonly unknown[], types: EntityLists['types']): Places | undefined {
  const places = new Map<string, number[]>()
  const [first] = types.values()
  for (const list of types.values()) {
    root[list] = []
    places.set(list, [])
  }
  for (let place = 0; place < representations.length; place += 1) {
    const representation = representations[place] as { __typename?: string } | Error | null | undefined
    const list = representation == null || representation instanceof Error ? first : types.get(representation.__typename ?? '')
    if (list === undefined) return undefined
    ;(root[list] as unknown[]).push(representation)
    places.get(list)?.push(place)
  }
  return places
}

function inOrder(result: FetchResult, sorted: readonly { key: string; places: Places }[]): FetchResult {
  const { data, errors } = result
  if (data != null)
    for (const { key, places } of sorted) {
      const entities: unknown[] = []
      for (const [list, of] of places) {
        const items = data[list] as readonly unknown[] | null | undefined
        for (let index = 0; index < of.length; index += 1) entities[of[index] as number] = items?.[index] ?? null
        delete data[list]
      }
      data[key] = entities
    }
  if (errors === undefined) return result
  const all = errors.map((error) => placed(error, sorted))
  return { ...result, errors: sorted.length === 1 ? all.sort(byPlace) : all }
}

/** The lists of the types have their errors one list after the other. */
function byPlace({ path: [, a] = [] }: FetchError, { path: [, b] = [] }: FetchError): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : 0
}

function placed(error: FetchError, sorted: readonly { key: string; places: Places }[]): FetchError {
  const [list = '', index, ...rest] = error.path ?? []
  for (const { key, places } of sorted) {
    const of = places.get(String(list))
    if (of === undefined) continue
    const path = typeof index === 'number' ? [key, of[index] ?? index, ...rest] : [key]
    const { message, extensions, originalError, remote } = error
    return {
      message,
      path,
      ...(extensions && Object.keys(extensions).length > 0 && { extensions }),
      ...(originalError !== undefined && { originalError }),
      ...(remote && { remote }),
    }
  }
  return error
}
