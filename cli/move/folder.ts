/**
 * The folder of an export:
 *
 *     export.json              the manifest, written last: its presence says that the export is complete
 *     export.part.json         the same while the export runs, rewritten after each file
 *     progress-00001.jsonl …   the rows of a kind, at most 100,000 per file
 *
 * A file is written under another name, synced and renamed, so a file of the manifest is whole. An interrupted export continues behind the
 * last file of `export.part.json`.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { TidemarkError } from '../../core/errors.ts'
import { makeFolder } from '../../stores/lmdb/make-folder.ts'
import { FORMS } from './forms.ts'
import { KINDS, type Kind } from './rows.ts'

export const FORMAT = 1
const MANIFEST = 'export.json'
const PART = 'export.part.json'

const kind = z.enum(KINDS as [Kind, ...Kind[]])
const count = z.number().int().min(0)
const manifestSchema = z.object({
  format: z.number(),
  shape: z.enum(['embedded', 'distributed']),
  form: z.enum(FORMS),
  regions: count,
  /** Milliseconds since the epoch. */
  startedAt: count,
  /** The `--since` of the next export, which has all later changes. */
  nextSince: count,
  selection: z.object({ businesses: z.array(z.string()).optional(), viewer: z.string().optional(), since: count.optional() }),
  /** Rows of businesses that the configuration of the export does not have. */
  leftOut: count,
  /** The walks that are complete. */
  done: z.array(z.string()),
  files: z.array(
    z.object({
      ...{ name: z.string().regex(/^[a-z-]+-\d{5,}\.(?:jsonl|parquet)$/), kind, rows: count, bytes: count },
      ...{ sha256: z.string().regex(/^[0-9a-f]{64}$/), walk: z.string(), after: z.unknown() },
    }),
  ),
})

export type Manifest = z.infer<typeof manifestSchema>
export type ExportFile = Manifest['files'][number]
export type Selection = Manifest['selection']

export type ReadManifest = { manifest: Manifest; isComplete: boolean }

/** Undefined if the folder has no export. Throws CONFIG_INVALID for a manifest that cannot be read, and DATA_INCOMPATIBLE. */
export function readManifest(folder: string): ReadManifest | undefined {
  const isComplete = existsSync(join(folder, MANIFEST))
  const path = join(folder, isComplete ? MANIFEST : PART)
  if (!existsSync(path)) return undefined
  const parsed = manifestSchema.safeParse(jsonOf(path))
  if (!parsed.success) throw new TidemarkError('DATA_DAMAGED', `${path} is not the manifest of an export: export into another folder`)
  const { format } = parsed.data
  if (format !== FORMAT)
    throw new TidemarkError(
      'DATA_INCOMPATIBLE',
      `${path} has format ${format}, and this version reads ${FORMAT}: use the version that wrote it`,
    )
  return { manifest: parsed.data, isComplete }
}

function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

export async function writeManifest(folder: string, manifest: Manifest, isComplete: boolean): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)
  await writeWhole(folder, isComplete ? MANIFEST : PART, bytes)
  if (isComplete) await rm(join(folder, PART), { force: true })
}

/** Throws CONFIG_INVALID if the folder has other files. */
export async function prepareFolder(folder: string): Promise<void> {
  await written(folder, async () => {
    makeFolder(folder, 0o700)
    const [first] = await readdir(folder)
    if (first !== undefined)
      throw new TidemarkError(
        'CONFIG_INVALID',
        `${folder} is not empty, and has no export to continue (it has ${first}): name another folder`,
      )
  })
}

export async function writeFileOf(folder: string, name: string, bytes: Buffer): Promise<Pick<ExportFile, 'bytes' | 'sha256'>> {
  await writeWhole(folder, name, bytes)
  return { bytes: bytes.length, sha256: sha256Of(bytes) }
}

async function writeWhole(folder: string, name: string, bytes: Buffer): Promise<void> {
  const draft = join(folder, `${name}.draft`)
  await written(folder, async () => {
    try {
      const file = await open(draft, 'w', 0o600)
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(draft, join(folder, name))
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  })
}

async function written(folder: string, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')
    if (isFull)
      throw new TidemarkError(
        'STORE_FULL',
        `${folder} has no room (${error.message}): free space, and run the export again; it continues`,
        { cause: error },
      )
    throw new TidemarkError('CONFIG_INVALID', `${folder} cannot be written (${error.message}): name another folder with --out`, {
      cause: error,
    })
  }
}

/** Throws DATA_DAMAGED for a file that is missing, or has other bytes than the manifest says. */
export async function readFileOf(folder: string, { name, bytes, sha256 }: ExportFile): Promise<Buffer> {
  const path = join(folder, name)
  const size = (await stat(path).catch(() => undefined))?.size
  if (size === undefined) throw damaged(`${path} is missing`)
  if (size !== bytes) throw damaged(`${path} has ${size} bytes instead of ${bytes}`)
  const content = readFileSync(path)
  if (sha256Of(content) !== sha256) throw damaged(`the checksum of ${path} does not match its bytes`)
  return content
}

function damaged(what: string): TidemarkError {
  return new TidemarkError('DATA_DAMAGED', `${what}: copy the export again, or make a new one; nothing was imported from this file`)
}

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
