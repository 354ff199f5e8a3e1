/**
 * Exports that are still held: files of `export` in JSON lines, and of `viewer export`. An erasure takes the lines of the viewer out, and writes each
 * file as a whole or not at all. A file of `viewer export` about this viewer is removed.
 *
 * A line is of the viewer if it names them as viewer, author, owner, or as the subject of a follow or of a count of users. In the audience
 * of a post of another author, only the id goes.
 */
import { createReadStream } from 'node:fs'
import { readFile, readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { writeWholeFile } from '../migrate/whole-file.ts'
import type { ErasurePlace } from '../stores/erasure.ts'

type Line = Record<string, unknown>

/** The list of the files of `export`. */
const LIST = 'export.json'

/** `path`: a file, or a folder with an export. Throws CONFIG_INVALID for a file of another form, also within the folder. */
export async function openHeldExports(path: string): Promise<ErasurePlace[]> {
  const lists = [join(path, LIST)].map((file) => ({
    name: `export: ${file}`,
    async erase(viewer: ViewerId) {
      const found = await namesIn(file, viewer)
      if (found > 0) await rm(file)
      return found
    },
    count: (viewer: ViewerId) => namesIn(file, viewer),
  }))
  const files = (await filesIn(path)).map((file) => ({
    name: `export: ${file}`,
    async erase(viewer: ViewerId) {
      const found = await countLines(file, viewer)
      if (found === 0) return 0
      if (await isAbout(file, viewer)) await rm(file)
      else await writeWithout(file, viewer)
      return found
    },
    count: (viewer: ViewerId) => countLines(file, viewer),
  }))
  return [...files, ...lists]
}

/** The list of an export has places of its walks, and checksums that no longer hold: it goes. 1 if it names the viewer. */
async function namesIn(file: string, viewer: ViewerId): Promise<number> {
  const text = (await ifThere(readFile(file, 'utf8'))) ?? ''
  return Number(text.includes(JSON.stringify(viewer)))
}

async function filesIn(path: string): Promise<string[]> {
  const found = await ifThere(stat(path))
  if (found === undefined) throw new TidemarkError('CONFIG_INVALID', `--exports ${path} does not exist: name a file or a folder of exports`)
  const files = found.isDirectory() ? await filesOfFolder(path) : [path]
  for (const file of files) for await (const _ of linesOf(file)) break
  return files.toSorted()
}

/** An unread file could keep lines of the viewer, and the report would still be COMPLETE. */
async function filesOfFolder(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name !== LIST)
  const other = names.find((name) => !name.endsWith('.jsonl'))
  if (other === undefined) return names.map((name) => join(folder, name))
  throw new TidemarkError(
    'CONFIG_INVALID',
    `${join(folder, other)} is neither ${LIST} nor a file in JSON lines, so it cannot be changed: delete it, or move it out of the folder`,
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
        `${file}: line ${number} is no JSON object, so this is no export that can be changed: delete it, and make the export again`,
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
  await writeWholeFile(file, async (out) => {
    for await (const { text, line } of linesOf(file)) {
      const rest = without(line, viewer, kindOf(file, line))
      if (rest !== undefined && !out.write(`${rest === line ? text : JSON.stringify(rest)}\n`))
        await new Promise((resolve) => out.once('drain', resolve))
    }
  })
}

/** The files of `export` have the kind in their names. */
function kindOf(file: string, line: Line): unknown {
  return line['kind'] ?? ['follow', 'user-count'].find((kind) => basename(file).startsWith(kind))
}

/** The same line if it does not name the viewer, undefined if it is theirs. */
function without(line: Line, viewer: ViewerId, kind: unknown): Line | undefined {
  if ([line['viewer'], line['author'], line['owner']].includes(viewer)) return undefined
  if ((kind === 'follow' || kind === 'user-count') && line['id'] === viewer) return undefined
  const { audience } = line
  if (!Array.isArray(audience) || !audience.includes(viewer)) return line
  return { ...line, audience: audience.filter((each) => each !== viewer) }
}
