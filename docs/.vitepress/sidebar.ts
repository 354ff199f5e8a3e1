/**
 * The sidebar, read from the folders of docs/ when the site is built. A new page needs no entry in a list.
 *
 * The text of an entry is the page's first heading. Pages are sorted by `order` in their front matter, then by file name;
 * `index.md` is always the first page of its folder.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import type { DefaultTheme } from 'vitepress'

type Item = DefaultTheme.SidebarItem

/** Folders in the order of the sidebar. A folder without pages is left out. */
const SECTIONS = [
  { folder: 'start', text: 'Quick start' },
  { folder: 'api', text: 'API' },
  { folder: 'clients', text: 'Clients' },
  { folder: 'gateway', text: 'Gateway' },
  { folder: 'operating', text: 'Operating' },
  { folder: 'operating/runbooks', text: 'Runbooks', collapsed: true },
  { folder: 'reference', text: 'Reference' },
  { folder: 'decisions', text: 'Decisions', collapsed: true },
]

export function sidebarOf(docs: URL): Item[] {
  const [start, ...others] = SECTIONS.flatMap(({ folder, text, collapsed = false }): Item[] => {
    const items = pagesOf(docs, folder)
    return items.length === 0 ? [] : [{ text, collapsed, items }]
  })
  if (start === undefined) throw new Error('docs/start has no pages')
  return [{ text: 'Tidemark', link: '/' }, start, { text: 'Concepts', link: '/concepts' }, ...others]
}

function pagesOf(docs: URL, folder: string): Item[] {
  const path = new URL(`${folder}/`, docs)
  if (!existsSync(path)) return []
  return readdirSync(path)
    .filter((file) => file.endsWith('.md'))
    .map((file) => ({ file, ...headOf(readFileSync(new URL(file, path), 'utf8'), file) }))
    .sort((a, b) => a.order - b.order || a.file.localeCompare(b.file))
    .map(({ file, text }) => ({ text, link: file === 'index.md' ? `/${folder}/` : `/${folder}/${file.slice(0, -'.md'.length)}` }))
}

function headOf(page: string, file: string): { text: string; order: number } {
  const frontMatter = /^---\n(.*?)\n---\n/s.exec(page)?.[1] ?? ''
  const order = /^order: *(\d+)$/m.exec(frontMatter)?.[1]
  const text = /^# +(.+)$/m.exec(page)?.[1]
  if (text === undefined) throw new Error(`${file} has no heading of the first level`)
  return { text: text.replaceAll('`', ''), order: file === 'index.md' ? -1 : order === undefined ? Number.MAX_SAFE_INTEGER : Number(order) }
}
