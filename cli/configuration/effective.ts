/** The configuration in effect as YAML. A comment at each setting names its source: a file, a variable, a flag, a live version, or the default. */
import { Document, isMap, isScalar, isSeq, type Pair } from 'yaml'
import { isPlainObject, mergeValues } from '../../config/merge.ts'
import { isSecret, originOf, type ConfigSource } from '../../config/mistakes.ts'
import { bareAddress } from '../../config/store-addresses.ts'
import { readLiveVersion } from '../process/live-config.ts'
import type { Settings } from '../process/settings.ts'

type Path = readonly (string | number)[]

export async function printEffective(settings: Settings, print: (line: string) => void): Promise<void> {
  const { value, version } = await readLiveVersion(settings)
  const live = version === 0 ? [] : [{ name: `live version ${version}`, values: value.document }]
  const sources = [...settings.sources, ...live]
  const document = new Document(withoutSecrets(value.config, []))
  annotate(document.contents, [], (path) => sourceOfPath(value.config, sources, path))
  print(document.toString({ lineWidth: 0 }).trimEnd())
}

/** Comments each setting that is no mapping. A list of texts or numbers is one setting. */
function annotate(node: unknown, path: Path, originAt: (path: Path) => string): void {
  if (isMap(node)) {
    for (const pair of node.items as Pair<{ value: string }, { comment?: string }>[]) {
      const inner = [...path, pair.key.value]
      const { value } = pair
      const isSetting = !isMap(value) && !(isSeq(value) && value.items.some(isMap))
      if (!isSetting) annotate(value, inner, originAt)
      else if (isScalar(value)) value.comment = ` ${originAt(inner)}`
      else if (isSeq(value)) {
        value.flow = true
        value.comment = ` ${originAt(inner)}`
      }
    }
  } else if (isSeq(node)) node.items.forEach((item, at) => annotate(item, [...path, at], originAt))
}

/** Businesses are found by their numbers, because sources list them at different places. */
function sourceOfPath(config: unknown, sources: readonly ConfigSource[], path: Path): string {
  const [section, at, ...rest] = path
  if (section !== 'businesses' || typeof at !== 'number') return originOf(path, sources) ?? 'default'
  const number = (config as { businesses: readonly { number: number }[] }).businesses[at]?.number
  const own = sources.map((source) => ({ ...source, values: entryOf(source.values, number) }))
  return originOf(rest, own) ?? 'default'
}

function entryOf(values: unknown, number: number | undefined): unknown {
  const { businesses } = (values ?? {}) as { businesses?: unknown }
  const entries: unknown[] = Array.isArray(businesses) ? businesses : []
  return entries.filter((each) => isPlainObject(each) && each['number'] === number).reduce(mergeValues, undefined)
}

function withoutSecrets(value: unknown, path: Path): unknown {
  if (Array.isArray(value)) return value.map((each, at) => withoutSecrets(each, [...path, at]))
  if (isPlainObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutSecrets(each, [...path, key])]))
  }
  if (!isSecret(path.join('.'))) return value
  return typeof value === 'string' && /^\w+:\/\//.test(value) ? placeOf(value) : '(secret)'
}

/** An address is useful without its credentials and its query. Both may hold an "@". */
function placeOf(address: string): string {
  const [place = ''] = address.split(/[?#]/)
  const query = place === address ? '' : '?(secret)'
  const bare = bareAddress(place)
  const [scheme] = place.split('://')
  return `${scheme}://${place.endsWith(`://${bare}`) ? '' : '(secret)@'}${bare}${query}`
}
