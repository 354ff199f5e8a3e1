/**
 * The map in ARCHITECTURE.md against the tree. The map is the table with the first heading `folder`. It has one row for each
 * folder of depth 1 and 2; the first cell names the folder, as `core/` or as a link. A
 * folder such as `.ci` may have a row and needs none.
 */
import type { Repository } from '../repository.ts'

const DOCUMENT = 'ARCHITECTURE.md'

export function mapMistakes({ files, read }: Repository): string[] {
  const rows = files.has(DOCUMENT) ? rowsOf(read(DOCUMENT)) : undefined
  if (rows === undefined) return [`${DOCUMENT} has no map: add a table with the headings "folder" and "what it holds"`]
  const named = rows.map(({ folder }) => folder)
  const folders = new Set([...files].flatMap(mappableFolders))
  return [
    ...rows.flatMap(({ folder, line }, at) => {
      if (named.indexOf(folder) < at) return [`${DOCUMENT}:${line}: the map has ${folder} twice`]
      return folders.has(folder) ? [] : [`${DOCUMENT}:${line}: the map has ${folder}, which is no folder of depth 1 or 2`]
    }),
    ...[...folders]
      .filter((folder) => !named.includes(folder) && !/(?:^|\/)\./.test(folder))
      .toSorted()
      .map((folder) => `${DOCUMENT}: the map lacks ${folder}`),
  ]
}

function mappableFolders(path: string): string[] {
  const [first, second] = path.split('/').slice(0, -1)
  if (first === undefined) return []
  return second === undefined ? [first] : [first, `${first}/${second}`]
}

type Row = { folder: string; line: number }

function rowsOf(text: string): Row[] | undefined {
  const lines = text.split('\n')
  const heading = lines.findIndex((line) => /^\|\s*folder\s*\|/i.test(line))
  if (heading === -1) return undefined
  const end = lines.findIndex((line, at) => at > heading && !line.startsWith('|'))
  return lines.slice(heading + 2, end === -1 ? undefined : end).map((line, at) => ({ folder: folderOf(line), line: heading + 3 + at }))
}

/** `[core/](core/)`, `` `core/` `` and `core` name the same folder. */
function folderOf(row: string): string {
  const cell = row.split('|')[1] ?? ''
  return cell
    .replace(/\[([^\]]*)\]\([^)]*\)/, '$1')
    .replaceAll(/[`*]/g, '')
    .trim()
    .replace(/\/$/, '')
}
