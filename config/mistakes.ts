/**
 * Reports the mistakes of a configuration, one sentence each: the key's path, its value, the fix, and the source (a
 * file, a variable, a flag), because the source is the place to correct. Values are shown unless they may be secrets.
 */
import type { ZodIssue } from 'zod'

/** The settings of a file, the environment or the flags, parsed but not validated. */
export type ConfigSource = {
  /** Where its values stand, as in "set in …". */
  name: string
  values: unknown
  /** Where a path is set, if more can be said than the name: the variable or the flag. */
  places?: Readonly<Record<string, string>>
  /** Settings that could not be read. Their values are absent. */
  mistakes?: readonly UnreadSetting[]
  /**
   * Only for a source whose list of businesses includes entries of other sources. For each entry of that list: its index in the source
   * itself, or undefined. Mistakes then name a business by its number, because the reader sees only the entries of this source.
   */
  ownBusinesses?: readonly (number | undefined)[]
}

/** `path` of the setting, such as "auth.secret"; empty for all settings. */
export type UnreadSetting = { readonly path: string; readonly sentence: string }

type Path = readonly (string | number)[]

/** The values of these are never shown. A URL may contain a password or a token. */
const SECRET = /(^|\.)(password|secret|publicKey|privateKey|key|cert|ca|url|urls(\.\d+)?|jwksUrl|token)$/
const SHOWN_MAX = 60
const BUSINESS_NAME = /^[a-z][a-z0-9-]{0,31}$/

/** Earlier settings, and where they moved. `docs/operating/upgrade.md` has the values. */
const MOVED: ReadonlyMap<string, string> = new Map([
  ['existence.rewards', 'it moved to rewards.firstPlay and rewards.firstIssue, see docs/operating/upgrade.md for their values'],
])

/** `merged` are the validated values. A later source of `sources` wins. */
export function mistakesOf(issues: readonly ZodIssue[], merged: unknown, sources: readonly ConfigSource[]): string[] {
  const own = sources.findLast(({ ownBusinesses }) => ownBusinesses !== undefined)?.ownBusinesses
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => {
        const path = [...issue.path, key]
        const advice = MOVED.get(path.join('.')) ?? 'remove it, or see docs/reference/configuration.md for the names'
        return `${nameOf(path, merged, own)} is not a setting: ${advice}${origin(path, sources)}`
      })
    }
    const { path } = issue
    const inner = innerIssues(issue)
    if (inner.length > 0) return mistakesOf(inner, merged, sources)
    const value = valueAt(merged, path)
    const name = nameOf(path, merged, own) || 'the configuration'
    if (value === undefined) return [`${name}: it is missing: ${adviceOf(issue)}${waysToSet(path, sources)}`]
    const isOfLength = (issue.code === 'too_small' || issue.code === 'too_big') && issue.type === 'array'
    return [`${name}: ${isOfLength ? '' : shown(path.join('.'), value)}${adviceOf(issue)}${origin(path, sources)}`]
  })
}

/** Returns the issues inside a mapping or list that has the form of a union's member: its members are wrong, not its form. */
function innerIssues(issue: ZodIssue): ZodIssue[] {
  if (issue.code !== 'invalid_union') return []
  const isInner = (each: ZodIssue): boolean => each.code === 'unrecognized_keys' || each.path.length > issue.path.length
  return issue.unionErrors.find(({ issues }) => issues.every(isInner))?.issues ?? []
}

/** Keeps the issues of readable settings: an unreadable setting is reported as a separate mistake. */
export function issuesBeside(unread: readonly UnreadSetting[], issues: readonly ZodIssue[], merged: unknown): ZodIssue[] {
  const isKnown = ({ path, code }: ZodIssue): boolean =>
    code !== 'unrecognized_keys' &&
    unread.some((each) =>
      each.path === '' ? valueAt(merged, path) === undefined : isWithin(path.join('.'), each.path) || isWithin(each.path, path.join('.')),
    )
  return issues.filter((issue) => !isKnown(issue))
}

function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`)
}

/**
 * Returns the values without the wrong ones. The rest can still be wrong in relation to each other, so that all mistakes are reported at
 * once. A wrong member removes its list, and a missing value removes its section.
 */
export function withoutWrong(merged: unknown, issues: readonly ZodIssue[]): unknown {
  return issues.reduce<unknown>((values, issue) => withoutPath(values, pathToDrop(values, issue)), merged)
}

function pathToDrop(values: unknown, { path, code, ...rest }: ZodIssue): Path[] {
  if (code === 'unrecognized_keys') return (rest as { keys: string[] }).keys.map((key) => [...path, key])
  const list = path.findIndex((part) => typeof part === 'number')
  const whole = list < 0 ? path : path.slice(0, list)
  return [valueAt(values, whole) === undefined ? whole.slice(0, -1) : whole]
}

function withoutPath(values: unknown, paths: readonly Path[]): unknown {
  return paths.reduce<unknown>((result, [first, ...rest]) => {
    if (typeof result !== 'object' || result === null || first === undefined) return first === undefined ? {} : result
    const { [first]: value, ...others } = result as Record<string, unknown>
    return rest.length === 0 ? others : { ...others, [first]: withoutPath(value, [rest]) }
  }, values)
}

/**
 * A relation that names a wrong setting may hold once the setting is corrected, so it is not reported yet. A sentence about a whole
 * section ("auth: …") names all its settings.
 */
export function relationsBeside(wrong: readonly string[], relations: readonly string[]): string[] {
  return relations.filter((sentence) => {
    const keys = (sentence.match(/\w+(\.\w+)*/g) ?? []).map((key) => key.split('.'))
    return !wrong.some((path) => {
      const [section = '', ...parts] = path.split('.')
      const isWholeSection = parts.length === 0
      return (
        path === '' ||
        keys.some((key) => {
          const ownParts = key.length > 1 ? key.slice(1) : key
          return key.at(-1) === section || (isWholeSection ? key[0] === section : ownParts.some((part) => parts.includes(part)))
        })
      )
    })
  })
}

/**
 * The name of a setting in a mistake. A business appears with its name if the name is valid and unique, and otherwise with its index. If
 * `own` is given (see `ownBusinesses`), its number is preferred to its index.
 */
function nameOf(path: Path, merged: unknown, own: readonly (number | undefined)[] | undefined): string {
  const [section, at, ...rest] = path
  if (section !== 'businesses' || typeof at !== 'number') return path.join('.')
  const { name, number } = (valueAt(merged, [section, at]) ?? {}) as { name?: unknown; number?: unknown }
  const all = valueAt(merged, ['businesses'])
  const isIts = Array.isArray(all) && all.filter((_, each) => valueAt(all, [each, 'name']) === name).length === 1
  const isNamed = isIts && typeof name === 'string' && BUSINESS_NAME.test(name)
  if (isNamed && rest.length > 0 && rest[0] !== 'name') return `businesses: ${name}: ${rest.join('.')}`
  if (own === undefined) return path.join('.')
  if (typeof number === 'number' && rest[0] !== 'number')
    return ['businesses', `number ${number}`, ...(rest.length > 0 ? [rest.join('.')] : [])].join(': ')
  return [section, own[at] ?? at, ...rest].join('.')
}

/** The expected value, in the schema's own words if it has any. */
function adviceOf(issue: ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `give ${WANTED[issue.expected] ?? issue.expected}`
    case 'too_small':
      if (issue.type === 'string' && issue.minimum === 1) return 'give a text that is not empty'
      if (isWritten(issue.message)) return issue.message
      if (issue.type === 'array') return `the list is too short: give ${issue.minimum} or more`
      return `give ${issue.type === 'number' ? '' : 'something of '}at least ${issue.minimum}`
    case 'too_big':
      if (issue.type === 'array') return `the list is too long: give at most ${issue.maximum}`
      return `give at most ${issue.maximum}${issue.type === 'string' ? ' characters' : ''}`
    case 'invalid_enum_value':
    case 'invalid_union_discriminator':
      return `say ${issue.options.join(' or ')}`
    default:
      return issue.message
  }
}

const WANTED: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  object: 'a mapping, "key: value" lines',
  array: 'a list',
}

/** True if the message is the schema's own. Messages of zod begin like this. */
function isWritten(message: string): boolean {
  return !/^(String|Number|Array) must/.test(message)
}

/** `path`: such as `auth.secret`. */
export function isSecret(path: string): boolean {
  return SECRET.test(path)
}

function shown(name: string, value: unknown): string {
  if (isSecret(name)) return ''
  const text = typeof value === 'object' && value !== null ? '' : JSON.stringify(value)
  if (text === '') return Array.isArray(value) ? 'a list is not possible here: ' : 'a mapping is not possible here: '
  return `${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text} is not possible: `
}

function valueAt(values: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    values,
  )
}

function origin(path: Path, sources: readonly ConfigSource[]): string {
  const place = originOf(path, sources)
  return place === undefined ? '' : ` (set ${sources.some(({ name }) => name === place) ? 'in' : 'by'} ${place})`
}

/** The source of the value in effect: its variable, its flag, or the name of the source. Undefined: the default. */
export function originOf(path: Path, sources: readonly ConfigSource[]): string | undefined {
  const source = sources.findLast(({ values }) => valueAt(values, path) !== undefined)
  for (let length = path.length; length > 0; length--) {
    const place = source?.places?.[path.slice(0, length).join('.')]
    if (place !== undefined) return place
  }
  return source?.name
}

function waysToSet(path: Path, sources: readonly ConfigSource[]): string {
  const places = sources.flatMap(({ places: named }) => named?.[path.join('.')] ?? [])
  return places.length === 0 ? '' : ` (${places.join(' or ')})`
}
