/**
 * The versions of the live configuration, as an operator works with them. `get` prints a version with its number in a comment, so that `set`
 * knows which version a file was made from. Another version in between is a conflict, and `set` changes nothing.
 */
import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { leavesOf, type LiveVersion } from '../../config/live/live.ts'
import { isPlainObject } from '../../config/merge.ts'
import { isSecret } from '../../config/mistakes.ts'
import { isTidemarkError, TidemarkError } from '../../core/errors.ts'
import type { StoredVersion, Versioned } from '../../core/live-value.ts'
import { checkDocument, readLiveVersion, sourceOf, withLiveSource } from '../process/live-config.ts'
import { readYamlFile } from '../process/live-file.ts'
import type { Settings } from '../process/settings.ts'
import { LIVE_NAME } from '../../config/live/live.ts'

type Print = (line: string) => void
type Document = Readonly<Record<string, unknown>>

export async function getVersion(settings: Settings, version: string | undefined, print: Print): Promise<void> {
  if (version !== undefined) return print(textOf(version, await documentOf(settings, version)))
  let current: Versioned<LiveVersion>
  try {
    current = await readLiveVersion(settings)
  } catch (error) {
    return printInvalid(settings, error, print)
  }
  print(textOf(String(current.version), current.value.document))
}

/** The newest version is not valid: prints it, so that an operator can correct it and set it again, and throws its mistakes. */
async function printInvalid(settings: Settings, error: unknown, print: Print): Promise<never> {
  if (!isTidemarkError(error) || error.code !== 'CONFIG_INVALID' || !hasVersions(settings)) throw error
  const versions = await withLiveSource(settings, (source) => source.history())
  const [newest] = versions
  const kept = newestValid(settings, versions)
  // Another program wrote the stored value, so the history does not have it.
  if (newest === undefined || newest.version === kept?.version) throw error
  const keep = kept === undefined ? 'processes run without a live version' : `processes keep version ${kept.version}`
  const text = newest.value === undefined ? '# its text cannot be read' : textIn(newest.value)
  print(`# version ${newest.version}\n# not valid: ${keep}\n${text}`)
  throw new TidemarkError('CONFIG_INVALID', `version ${newest.version} is not valid, and ${keep}: ${error.message}`, { cause: error })
}

export async function checkFile(settings: Settings, file: string, print: Print): Promise<void> {
  const { value } = await readLiveVersion(settings)
  checkDocument(settings, readDocument(file), value.config, file)
  print(`${file} is valid`)
}

export async function setVersion(settings: Settings, file: string, flags: { expect?: string; note?: string }, print: Print): Promise<void> {
  const document = readDocument(file)
  const current = await readCurrent(settings)
  const expected = expectedOf(flags.expect, file)
  await change(settings, current, document, expected, flags.note, print)
}

/** Sets the settings of an earlier version again, as the next version. A business that came since stays, disabled. */
export async function rollBack(settings: Settings, version: string, flags: { note?: string }, print: Print): Promise<void> {
  const current = await readCurrent(settings)
  const old = await documentOf(settings, version)
  const { document, kept } = withLaterBusinesses(old, current.value)
  for (const name of kept) print(`business ${name} came after version ${version}: it stays, with enabled: false`)
  await change(settings, current, document, current.version, flags.note ?? `rollback to ${version}`, print)
}

export async function printHistory(settings: Settings, print: Print): Promise<void> {
  const versions = await withLiveSource(settings, (source) => source.history())
  if (versions.length === 0) print('no version was set yet')
  versions.forEach(({ version, at, value, note }, place) => {
    const before = versions[place + 1]?.value ?? {}
    const changed = differencesOf(before, value).map(({ path }) => path)
    print(`${version}  ${new Date(at).toISOString()}  ${note ?? ''}${note === undefined ? '' : '  '}${shortened([...new Set(changed)])}`)
  })
}

/** Compares a file with the version in effect, or two versions. The second one is by default the version in effect. */
export async function printDifferences(settings: Settings, one: string, other: string | undefined, print: Print): Promise<void> {
  const isVersion = /^\d+$/.test(one)
  const current = async (): Promise<unknown> => (await readLiveVersion(settings)).value.document
  const [before, after] = isVersion
    ? [await documentOf(settings, one), other === undefined ? await current() : await documentOf(settings, other)]
    : [await current(), readDocument(one)]
  const differences = differencesOf(before, after)
  if (differences.length === 0) print('no difference')
  for (const { path, old, now } of differences) {
    if (old !== undefined) print(`- ${path}: ${shown(path, old)}`)
    if (now !== undefined) print(`+ ${path}: ${shown(path, now)}`)
  }
}

async function readCurrent(settings: Settings): Promise<Versioned<LiveVersion>> {
  // Throws its sentence for a source that cannot be changed.
  if (!hasVersions(settings)) await withLiveSource(settings, () => Promise.resolve())
  try {
    return await readLiveVersion(settings)
  } catch (error) {
    if (!isTidemarkError(error) || error.code !== 'CONFIG_INVALID') throw error
    return lastValid(settings)
  }
}

/** The newest version is not valid, so processes run the one before. The next version replaces the newest one. */
async function lastValid(settings: Settings): Promise<Versioned<LiveVersion>> {
  const versions = await withLiveSource(settings, (source) => source.history())
  const value = newestValid(settings, versions)?.value ?? { document: {}, config: settings.config }
  return { value, version: versions[0]?.version ?? 0 }
}

function newestValid(settings: Settings, versions: readonly StoredVersion[]): Versioned<LiveVersion> | undefined {
  for (const { version, value } of versions) {
    try {
      return { value: checkDocument(settings, value, settings.config, `version ${version}`), version }
    } catch (error) {
      if (!isTidemarkError(error)) throw error
    }
  }
  return undefined
}

function hasVersions({ config }: Settings): boolean {
  return ['folder', 'redis'].includes(sourceOf(config).kind)
}

async function change(
  settings: Settings,
  { value: before }: Versioned<LiveVersion>,
  document: Document,
  expected: number,
  note: string | undefined,
  print: Print,
): Promise<void> {
  const { version } = await withLiveSource(
    settings,
    (source) => source.change(document, expected, note?.replaceAll(/\s+/g, ' ')),
    () => before.config,
  )
  print(`version ${version} is set: processes take it over within 2 seconds`)
}

/** Version 0 is the state before the first version: it has no live settings, and is not stored. */
async function documentOf(settings: Settings, version: string): Promise<Document> {
  if (version === '0') return {}
  const versions = await withLiveSource(settings, (source) => source.history())
  const found = versions.find((each) => String(each.version) === version)
  if (found !== undefined && isPlainObject(found.value)) return found.value
  if (found !== undefined) throw new TidemarkError('CONFIG_INVALID', `version ${version} of ${LIVE_NAME} cannot be read: name another one`)
  throw new TidemarkError('CONFIG_INVALID', `${LIVE_NAME} has no version ${version}: see \`tidemark config history\``)
}

function withLaterBusinesses(document: Document, { document: current }: LiveVersion): { document: Document; kept: string[] } {
  const listOf = (each: Document): Document[] => (Array.isArray(each['businesses']) ? (each['businesses'] as Document[]) : [])
  const numbers = new Set(listOf(document).map(({ number }) => number))
  const later = listOf(current).filter(({ number, name }) => !numbers.has(number) && name !== undefined)
  if (later.length === 0) return { document, kept: [] }
  const businesses = [...listOf(document), ...later.map((each) => ({ ...each, enabled: false }))]
  return { document: { ...document, businesses }, kept: later.map(({ name }) => String(name)) }
}

function readDocument(file: string): Document {
  const document = readYamlFile(file, LIVE_NAME)
  if (isPlainObject(document)) return document
  throw new TidemarkError('CONFIG_INVALID', `${file} is not a mapping: write settings as in tidemark.yaml`)
}

function expectedOf(expect: string | undefined, file: string): number {
  const text = expect ?? /^# version (\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1]
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text)
  if (expect !== undefined) throw new TidemarkError('CONFIG_INVALID', `--expect ${expect} is not a version: give its number`)
  const sentence = `config set needs the version that ${file} replaces: begin with the output of \`tidemark config get\`, or give --expect`
  throw new TidemarkError('CONFIG_INVALID', sentence)
}

function textOf(version: string, document: Document): string {
  return `# version ${version}\n${textIn(document)}`
}

function textIn(document: unknown): string {
  return stringify(document).trimEnd()
}

type Difference = { path: string; old: unknown; now: unknown }

function differencesOf(before: unknown, after: unknown): Difference[] {
  const [old, now] = [new Map(leavesOf(before)), new Map(leavesOf(after))]
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter((path) => path !== '')
  return paths
    .map((path) => ({ path, old: old.get(path), now: now.get(path) }))
    .filter((each) => JSON.stringify(each.old) !== JSON.stringify(each.now))
}

const SHOWN_MAX = 5

function shortened(paths: readonly string[]): string {
  const more = paths.length - SHOWN_MAX
  return `${paths.slice(0, SHOWN_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function shown(path: string, value: unknown): string {
  return isSecret(path) ? '(secret)' : JSON.stringify(value)
}
