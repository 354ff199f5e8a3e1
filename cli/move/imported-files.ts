/** The files of an export that an import has completed, in the file of `--resume`. A lost file costs time only: rows may come again. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { TidemarkError } from '../../core/errors.ts'
import type { ExportFile, Manifest } from './folder.ts'

export type ImportedFiles = { has(file: ExportFile): boolean; add(file: ExportFile): void }

const schema = z.strictObject({ startedAt: z.number(), imported: z.array(z.string()) })

/** Without a path, nothing is kept. Throws CONFIG_INVALID for a file of another export, or one that cannot be written. */
export function keepImported(path: string | undefined, { startedAt }: Manifest): ImportedFiles {
  const names = new Set(path === undefined ? [] : readNames(path, startedAt))
  if (path !== undefined) write(path, { startedAt, imported: [...names] })
  return {
    has: ({ sha256 }) => names.has(sha256),
    add({ sha256 }) {
      names.add(sha256)
      if (path !== undefined) write(path, { startedAt, imported: [...names] })
    },
  }
}

function readNames(path: string, startedAt: number): string[] {
  if (!existsSync(path)) return []
  const parsed = schema.safeParse(jsonOf(path))
  if (parsed.success && parsed.data.startedAt === startedAt) return parsed.data.imported
  throw new TidemarkError(
    'CONFIG_INVALID',
    `--resume ${path} is not of an import of this export: name another file, or remove it to start again`,
  )
}

function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function write(path: string, content: z.infer<typeof schema>): void {
  try {
    writeFileSync(`${path}.new`, JSON.stringify(content))
    renameSync(`${path}.new`, path)
  } catch (error) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--resume ${path} cannot be written (${(error as Error).message}): name a file in a folder that exists and may be written to`,
      { cause: error },
    )
  }
}
