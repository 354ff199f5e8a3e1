/**
 * Walks the trees of the last commit, from the roots to the leaves, without LMDB: LMDB maps the file and trusts it, so that a damaged page
 * ends the process by a signal.
 *
 * The pages below `BRANCHES_AT_ONCE` branch pages are sorted by their place in the file and read neighbours together. The file is therefore
 * read once, in large reads. Memory use does not grow with the file, except for one bit per page.
 *
 * The reads of a batch descend through the file. With ascending reads, the kernel reads ahead and caches the data in large folios (ext4 from
 * Linux 6.16 on). Each later write of a page into such a folio takes several times as much CPU.
 */
import { Damage, viewOf, type ReadAt, type Snapshot, type Tree } from './meta-pages.ts'
import { checkOverflow, checkPage, overflowPages, type Found } from './tree-pages.ts'

/** They have about 50,000 child pages. */
const BRANCHES_AT_ONCE = 512
const READ_BYTES_MAX = 2 ** 20
/** The bits of visited pages are kept in parts, since a damaged meta page may name any last page. */
const PART_PAGES = 2 ** 18
/** A gap of this many pages is read along with its neighbours. */
const GAP_PAGES = 16

/** Throws Damage. Returns false, early, when `isLate` returns true. */
export function walkTrees(readAt: ReadAt, snapshot: Snapshot, isLate: () => boolean): boolean {
  const { pageBytes, lastPage, free, main } = snapshot
  const visited = new Map<number, Uint8Array>()
  const tables: Tree[] = []
  let late = false

  function visit(page: number, pages = 1): void {
    if (page < 2 || page + pages - 1 > lastPage) throw new Damage(`it refers to page ${page} of ${lastPage}`)
    for (let each = page; each < page + pages; each++) {
      const [part, at, bit] = [Math.floor(each / PART_PAGES), Math.floor((each % PART_PAGES) / 8), 1 << (each % 8)]
      let bits = visited.get(part)
      if (bits === undefined) visited.set(part, (bits = new Uint8Array(PART_PAGES / 8)))
      if (((bits[at] as number) & bit) !== 0) throw new Damage(`two entries refer to page ${each}`)
      bits[at] = (bits[at] as number) | bit
    }
  }

  /** `pages` are of one level; `depth` counts the remaining levels, including theirs. */
  function walk(pages: readonly number[], depth: number): void {
    const isBranch = depth > 1
    const batch = isBranch ? BRANCHES_AT_ONCE : Math.max(1, pages.length)
    for (let start = 0; start < pages.length && !late; start += batch) {
      const children = checkPages(pages.slice(start, start + batch), isBranch)
      late ||= isLate()
      walk(children, depth - 1)
    }
  }

  function checkPages(pages: readonly number[], isBranch: boolean): number[] {
    const children: number[] = []
    const values = new Map<number, number>()
    const found: Found = {
      child(page) {
        visit(page)
        children.push(page)
      },
      overflow(page, bytes) {
        const taken = overflowPages(bytes, pageBytes)
        visit(page, taken)
        values.set(page, taken)
      },
      table: (tree) => tables.push(tree),
    }
    readPages(readAt, pages, pageBytes, (view, at, page) => checkPage(view, at, { page, pageBytes, lastPage, isBranch }, found))
    readPages(readAt, [...values.keys()], pageBytes, (view, at, page) => checkOverflow(view, at, page, values.get(page) as number))
    return children
  }

  tables.push(free, main)
  for (let tree = tables.pop(); tree !== undefined; tree = tables.pop()) {
    if (tree.depth === 0) continue
    visit(tree.root)
    if (!late) walk([tree.root], tree.depth)
  }
  return !late
}

function readPages(
  readAt: ReadAt,
  pages: readonly number[],
  pageBytes: number,
  check: (view: DataView, at: number, page: number) => void,
): void {
  const sorted = Float64Array.from(pages).sort()
  for (let end = sorted.length; end > 0;) {
    const last = sorted[end - 1] as number
    let start = end - 1
    for (; start > 0; start--) {
      const [before, page] = [sorted[start - 1] as number, sorted[start] as number]
      if (page - before > GAP_PAGES || (last + 1 - before) * pageBytes > READ_BYTES_MAX) break
    }
    const first = sorted[start] as number
    const bytes = readAt(first * pageBytes, (last + 1 - first) * pageBytes)
    const view = viewOf(bytes)
    for (let each = start; each < end; each++) {
      const page = sorted[each] as number
      const at = (page - first) * pageBytes
      if (at + pageBytes > bytes.length) throw new Damage(`it ends before its page ${page}`)
      check(view, at, page)
    }
    end = start
  }
}
