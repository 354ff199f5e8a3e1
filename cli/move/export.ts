/**
 * `tidemark export` writes the stored data into a folder (`folder.ts`), as JSON lines or Parquet: of everything, of businesses, of a viewer,
 * or since a version. It may run beside the service. A command that is run again continues an interrupted export of the same selection.
 */
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'
import { VERSIONS_PER_MS } from '../../core/version.ts'
import { businessOf } from '../business-of.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import { makeLog } from '../process/log.ts'
import type { Flags } from '../process/settings.ts'
import { openStores } from '../stores/history.ts'
import { encodeRows } from './encoding.ts'
import type { Form } from './forms.ts'
import { FORMAT, prepareFolder, readManifest, writeFileOf, writeManifest, type Manifest, type Selection } from './folder.ts'
import { makePace, type Pace } from './pace.ts'
import { KINDS, type Kind, type Row } from './rows.ts'
import { sourceOf, type Source, type Walk } from './source.ts'
import { walksOf } from './walks.ts'

export type ExportFlags = Flags & {
  out: string
  form: Form
  business?: string[]
  viewer?: string
  since?: number
  rate?: number
}

const FILE_ROWS = 100_000
const FILE_BYTES = 64 * 2 ** 20
/** A version that a process with a slow clock assigns now may be below that of another one. */
const CLOCKS_APART_MS = 60_000

export async function exportData(flags: ExportFlags, print: (line: string) => void): Promise<void> {
  const config = await readSettingsInEffect(flags)
  const selection = selectionOf(config, flags)
  requireDataFolder(config)
  const stores = await openStores(config, systemClock, makeLog())
  try {
    const source = sourceOf(stores, config, selection, systemClock.now())
    await writeExport(flags, source, walksOf(source), print)
  } finally {
    await stores.close()
  }
}

/** Writes the rows of these walks, and returns the complete manifest. */
export async function writeExport(
  flags: Pick<ExportFlags, 'out' | 'form' | 'rate'>,
  { config, selection }: Source,
  walks: readonly Walk[],
  print: (line: string) => void,
): Promise<Manifest> {
  const manifest = await beginExport(flags, config, selection, print)
  await runWalks(flags.out, manifest, walks, makePace(systemClock, flags.rate))
  await writeManifest(flags.out, manifest, true)
  for (const line of summaryOf(flags.out, manifest)) print(line)
  return manifest
}

function selectionOf(config: Config, { business, viewer, since }: ExportFlags): Selection {
  for (const name of business ?? []) businessOf(config, name)
  if (viewer !== undefined) checkId(viewer, '--viewer')
  return { ...(business && { businesses: business }), ...(viewer !== undefined && { viewer }), ...(since !== undefined && { since }) }
}

/** The manifest of the interrupted export in the folder, or a new one. */
async function beginExport(
  { out, form }: Pick<ExportFlags, 'out' | 'form'>,
  { stores }: Config,
  selection: Selection,
  print: (line: string) => void,
): Promise<Manifest> {
  const found = readManifest(out)
  if (found?.isComplete === true)
    throw new TidemarkError('CONFIG_INVALID', `${out} has a complete export, which is left as it is: name another folder with --out`)
  const shape = stores.redis === undefined ? 'embedded' : 'distributed'
  if (found === undefined) {
    await prepareFolder(out)
    const startedAt = systemClock.now()
    const nextSince = (startedAt - CLOCKS_APART_MS) * VERSIONS_PER_MS
    return { format: FORMAT, shape, form, regions: stores.regions, startedAt, nextSince, selection, leftOut: 0, done: [], files: [] }
  }
  const { manifest } = found
  const own = JSON.stringify([shape, form, stores.regions, selection])
  if (own !== JSON.stringify([manifest.shape, manifest.form, manifest.regions, manifest.selection]))
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${out} has an interrupted export with other options: use the same options, or name another folder with --out`,
    )
  print(`continues the export in ${out} after ${rowsOf(manifest)} rows`)
  return manifest
}

/** Writes a file whenever enough rows are read, and the manifest after each file. */
async function runWalks(folder: string, manifest: Manifest, walks: readonly Walk[], pace: Pace): Promise<void> {
  for (const walk of walks) {
    if (manifest.done.includes(walk.name)) continue
    const writer = makeWriter(folder, manifest, walk)
    for await (const { rows, after, leftOut } of walk.pages(manifest.files.findLast((file) => file.walk === walk.name)?.after)) {
      await writer.add(rows, after)
      manifest.leftOut += leftOut
      await pace(rows.length)
    }
    await writer.end()
    manifest.done.push(walk.name)
  }
}

function makeWriter(folder: string, manifest: Manifest, { name: walk, kind }: Walk) {
  let rows: Row[] = []
  let bytes = 0
  let place: unknown

  async function write(): Promise<void> {
    if (rows.length === 0) return
    const number = manifest.files.filter((file) => file.kind === kind).length + 1
    const name = `${kind}-${String(number).padStart(5, '0')}.${manifest.form}`
    const written = await writeFileOf(folder, name, encodeRows(manifest.form, kind, rows))
    manifest.files.push({ name, kind, rows: rows.length, ...written, walk, after: place })
    await writeManifest(folder, manifest, false)
    rows = []
    bytes = 0
  }

  return {
    async add(page: readonly Row[], after: unknown): Promise<void> {
      for (const row of page) {
        rows.push(row)
        if (kind === 'filter') bytes += (row as { filter: string }).filter.length
      }
      place = after
      if (rows.length >= FILE_ROWS || bytes >= FILE_BYTES) await write()
    },
    end: write,
  }
}

function rowsOf({ files }: Manifest, kind?: Kind): number {
  return files.reduce((sum, file) => (kind === undefined || file.kind === kind ? sum + file.rows : sum), 0)
}

function summaryOf(folder: string, manifest: Manifest): string[] {
  const lines = KINDS.flatMap((kind) => {
    const rows = rowsOf(manifest, kind)
    return rows === 0 ? [] : [`${kind.padEnd(12)}${String(rows).padStart(12)} rows`]
  })
  const left = manifest.leftOut === 0 ? [] : [`${manifest.leftOut} rows of businesses that are not configured or not selected are left out`]
  return [
    ...lines,
    ...left,
    `${rowsOf(manifest)} rows in ${manifest.files.length} files; ${join(folder, 'export.json')} has their checksums`,
    `the next export has all later changes with --since ${manifest.nextSince}`,
  ]
}
