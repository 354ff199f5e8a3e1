/**
 * A folder of `export` that is still held, in JSON lines or Parquet. An erasure takes the rows of the viewer out of its files, and writes the
 * new checksums into `export.json`, so the rest can be imported. A file without a rest is removed. An export of the viewer alone loses its list too.
 *
 * A file is written before the list. After a crash in between, the checksum of the file does not match, and an import refuses the export. A
 * file that did not match before keeps its old checksum.
 */
import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { explained } from '../migrate/whole-file.ts'
import { decodeRows, encodeRows } from '../move/encoding.ts'
import { readManifest, sha256Of, writeFileOf, writeManifest, type ExportFile, type Manifest } from '../move/folder.ts'
import type { Form } from '../move/forms.ts'
import type { Row } from '../move/rows.ts'
import type { ErasurePlace } from '../stores/erasure.ts'
import { without, type Line } from './held-lines.ts'

/** The list of the files of `export`. */
export const LIST = 'export.json'
export const HELD_ADVICE = 'make the file and its folder writable, and run the command again'

/** Throws DATA_DAMAGED for a list or a file that cannot be read: it could keep rows of the viewer, and the report would be COMPLETE. */
export async function openHeldFolder(folder: string): Promise<ErasurePlace[]> {
  const manifest = manifestOf(folder)
  if (manifest === undefined) return []
  const { form, files } = manifest
  for (const file of files) await readRows(folder, form, file)
  const places = files.map((file): ErasurePlace => {
    const path = join(folder, file.name)
    return {
      name: `export: ${path}`,
      erase: (viewer) => explained(path, HELD_ADVICE, () => eraseRows(folder, form, file, viewer)),
      count: (viewer) => explained(path, HELD_ADVICE, async () => (await find(folder, form, file, viewer)).found),
    }
  })
  const count = (viewer: ViewerId) => Promise.resolve(Number(names(manifestOf(folder), viewer)))
  const list = join(folder, LIST)
  const eraseList = (viewer: ViewerId) => explained(list, HELD_ADVICE, () => eraseFromList(folder, viewer))
  return [...places, { name: `export: ${list}`, erase: eraseList, count }]
}

/** The names of the files that the list of the folder has. */
export function listedIn(folder: string): ReadonlySet<string> {
  return new Set(manifestOf(folder)?.files.map(({ name }) => name))
}

/** Undefined: the folder has no complete export, or it is gone after an earlier pass. */
function manifestOf(folder: string): Manifest | undefined {
  return existsSync(join(folder, LIST)) ? readManifest(folder)?.manifest : undefined
}

async function readRows(folder: string, form: Form, { name, kind }: ExportFile): Promise<{ bytes: Buffer; rows: Line[] } | undefined> {
  const path = join(folder, name)
  if (!existsSync(path)) return undefined
  const bytes = readFileSync(path)
  const rows = (await decodeRows(form, kind, bytes, path)).map(({ line, value }) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Line
    throw new TidemarkError(
      'DATA_DAMAGED',
      `${path}: line ${line} is not a JSON object, so this export cannot be changed: delete it, and make the export again`,
    )
  })
  return { bytes, rows }
}

async function find(folder: string, form: Form, file: ExportFile, viewer: ViewerId) {
  const { bytes, rows = [] } = (await readRows(folder, form, file)) ?? {}
  const rest = rows.map((row) => without(row, viewer, file.kind))
  return { bytes, found: rest.filter((row, at) => row !== rows[at]).length, rest: rest.filter((row) => row !== undefined) }
}

async function eraseRows(folder: string, form: Form, file: ExportFile, viewer: ViewerId): Promise<number> {
  const { bytes, found, rest } = await find(folder, form, file, viewer)
  if (bytes === undefined || found === 0) return 0
  const path = join(folder, file.name)
  const written = rest.length === 0 ? await rm(path) : await writeFileOf(folder, file.name, encodeRows(form, file.kind, rest as Row[]))
  const manifest = manifestOf(folder)
  if (manifest === undefined) return found
  const { files } = manifest
  manifest.files = files.flatMap((each) => {
    if (each.name !== file.name) return [each]
    if (written === undefined) return []
    return [sha256Of(bytes) === each.sha256 ? { ...each, ...written, rows: rest.length } : each]
  })
  await writeManifest(folder, manifest, true)
  return found
}

/** Only an interrupted export needs the places of its walks. */
async function eraseFromList(folder: string, viewer: ViewerId): Promise<number> {
  const manifest = manifestOf(folder)
  if (manifest === undefined || !names(manifest, viewer)) return 0
  if (manifest.selection.viewer === viewer) await rm(join(folder, LIST))
  else {
    const files = manifest.files.map((file) => (isPlaceOf(file, viewer) ? { ...file, after: null } : file))
    await writeManifest(folder, { ...manifest, files }, true)
  }
  return 1
}

/** The list has the viewer as its selection, or in places of its walks. */
function names(manifest: Manifest | undefined, viewer: ViewerId): boolean {
  return manifest?.selection.viewer === viewer || manifest?.files.some((file) => isPlaceOf(file, viewer)) === true
}

function isPlaceOf({ after }: ExportFile, viewer: ViewerId): boolean {
  return JSON.stringify(after ?? null).includes(JSON.stringify(viewer))
}
