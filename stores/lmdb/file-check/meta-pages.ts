/**
 * The first two pages of an LMDB file, as liblmdb of the lmdb package 3.5 writes them (`MDB_meta` in mdb.c): data version 2,
 * in the byte order of the machine. Commits alternate between the two pages, and the one with the higher transaction number is current.
 *
 *     page header   page number u64 · transaction u64 · pad u16 · flags u16 · free space: lower u16, upper u16
 *     meta          magic u32 · version u32 · address u64 · map size u64 · free-page tree · main tree · last page u64 · transaction u64
 *     tree          pad u32 (of the first: the page size) · flags u16 · depth u16 · branch, leaf, overflow pages, entries, root: u64
 */
export type Tree = {
  /** Levels of pages. 0 = the tree is empty. */
  depth: number
  root: number
}

export type Snapshot = {
  transaction: number
  pageBytes: number
  /** The highest page number ever used. The file may be shorter, if the last pages are free. */
  lastPage: number
  free: Tree
  main: Tree
}

/** The damage in words. */
export class Damage extends Error {}

export const PAGE_HEADER_BYTES = 24
export const TREE_BYTES = 48
const META_BYTES = 168
const MAGIC = 0xbeefc0de
const VERSION = 2
const META_FLAG = 0x08
const PAGE_BYTES_MAX = 65_536
/** LMDB's cursors support no more. */
const DEPTH_MAX = 32

/** Reads `bytes` at `position`, and fewer at the end of the file. */
export type ReadAt = (position: number, bytes: number) => Buffer

/** The state of the last commit. Throws Damage. */
export function readSnapshot(readAt: ReadAt): Snapshot {
  const first = readFirstMeta(readAt)
  const second = parseMeta(readAt(first.pageBytes, META_BYTES), 1)
  if (second.pageBytes !== first.pageBytes) throw new Damage(`its meta pages name page sizes ${first.pageBytes} and ${second.pageBytes}`)
  return second.transaction > first.transaction ? second : first
}

export function readFirstMeta(readAt: ReadAt): Snapshot {
  return parseMeta(readAt(0, META_BYTES), 0)
}

function parseMeta(bytes: Buffer, page: number): Snapshot {
  if (bytes.length < META_BYTES) throw new Damage(`it ends within its meta page ${page}`)
  const view = viewOf(bytes)
  const at = PAGE_HEADER_BYTES
  const number = (offset: number): number => readNumber(view, at + offset)
  if ((view.getUint16(18, IS_LITTLE) & META_FLAG) === 0 || view.getUint32(at, IS_LITTLE) !== MAGIC)
    throw new Damage(`page ${page} is not a meta page of LMDB`)
  const version = view.getUint32(at + 4, IS_LITTLE) & 0xffff
  if (version !== VERSION) throw new Damage(`meta page ${page} has data version ${version} instead of ${VERSION}`)
  const pageBytes = view.getUint32(at + 24, IS_LITTLE)
  if (pageBytes < 512 || pageBytes > PAGE_BYTES_MAX || (pageBytes & (pageBytes - 1)) !== 0)
    throw new Damage(`meta page ${page} names a page size of ${pageBytes}`)
  const lastPage = number(120)
  const trees = [24, 72].map((offset) => parseTree(view, at + offset, lastPage)) as [Tree, Tree]
  return { transaction: number(128), pageBytes, lastPage, free: trees[0], main: trees[1] }
}

export function parseTree(view: DataView, at: number, lastPage: number): Tree {
  const depth = view.getUint16(at + 6, IS_LITTLE)
  const isEmpty = view.getBigUint64(at + 40, IS_LITTLE) === NO_PAGE
  if (isEmpty !== (depth === 0) || depth > DEPTH_MAX) throw new Damage(`a tree has depth ${depth} and ${isEmpty ? 'no' : 'a'} root`)
  if (isEmpty) return { depth: 0, root: 0 }
  const root = readNumber(view, at + 40)
  if (root < 2 || root > lastPage) throw new Damage(`a tree has its root at page ${root} of ${lastPage}`)
  return { depth, root }
}

/** The value that LMDB writes for "no root". */
const NO_PAGE = 2n ** 64n - 1n
export const IS_LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** No valid value exceeds 2^53. */
export function readNumber(view: DataView, at: number): number {
  const value = view.getBigUint64(at, IS_LITTLE)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Damage(`it names page or transaction ${value}`)
  return Number(value)
}

export function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
