/**
 * The pages of LMDB's trees (`MDB_page`, `MDB_node` in mdb.c). A branch page lists pages of the next level, a leaf page keys with
 * their values. A value too large for its page is on overflow pages. In the main tree a value may be a tree: a table.
 *
 *     page   header (meta-pages.ts) · offset of each node u16, up to `lower` · free space, up to `upper` · nodes; all counted from
 *            the end of the header
 *     node   branch: child page u48 · key bytes u16 · key.   leaf: value bytes u32 · flags u16 · key bytes u16 · key · value
 *
 * Values have no checksum, so only the structure can be judged: all that LMDB follows without looking.
 */
import { Damage, IS_LITTLE, PAGE_HEADER_BYTES, TREE_BYTES, parseTree, readNumber, type Tree } from './meta-pages.ts'

export type Found = {
  child(page: number): void
  /** A value of `bytes` bytes begins on this page. */
  overflow(page: number, bytes: number): void
  table(tree: Tree): void
}

const KINDS = { branch: 0x01, leaf: 0x02, overflow: 0x04 } as const
/** The flags for the kind of a page. */
const KIND_MASK = 0x7f
const NODE_HEADER_BYTES = 8
const IN_OVERFLOW = 0x01
const IS_TREE = 0x02

/** Throws Damage unless `view` at `at` is a sound page of this kind. Returns its references. */
export function checkPage(
  view: DataView,
  at: number,
  { page, pageBytes, lastPage, isBranch }: { page: number; pageBytes: number; lastPage: number; isBranch: boolean },
  found: Found,
): void {
  checkHeader(view, at, page, isBranch ? 'branch' : 'leaf')
  const [lower, upper] = [view.getUint16(at + 20, IS_LITTLE), view.getUint16(at + 22, IS_LITTLE)]
  const body = at + PAGE_HEADER_BYTES
  const bodyBytes = pageBytes - PAGE_HEADER_BYTES
  if (lower === 0 || lower % 2 !== 0 || lower > upper || upper > bodyBytes)
    throw new Damage(`page ${page} has its free space from ${lower} to ${upper}`)
  for (let slot = 0; slot < lower; slot += 2) {
    const offset = view.getUint16(body + slot, IS_LITTLE)
    if (offset < upper || offset + NODE_HEADER_BYTES > bodyBytes) throw new Damage(`page ${page} has an entry at ${offset}`)
    const node = body + offset
    const room = bodyBytes - offset - NODE_HEADER_BYTES - view.getUint16(node + 6, IS_LITTLE)
    const low = view.getUint32(node, IS_LITTLE)
    const flags = view.getUint16(node + 4, IS_LITTLE)
    if (isBranch) {
      if (room < 0) throw new Damage(`page ${page} has an entry at ${offset} that reaches beyond it`)
      found.child(flags * 2 ** 32 + low)
      continue
    }
    const valueBytes = (flags & IN_OVERFLOW) === 0 ? low : 8
    if (valueBytes > room || (flags & ~(IN_OVERFLOW | IS_TREE)) !== 0)
      throw new Damage(`page ${page} has an entry at ${offset} that reaches beyond it, or of an unknown kind`)
    readValue(view, body + bodyBytes - room, { page, low, flags, valueBytes, lastPage }, found)
  }
}

function readValue(
  view: DataView,
  at: number,
  { page, low, flags, valueBytes, lastPage }: { page: number; low: number; flags: number; valueBytes: number; lastPage: number },
  found: Found,
): void {
  if ((flags & IN_OVERFLOW) !== 0) found.overflow(readNumber(view, at), low)
  else if ((flags & IS_TREE) !== 0) {
    if (valueBytes !== TREE_BYTES) throw new Damage(`page ${page} has a table of ${valueBytes} bytes`)
    found.table(parseTree(view, at, lastPage))
  }
}

/** Throws Damage unless a value of `bytes` bytes begins here. */
export function checkOverflow(view: DataView, at: number, page: number, pages: number): void {
  checkHeader(view, at, page, 'overflow')
  const written = view.getUint32(at + 20, IS_LITTLE)
  if (written !== pages) throw new Damage(`a value at page ${page} takes ${written} pages instead of ${pages}`)
}

export function overflowPages(bytes: number, pageBytes: number): number {
  return Math.floor((PAGE_HEADER_BYTES - 1 + bytes) / pageBytes) + 1
}

function checkHeader(view: DataView, at: number, page: number, kind: keyof typeof KINDS): void {
  const isOurs = view.getUint32(at, IS_LITTLE) === page % 2 ** 32 && (view.getUint16(at + 18, IS_LITTLE) & KIND_MASK) === KINDS[kind]
  if (!isOurs) throw new Damage(`page ${page} is not a ${kind} page`)
}
