/**
 * A live version is a mapping with settings of the configuration. They win over all other sources. The entries of `businesses` are merged by
 * their numbers into those of the configuration, so a version needs only the settings that differ.
 *
 * A version is checked twice: `tidemark config set` checks it against the version before, and each process against the version that it
 * runs. A business never leaves, because its entity is in the graph and its data in the stores.
 */
import { isDeepStrictEqual } from 'node:util'
import { DEFAULT_BUSINESSES, makeConfig, type Config } from '../config.ts'
import type { LiveSetting } from './live-setting.ts'
import { isLive, REPLACED } from './live-settings.ts'
import { isPlainObject, mergeValues } from '../merge.ts'
import type { ConfigSource } from '../mistakes.ts'
import { TidemarkError } from '../../core/errors.ts'

export const LIVE_NAME = 'the live configuration'

type Document = Readonly<Record<string, unknown>>

/** A version in effect: the settings of the version alone, and the whole configuration with them. */
export type LiveVersion = { readonly document: Document; readonly config: Config }

/** `sources`: of the configuration without a version. `before`: the version in effect. */
export function liveSetting(
  sources: readonly ConfigSource[],
  before: () => Config,
  moreMistakes?: (config: Config) => readonly string[],
): LiveSetting<LiveVersion> {
  return {
    name: LIVE_NAME,
    parse(document, place = LIVE_NAME) {
      if (!isPlainObject(document)) {
        throw new TidemarkError('CONFIG_INVALID', `${place} is not a mapping: write settings as in tidemark.yaml`)
      }
      const config = makeConfig(withVersion(sources, document, place), moreMistakes)
      const mistakes = [...twiceMistakes(document), ...restartMistakes(document), ...leavingMistakes(before(), config)]
      if (mistakes.length > 0) throw new TidemarkError('CONFIG_INVALID', mistakes.join('\n'))
      return { document, config: withEqualSections(before(), config) }
    },
  }
}

/** A section that the version does not change stays the same object, so parts can detect that nothing changed. */
function withEqualSections(before: Config, after: Config): Config {
  const kept = Object.entries(before).filter(([name, section]) => isDeepStrictEqual(section, after[name as keyof Config]))
  return Object.freeze({ ...after, ...Object.fromEntries(kept) })
}

/** The sources, and the version as the last one, with the whole list of businesses. */
function withVersion(sources: readonly ConfigSource[], document: Document, name: string): ConfigSource[] {
  return [...sources.map((source) => withoutReplaced(source, document)), liveSource(sources, document, name)]
}

function withoutReplaced(source: ConfigSource, document: Document): ConfigSource {
  let { values } = source
  for (const [section, key] of REPLACED) {
    const own = isPlainObject(values) ? values[section] : undefined
    const above = document[section]
    if (!isPlainObject(own) || !isPlainObject(above) || above[key] === undefined || above[key] === null) continue
    const { [key]: _, ...rest } = own
    values = { ...(values as object), [section]: rest }
  }
  return { ...source, values }
}

function liveSource(sources: readonly ConfigSource[], document: Document, name: string): ConfigSource {
  if (!Array.isArray(document['businesses'])) return { name, values: document }
  const { businesses } = sources.reduce<{ businesses?: unknown }>((below, { values }) => mergeValues(below, values) as object, {})
  const all: unknown[] = Array.isArray(businesses) ? [...businesses] : [...DEFAULT_BUSINESSES]
  const ownBusinesses: (number | undefined)[] = all.map(() => undefined)
  for (const [place, entry] of (document['businesses'] as unknown[]).entries()) {
    const found = all.findIndex((each) => numberOf(each) !== undefined && numberOf(each) === numberOf(entry))
    const at = found < 0 ? all.length : found
    all[at] = found < 0 ? entry : mergeValues(all[at], entry)
    ownBusinesses[at] = place
  }
  return { name, values: { ...document, businesses: all }, ownBusinesses }
}

/** The setting of each leaf: a path such as `businesses.4.glanceMax`, and its value. A list of texts or numbers is one leaf. */
export function leavesOf(value: unknown, path = ''): [string, unknown][] {
  const below = (key: string | number, each: unknown) => leavesOf(each, path === '' ? String(key) : `${path}.${key}`)
  if (Array.isArray(value) && value.some(isPlainObject)) return value.flatMap((each, at) => below(numberOf(each) ?? at, each))
  if (isPlainObject(value) && Object.keys(value).length > 0) return Object.entries(value).flatMap(([key, each]) => below(key, each))
  return [[path, value]]
}

/** A business has its number as its place, so that entries keep their paths when others come and go. */
function numberOf(entry: unknown): number | undefined {
  return isPlainObject(entry) && typeof entry['number'] === 'number' ? entry['number'] : undefined
}

function twiceMistakes(document: Document): string[] {
  const entries: unknown[] = Array.isArray(document['businesses']) ? document['businesses'] : []
  const numbers = entries.flatMap((entry) => numberOf(entry) ?? [])
  const repeated = new Set(numbers.filter((number, at) => numbers.indexOf(number) < at))
  return [...repeated].map((number) => `businesses: number ${number} occurs twice: keep one entry`)
}

function restartMistakes(document: Document): string[] {
  const paths = new Set(leavesOf(document).map(([path]) => path.replaceAll(/\.\d+(?=\.|$)/g, '')))
  return [...paths]
    .filter((path) => path !== '' && !isLive(path))
    .map((path) => `${path} cannot change while processes run: set it in tidemark.yaml, and restart the processes`)
}

function leavingMistakes(before: Config, after: Config): string[] {
  const mistakes: string[] = []
  for (const { number, name, entity } of before.businesses) {
    const next = after.businesses.find((each) => each.number === number)
    if (next === undefined) {
      mistakes.push(`businesses: ${name}: number ${number} is missing, and processes serve it: keep it, and set enabled: false`)
      continue
    }
    for (const [key, old, now] of [['name', name, next.name] as const, ['entity', entity, next.entity] as const]) {
      if (old !== now) mistakes.push(`businesses: ${name}: the ${key} cannot change from ${old} to ${now}: data and clients use it`)
    }
  }
  const [likes, then] = [before, after].map(({ businesses }) => businesses.some(({ thumbup }) => thumbup.enabled || thumbup.deleted))
  if (likes !== then) {
    const sentence = 'no business had likes before, and one has them now, or the reverse: set thumbup.enabled in tidemark.yaml'
    mistakes.push(`businesses: ${sentence}, and restart the processes`)
  }
  return mistakes
}
