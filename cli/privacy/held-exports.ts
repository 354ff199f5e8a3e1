/**
 * Exports that are still held: folders of `export` (`held-folder.ts`), files of `viewer export`, and other files in JSON lines. An erasure takes
 * the lines of the viewer out, and writes each file as a whole or not at all. A file of `viewer export` about this viewer is removed.
 */
import { createReadStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Writable } from 'node:stream'
import type { ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { explained, writeWholeFile } from '../migrate/whole-file.ts'
import type { ErasurePlace } from '../stores/erasure.ts'
import { HELD_ADVICE, LIST, listedIn, openHeldFolder } from './held-folder.ts'
import { without, type Line } from './held-lines.ts'

/** `path`: a file, or a folder with exports. Throws CONFIG_INVALID for a file of another form, also within the folder, and DATA_DAMAGED. */
export function openHeldExports(path: string): Promise<ErasurePlace[]> {
  return explained(path, HELD_ADVICE, () => open(path))
}

async function open(path: string): Promise<ErasurePlace[]> {
  const files = (await filesIn(path)).map((file) => ({
    name: `export: ${file}`,
    erase: (viewer: ViewerId) => explained(file, HELD_ADVICE, () => eraseLines(file, viewer)),
    count: (viewer: ViewerId) => explained(file, HELD_ADVICE, () => countLines(file, viewer)),
  }))
  return [...files, ...(await openHeldFolder(path))]
}

async function eraseLines(file: string, viewer: ViewerId): Promise<number> {
  const found = await countLines(file, viewer)
  if (found === 0) return 0
  if (await isAbout(file, viewer)) await rm(file)
  else await writeWithout(file, viewer)
  return found
}

async function filesIn(path: string): Promise<string[]> {
  const found = await ifThere(stat(path))
  if (found === undefined) throw new TidemarkError('CONFIG_INVALID', `--exports ${path} does not exist: name a file or a folder of exports`)
  if (!found.isDirectory() && listedIn(dirname(path)).has(basename(path)))
    throw new TidemarkError('CONFIG_INVALID', `--exports ${path} is a file of an export, whose list has its checksum: name the folder`)
  const files = found.isDirectory() ? await filesOfFolder(path) : [path]
  for (const file of files) for await (const _ of linesOf(file)) break
  return files.toSorted()
}

/** The files that no list has. An unread file could keep lines of the viewer, and the report would still be COMPLETE. */
async function filesOfFolder(folder: string): Promise<string[]> {
  const listed = listedIn(folder)
  const names = (await readdir(folder)).filter((name) => name !== LIST && !listed.has(name))
  const other = names.find((name) => !name.endsWith('.jsonl'))
  if (other === undefined) return names.map((name) => join(folder, name))
  throw new TidemarkError(
    'CONFIG_INVALID',
    `${join(folder, other)} is neither in ${LIST} nor a file in JSON lines, so it cannot be changed: delete it, or move it out of the folder`,
  )
}

/** Undefined if there is no such file. */
async function ifThere<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

async function* linesOf(file: string): AsyncGenerator<{ text: string; line: Line }> {
  const found = await ifThere(stat(file))
  // A file of the viewer is gone after the first pass.
  if (found === undefined) return
  let number = 0
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    number += 1
    if (text.trim() === '') continue
    let line: unknown
    try {
      line = JSON.parse(text)
    } catch {
      line = undefined
    }
    if (typeof line !== 'object' || line === null || Array.isArray(line)) {
      throw new TidemarkError(
        'CONFIG_INVALID',
        `${file}: line ${number} is not a JSON object, so this export cannot be changed: delete it, and make the export again`,
      )
    }
    yield { text, line: line as Line }
  }
}

async function countLines(file: string, viewer: ViewerId): Promise<number> {
  let count = 0
  for await (const { line } of linesOf(file)) if (without(line, viewer, kindOf(file, line)) !== line) count += 1
  return count
}

/** The first line of `viewer export` names the viewer. */
async function isAbout(file: string, viewer: ViewerId): Promise<boolean> {
  for await (const { line } of linesOf(file)) return line['kind'] === 'viewer' && line['viewer'] === viewer
  return false
}

async function writeWithout(file: string, viewer: ViewerId): Promise<void> {
  const write = async (out: Writable): Promise<void> => {
    let lines = 0
    for await (const { text, line } of linesOf(file)) {
      const rest = line['kind'] === 'end' ? { ...line, lines } : without(line, viewer, kindOf(file, line))
      lines += Number(rest !== undefined)
      if (rest !== undefined && !out.write(`${rest === line ? text : JSON.stringify(rest)}\n`))
        await new Promise((resolve) => out.once('drain', resolve))
    }
  }
  await writeWholeFile(file, write, HELD_ADVICE)
}

/** The files of `export` have the kind in their names. */
function kindOf(file: string, line: Line): unknown {
  return line['kind'] ?? ['follow', 'user-count'].find((kind) => basename(file).startsWith(kind))
}
