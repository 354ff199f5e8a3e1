/**
 * Dead relative links of Markdown documents: the file is missing, or the document has no such heading. Headings have the
 * anchors that GitHub gives them. Links to other hosts are not followed.
 */
import { posix } from 'node:path'

export type Documents = {
  /** Paths from the root, with `/`. A folder exists if it holds one of them. */
  files: ReadonlySet<string>
  read(path: string): string
}

/** One sentence per dead link of the documents among `files`. */
export function deadLinks({ files, read }: Documents): string[] {
  const folders = new Set([...files].flatMap(foldersOf))
  const anchors = new Map<string, ReadonlySet<string>>()

  function anchorsIn(path: string): ReadonlySet<string> {
    const known = anchors.get(path) ?? anchorsOf(read(path))
    anchors.set(path, known)
    return known
  }

  function reasonAgainst(document: string, link: string): string | undefined {
    const [path = '', anchor] = link.split('#', 2)
    const target = path === '' ? document : posix.join(posix.dirname(document), decodeURIComponent(path)).replace(/\/$/, '')
    if (!files.has(target) && !folders.has(target)) return `${target} is not there`
    if (anchor === undefined || !target.endsWith('.md') || anchorsIn(target).has(decodeURIComponent(anchor))) return undefined
    return `${target} has no heading for #${anchor}`
  }

  return [...files]
    .filter((path) => path.endsWith('.md'))
    .toSorted()
    .flatMap((document) =>
      linksOf(read(document)).flatMap(({ link, line }) => {
        const reason = reasonAgainst(document, link)
        return reason === undefined ? [] : [`${document}:${line}: the link to ${link} is dead: ${reason}`]
      }),
    )
}

function foldersOf(path: string): string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? ['.'] : [folder, ...foldersOf(folder)]
}

type Link = { link: string; line: number }

const INLINE = /\]\(\s*<?([^)\s>]+)>?[^)]*\)/g
const REFERENCE = /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/g
const HTML = /\b(?:href|src)="([^"]+)"/g
const OTHER_HOST = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i

function linksOf(text: string): Link[] {
  return textLines(text).flatMap((line, at) => {
    const prose = line.replaceAll(/(`+).+?\1/g, '')
    return [INLINE, REFERENCE, HTML]
      .flatMap((form) => [...prose.matchAll(form)])
      .map(([, link = '']) => ({ link, line: at + 1 }))
      .filter(({ link }) => !OTHER_HOST.test(link))
  })
}

function anchorsOf(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const line of textLines(text)) {
    const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$/.exec(line)?.[1]
    if (heading === undefined) continue
    const anchor = anchorOf(heading)
    let repeated = 0
    while (found.has(repeated === 0 ? anchor : `${anchor}-${repeated}`)) repeated++
    found.add(repeated === 0 ? anchor : `${anchor}-${repeated}`)
  }
  return found
}

export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The lines of the text, with empty lines in place of code blocks. */
function textLines(text: string): string[] {
  let fence: string | undefined
  return text.split('\n').map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === undefined && mark === undefined) return line
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence) === true) fence = undefined
    return ''
  })
}
